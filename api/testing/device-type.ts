import type { DeviceType } from '../../engine/domain/device-type/definition.ts'

/** A type with only a name. */
export function emptyType(name: string): DeviceType {
  return { name, displayName: name, icon: undefined, telemetry: [], commands: undefined, statusFields: [] }
}
