// The description of a simulation: its devices, their behaviour, a timeline and the expected results.
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import type { UpdateKind } from '../updates/update-kinds.ts'

export interface Scenario {
  readonly name: string
  readonly seed: number
  /** Undefined means that the simulation runs until it is stopped. */
  readonly durationSec: number | undefined
  readonly connectPerSec: number
  readonly types: readonly TypePlan[]
  readonly timeline: readonly Step[]
  readonly expect: readonly Expectation[]
}

export interface TypePlan {
  readonly type: string
  readonly count: number
  readonly idPrefix: string
  readonly gatewayPrefix: string
  /** The number in a device id is padded with zeros to at least this many digits. */
  readonly idDigits: number
  /** Returns the number in the id of a device. `index` counts from 0 within the type. */
  readonly numberAt: (index: number) => number
  readonly group: (number: number) => string | undefined
  readonly tags: readonly string[]
  /** The number of devices per gateway. Undefined if each device has a connection of its own. */
  readonly perGateway: number | undefined
  readonly keepAliveSec: number
  readonly telemetry: TelemetryPlan
  readonly commands: ReadonlyMap<string, CommandPlan>
  readonly shadow: { readonly follow: boolean; readonly delayMs: number }
  readonly firmware: FirmwarePlan
  readonly faults: readonly FaultShare[]
}

export interface TelemetryPlan {
  readonly intervalSec: number
  /** The fraction of the interval by which a message may be late, from 0 to 1. */
  readonly jitter: number
  readonly qos: 0 | 1
  /** `motion` moves the device around and reports what a device of its type would measure. */
  readonly source:
    | { readonly kind: 'motion' }
    | { readonly kind: 'fields'; readonly fields: readonly Field[] }
}

export interface Field {
  readonly name: string
  readonly generator: Generator
}

export type Generator =
  | { readonly kind: 'constant'; readonly value: Json }
  | {
      readonly kind: 'walk'
      readonly start: number | undefined
      readonly step: number
      readonly min: number
      readonly max: number
      readonly digits: number
    }
  | {
      readonly kind: 'sine'
      readonly min: number
      readonly max: number
      readonly periodSec: number
      readonly digits: number
    }
  /** Rises from one value to another and then starts again. */
  | {
      readonly kind: 'ramp'
      readonly from: number
      readonly to: number
      readonly periodSec: number
      readonly digits: number
    }
  | { readonly kind: 'enum'; readonly values: readonly Json[]; readonly holdSec: number }
  | { readonly kind: 'counter'; readonly start: number; readonly step: number }
  /** Moves on a circle around a point. */
  | {
      readonly kind: 'gps'
      readonly lat: number
      readonly lon: number
      readonly radiusM: number
      readonly speedMps: number
    }
  /** Sends one row per message. Devices start at different rows. */
  | { readonly kind: 'csv'; readonly values: readonly Json[] }

export interface CommandPlan {
  readonly ackMs: number | undefined
  readonly runMs: number
  readonly failPercent: number
  readonly ignorePercent: number
  readonly result: JsonObject
}

/** The outcome of a command. */
export type CommandFate = 'ignored' | 'completed' | 'failed' | 'unknown'

export interface FirmwarePlan {
  readonly version: string
  readonly download: 'real' | 'fake'
  /** Zero means without a limit. */
  readonly rateKibPerSec: number
  readonly installSec: number
  readonly rebootSec: number
  readonly behaviours: readonly Behaviour[]
}

export interface Behaviour {
  readonly percent: number
  readonly kind: UpdateKind
  /** The number of downloads that fail before one succeeds. */
  readonly failures: number
}

export interface FaultShare {
  readonly percent: number
  readonly fault: Fault
}

export const FAULT_KINDS = [
  'offline',
  'flap',
  'half_open',
  'slow_reader',
  'duplicate_acks',
  'late_acks',
  'bad_json',
  'clock_skew',
  'stuck',
  'spike',
  'drift',
  'dropout',
  'oversize',
] as const
export type FaultKind = (typeof FAULT_KINDS)[number]

/** A fault of a device, with its start and duration in seconds. */
export interface Fault {
  readonly kind: FaultKind
  readonly atSec: number
  readonly forSec: number | undefined
  /** `flap`: how long the connection lasts and how long it is down. `slow_reader`: `everySec` is how long it reads
   *  nothing. */
  readonly everySec: number
  readonly downSec: number
  /** The percentage of messages that are affected. */
  readonly messagePercent: number
  /** `duplicate_acks`: how often each ack is sent. `spike`: the factor. */
  readonly times: number
  /** Used by `late_acks` and `clock_skew`. */
  readonly delaySec: number
  /** Used by `drift`. */
  readonly perMin: number
  /** Used by `oversize`. */
  readonly bytes: number
}

export const STEP_KINDS = ['disconnect', 'connect', 'storm', 'set', 'rate', 'fault', 'stop'] as const

/** The devices that a timeline step affects. */
export interface Target {
  /** A type or an id prefix. Undefined means all devices. */
  readonly name: string | undefined
  readonly percent: number
}

export type StepAction =
  | { readonly kind: 'disconnect' | 'connect' | 'storm' | 'stop' }
  | { readonly kind: 'set'; readonly field: string; readonly value: Json }
  | { readonly kind: 'rate'; readonly intervalSec: number }
  | { readonly kind: 'fault'; readonly fault: Fault }

export interface Step {
  readonly atSec: number
  readonly target: Target
  readonly act: StepAction
}

export const OPERATORS = ['==', '!=', '<', '<=', '>', '>='] as const

export interface Expectation {
  /** A dotted path into the summary. */
  readonly metric: string
  readonly op: (typeof OPERATORS)[number]
  readonly value: number
}
