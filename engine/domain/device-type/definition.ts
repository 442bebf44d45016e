// A device type defines fields for the dashboard and for alerts, and the commands that its devices accept.

export const PARAMETER_TYPES = ['integer', 'number', 'boolean', 'string', 'array', 'object'] as const
export type ParameterType = (typeof PARAMETER_TYPES)[number]

export interface Parameter {
  readonly name: string
  readonly type: ParameterType
  readonly required: boolean
  readonly description: string | undefined
  /** Only for `integer` and `number`. */
  readonly min: number | undefined
  readonly max: number | undefined
}

export interface CommandDefinition {
  readonly name: string
  readonly description: string | undefined
  /** Undefined if the file does not restrict the command's data. */
  readonly parameters: readonly Parameter[] | undefined
}

export interface TelemetryField {
  /** A metric's dotted name. */
  readonly field: string
  readonly unit: string | undefined
  readonly range: readonly [min: number, max: number] | undefined
  readonly alertAbove: number | undefined
  readonly alertBelow: number | undefined
}

export interface StatusField {
  readonly field: string
  readonly warnBelow: number | undefined
  readonly criticalBelow: number | undefined
}

export interface DeviceType {
  readonly name: string
  readonly displayName: string
  readonly icon: string | undefined
  readonly telemetry: readonly TelemetryField[]
  /** Undefined if the file does not restrict the commands. */
  readonly commands: readonly CommandDefinition[] | undefined
  readonly statusFields: readonly StatusField[]
  /** The largest firmware image for this type. Undefined means the limit of the service. */
  readonly firmwareBytesMax?: number | undefined
  /** How long devices of this type may be silent. Undefined means the timeout of the service. */
  readonly heartbeatTimeoutSec?: number | undefined
}

export type DeviceTypes = ReadonlyMap<string, DeviceType>
