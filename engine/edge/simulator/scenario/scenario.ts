// What a simulation does: its devices, how they behave, what happens when, and what is expected in the end.
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import type { UpdateKind } from '../updates/update-kinds.ts'

export interface Scenario {
  readonly name: string
  readonly seed: number
  /** Undefined runs until it is stopped. */
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
  /** A number in an id has at least so many digits. */
  readonly idDigits: number
  /** The number of a device in its id, by its place from 0 on. */
  readonly numberAt: (index: number) => number
  readonly group: (number: number) => string | undefined
  readonly tags: readonly string[]
  /** Set if the devices have no connections of their own. */
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
  /** The part of the interval by which a message may be late. */
  readonly jitter: number
  readonly qos: 0 | 1
  /** `motion` moves a body about and reports what its type of device measures. */
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
  /** Runs from one value to another, and begins again. */
  | {
      readonly kind: 'ramp'
      readonly from: number
      readonly to: number
      readonly periodSec: number
      readonly digits: number
    }
  | { readonly kind: 'enum'; readonly values: readonly Json[]; readonly holdSec: number }
  | { readonly kind: 'counter'; readonly start: number; readonly step: number }
  /** Drives around a point. */
  | {
      readonly kind: 'gps'
      readonly lat: number
      readonly lon: number
      readonly radiusM: number
      readonly speedMps: number
    }
  /** One row a message; each device begins at another one. */
  | { readonly kind: 'csv'; readonly values: readonly Json[] }

export interface CommandPlan {
  readonly ackMs: number | undefined
  readonly runMs: number
  readonly failPercent: number
  readonly ignorePercent: number
  readonly result: JsonObject
}

/** What became of a command. */
export type CommandFate = 'ignored' | 'completed' | 'failed' | 'unknown'

export interface FirmwarePlan {
  readonly version: string
  readonly download: 'real' | 'fake'
  /** Zero is as fast as it goes. */
  readonly rateKibPerSec: number
  readonly installSec: number
  readonly rebootSec: number
  readonly behaviours: readonly Behaviour[]
}

export interface Behaviour {
  readonly percent: number
  readonly kind: UpdateKind
  /** Downloads that fail before one does well. */
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

/** What is wrong with a device, from when on, and for how long. */
export interface Fault {
  readonly kind: FaultKind
  readonly atSec: number
  readonly forSec: number | undefined
  /** `flap`: a connection lasts so long, and the pause after it. `slow_reader`: how long it reads nothing. */
  readonly everySec: number
  readonly downSec: number
  /** The part of the messages that it is about. */
  readonly messagePercent: number
  /** Times an ack is sent, factor of a spike. */
  readonly times: number
  /** `late_acks`, `clock_skew`. */
  readonly delaySec: number
  /** `drift`. */
  readonly perMin: number
  /** `oversize`. */
  readonly bytes: number
}

export const STEP_KINDS = ['disconnect', 'connect', 'storm', 'set', 'rate', 'fault', 'stop'] as const

/** The devices that something happens to. */
export interface Target {
  /** A type, or the prefix of the ids; undefined is all devices. */
  readonly of: string | undefined
  readonly percent: number
}

export type Act =
  | { readonly kind: 'disconnect' | 'connect' | 'storm' | 'stop' }
  | { readonly kind: 'set'; readonly field: string; readonly value: Json }
  | { readonly kind: 'rate'; readonly intervalSec: number }
  | { readonly kind: 'fault'; readonly fault: Fault }

export interface Step {
  readonly atSec: number
  readonly target: Target
  readonly act: Act
}

export const OPERATORS = ['==', '!=', '<', '<=', '>', '>='] as const

export interface Expectation {
  /** A path into the summary. */
  readonly metric: string
  readonly op: (typeof OPERATORS)[number]
  readonly value: number
}
