// Records a run as its clients saw it, and the final state of the service. Checkers read nothing else, so a recording that
// was kept can be checked again.
import { createReadStream, createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import type { UpdateKind } from '../../../engine/edge/simulator/updates/update-kinds.ts'
import type { CommandStatus, JobStatus } from '../../../schemas/vocabulary.ts'
import type { LiveConnection, Revocation } from './live-recording.ts'

/** `timed` messages carry their own time, `plain` ones do not; an `answer` answers a command. */
export type Series = 'timed' | 'plain' | 'report' | 'answer'

/** Milliseconds since the run began. No two are equal, so they order everything. */
type Instant = number

/** One message of a device. */
export interface Message {
  readonly device: string
  readonly series: Series
  /** Number within the series, from 0. */
  readonly n: number
  /** One entry per transmission. */
  readonly sentAt: Instant[]
  ackedAt?: Instant
  readonly answer?: { readonly commandId: string; readonly status: 'acked' | 'completed' | 'failed' }
}

/** A command as a device received it. */
export interface Receipt {
  readonly device: string
  readonly commandId: string
  readonly token: string
  readonly at: Instant
}

/** A desired state as a device received it. */
export interface DesiredReceipt {
  readonly device: string
  readonly version: number
  readonly value: string | undefined
  readonly at: Instant
}

interface CallBase {
  readonly caller: string
  readonly node: string
  readonly device: string
  readonly from: Instant
  /** Absent as long as there is no answer. */
  to?: Instant
  status?: number
  /** The request's id, which the answer has. */
  requestId?: string
  /** Text of an unexpected answer. */
  text?: string
}

export interface DesireCall extends CallBase {
  readonly kind: 'desire'
  /** Differs from the value of every other call. */
  readonly value: string
  readonly expected?: number
  /** The version that the write made, or the current one if it was refused. */
  version?: number
}
export interface ShadowCall extends CallBase {
  readonly kind: 'shadow'
  seen?: ShadowState
}
export interface SnapshotCall extends CallBase {
  readonly kind: 'snapshot'
  timed?: number
  plain?: number
}
export interface CommandCall extends CallBase {
  readonly kind: 'command' | 'look' | 'cancel'
  /** Set for `command`. Differs from every other call's, unless it is the same call repeated with its Idempotency-Key. */
  readonly token?: string
  /** Known from the start, except for `command`. */
  commandId?: string
  seen?: CommandStatus
}
/** A call about a device that only one caller registers (as edit 0) and edits. */
export interface RecordCall extends CallBase {
  readonly kind: 'edit' | 'record' | 'list'
  /** Number of the edit that was made, or seen by the other kinds; -1 if there is no such device. */
  edit?: number
}
export type Call = DesireCall | ShadowCall | SnapshotCall | CommandCall | RecordCall

export interface ShadowState {
  readonly version: number
  /** The last written value; `reported` is the last reported one. */
  readonly desired?: string
  readonly reported?: number
}

/** A fault by the nemesis, or a process that ended by itself. */
export interface FaultNote {
  readonly target: string
  readonly kind: string
  readonly from: Instant
  to?: Instant
}

export interface Change {
  readonly version: number
  readonly section: 'desired' | 'reported'
  readonly value: string | number | undefined
}
export interface Step {
  readonly commandId: string
  /** Set for the first step, and names the call that made the command. */
  readonly token?: string
  readonly status: CommandStatus
}
export interface FinalCommand {
  readonly status: CommandStatus
  readonly attempts: number
}

/** The state of a device in the service at the end of the run. */
export interface DeviceOutcome {
  readonly device: string
  /** Values in the order of their times. */
  readonly plain: readonly number[]
  readonly timed: readonly { readonly slot: number; readonly value: number }[]
  /** Oldest first, like the steps. */
  readonly changes: readonly Change[]
  readonly shadow: ShadowState
  readonly steps: readonly Step[]
  readonly commands: Readonly<Record<string, FinalCommand>>
  readonly parked: number
  /** Points in the buckets of an hour, which are computed beforehand for hours that are over. */
  readonly counted: Readonly<Record<'plain' | 'timed', number>>
  /** When it counted as offline because nothing was heard of it, by the clock of the service. */
  readonly silences: readonly Instant[]
  /** Requests in the audit that changed it. */
  readonly audited: readonly string[]
}

/** A message about firmware as a device received it. */
export interface Order {
  readonly device: string
  readonly deployment: string
  readonly action: string
  readonly attempt: number
  readonly seq: number
  readonly at: Instant
}
/** What a device runs from then on. */
export interface Boot {
  readonly device: string
  readonly version: string
  readonly at: Instant
}
/** A step in the history of a job. */
export interface Move {
  readonly device: string
  readonly status: JobStatus
  readonly attempt: number
  /** Milliseconds by the clock of the service. */
  readonly at: number
}
/** A deployment at the end of the run. */
export interface Rollout {
  readonly deployment: string
  readonly version: string
  readonly status: string
  readonly isFinished: boolean
  /** Jobs that may be under way at a time. */
  readonly places: number
  readonly attemptsMax: number
  readonly jobs: readonly {
    readonly device: string
    readonly status: JobStatus
    readonly attempt: number
    /** Code of what went wrong. */
    readonly error?: string
  }[]
  /** Oldest first for each device. */
  readonly moves: readonly Move[]
}

/** The promises of a PUBACK in the system under test. */
export interface Promises {
  /** True if the log makes a message durable before its PUBACK, so that the next answer shows it. */
  readonly isPubackDurable: boolean
  /** Milliseconds before its kill in which a broker outside may lose what it acknowledged. */
  readonly brokerLossMs: number
  /** True if a killed broker outside comes back without the queues of the ingress. */
  readonly losesQueues?: boolean
  /** True if `/ws` tells all that is settled. Several nodes tell each other at most once, which shows around faults. */
  readonly isFeedLossless: boolean
  /** How far the clocks of the processes are apart, which give events their times. */
  readonly clockSkewMs: number
}

export interface Recording {
  readonly promises: Promises
  readonly messages: readonly Message[]
  readonly receipts: readonly Receipt[]
  readonly desired: readonly DesiredReceipt[]
  readonly calls: readonly Call[]
  readonly faults: readonly FaultNote[]
  readonly stored: readonly DeviceOutcome[]
  readonly orders: readonly Order[]
  readonly boots: readonly Boot[]
  readonly rollouts: readonly Rollout[]
  readonly live: readonly LiveConnection[]
  readonly revocations: readonly Revocation[]
  /** Group of each device that has one. */
  readonly groups: Readonly<Record<string, string>>
  /** How the devices that take updates go about it, and what each of them runs at the end. */
  readonly kinds: Readonly<Record<string, UpdateKind>>
  readonly running: Readonly<Record<string, string>>
}

export class Recorder {
  readonly messages: Message[] = []
  readonly receipts: Receipt[] = []
  readonly desired: DesiredReceipt[] = []
  readonly calls: Call[] = []
  readonly faults: FaultNote[] = []
  readonly orders: Order[] = []
  readonly boots: Boot[] = []
  readonly live: LiveConnection[] = []
  readonly revocations: Revocation[] = []
  /** The run began at this time. */
  readonly beganAt = Date.now()
  readonly #origin = performance.now()
  #last = 0

  now(): Instant {
    this.#last = Math.max(this.#last + 0.000_1, performance.now() - this.#origin)
    return this.#last
  }
}

const LISTS = [
  'messages',
  'receipts',
  'desired',
  'calls',
  'faults',
  'stored',
  'orders',
  'boots',
  'rollouts',
  'live',
  'revocations',
] as const

/** Writes a line per fact, since a long run has a million of them. */
export async function writeRecording(path: string, recording: Recording): Promise<void> {
  const file = createWriteStream(path)
  const { promises, groups, kinds, running } = recording
  file.write(`${JSON.stringify({ about: { promises, groups, kinds, running } })}\n`)
  for (const list of LISTS)
    for (const fact of recording[list]) file.write(`${JSON.stringify({ [list]: fact })}\n`)
  file.end()
  await finished(file)
}

export async function readRecording(path: string): Promise<Recording> {
  const lists: Record<string, unknown[]> = Object.fromEntries(LISTS.map((list) => [list, []]))
  let about: unknown
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const [entry] = Object.entries(JSON.parse(line))
    if (entry?.[0] === 'about') about = entry[1]
    else if (entry !== undefined) lists[entry[0]]?.push(entry[1])
  }
  // writeRecording wrote this file.
  return { ...Object(about), ...lists } as unknown as Recording
}
