import type { ComponentType } from 'preact'
import { Skeleton } from '../../parts/answer-area.tsx'
import { later } from '../../parts/later.tsx'
import type { TabName, TabProps } from './tabs.ts'

type Tab = ComponentType<TabProps>

const tab = (load: () => Promise<{ readonly default: Tab }>): Tab =>
  later(async () => (await load()).default, <Skeleton />)

/** Each is loaded when it is first seen. */
export const DEVICE_TABS: Readonly<Record<TabName, Tab>> = {
  overview: tab(() => import('./overview/overview-tab.tsx')),
  telemetry: tab(() => import('./telemetry/telemetry-tab.tsx')),
  shadow: tab(() => import('./shadow/shadow-tab.tsx')),
  commands: tab(() => import('./commands/commands-tab.tsx')),
  firmware: tab(() => import('./firmware/firmware-tab.tsx')),
  alerts: tab(() => import('./alerts/alerts-tab.tsx')),
  logs: tab(() => import('./logs/logs-tab.tsx')),
  timeline: tab(() => import('./timeline/timeline-tab.tsx')),
  settings: tab(() => import('./settings/settings-tab.tsx')),
}
