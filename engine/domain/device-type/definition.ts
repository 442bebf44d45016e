// What a device type defines: for the dashboard, for alerts, and which commands its devices take.

export const PARAMETER_TYPES = ['integer', 'number', 'boolean', 'string', 'array', 'object'] as const
export type ParameterType = (typeof PARAMETER_TYPES)[number]

export interface Parameter {
  readonly name: string
  readonly type: ParameterType
  readonly required: boolean
  readonly description: string | undefined
  /** For `integer` and `number`. */
  readonly min: number | undefined
  readonly max: number | undefined
}

export interface CommandDefinition {
  readonly name: string
  readonly description: string | undefined
  /** Undefined: the file says nothing about its data, so any goes. */
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
  /** Undefined: the file says nothing about commands, so any goes. */
  readonly commands: readonly CommandDefinition[] | undefined
  readonly statusFields: readonly StatusField[]
}

export type DeviceTypes = ReadonlyMap<string, DeviceType>
