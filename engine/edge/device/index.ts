// What a program of a device imports as `fleet/device`.
export type { CommandContext, CommandHandler } from './commands.ts'
export type { DesiredHandler } from './desired-state.ts'
export type { FirmwareDecision, FirmwareHandlers } from './firmware.ts'
export type { FirmwareMessage } from './firmware-message.ts'
export {
  FleetDevice,
  type FleetDeviceOptions,
  type FleetDeviceSignals,
  type LogLevel,
} from './fleet-device.ts'
export type { ManifestKeys } from './manifest.ts'
export { ProvisioningRefusal, type ProvisionOptions, provision } from './provision.ts'
export { type DeviceStorage, fileStorage, memoryStorage } from './storage.ts'
