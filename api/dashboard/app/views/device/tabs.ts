// The tabs of a device's page.
import type { DeviceBody } from '../../../../../schemas/device.ts'

export const TABS = [
  'overview',
  'telemetry',
  'shadow',
  'commands',
  'firmware',
  'alerts',
  'logs',
  'timeline',
  'settings',
] as const
export type TabName = (typeof TABS)[number]

export const isTab = (name: string): name is TabName => TABS.some((tab) => tab === name)

export interface TabProps {
  readonly device: DeviceBody
}
