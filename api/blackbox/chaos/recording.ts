// What happened in a run, as its clients saw it, and what the service says of it afterwards. Checkers read nothing
// else, so that a run that was kept can be judged again.
import { createReadStream, createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { finished } from 'node:stream/promises'
import type { CommandStatus } from '../../../schemas/vocabulary.ts'

/** `timed` carries its own time, `plain` does not; an `answer` is one to a command. */
export type Series = 'timed' | 'plain' | 'report' | 'answer'

/** Milliseconds since the run began; no two are equal, so that they order everything. */
type Instant = number

/** One message of a device, from its making to its PUBACK. */
export interface Message {
  readonly device: string
  readonly series: Series
  /** Counts from 0, within its series. */
  readonly n: number
  /** Once per time it was put on the wire. */
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

interface CallBase {
  readonly caller: string
  readonly node: string
  readonly device: string
  readonly from: Instant
  /** Absent while there is no answer, and for ever if there never was one. */
  to?: Instant
  status?: number
  /** What an answer that nobody expects says. */
  text?: string
}

export interface DesireCall extends CallBase {
  readonly kind: 'desire'
  /** Unlike that of any other call. */
  readonly value: string
  readonly expected?: number
  /** The version it made, or, refused, the one that stood in its way. */
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
  /** Of `command`: unlike that of any other call, unless it is the same one repeated with its Idempotency-Key. */
  readonly token?: string
  /** Known from the start, but for `command`. */
  commandId?: string
  seen?: CommandStatus
}
/** Of a device that one caller alone registers, as edit 0, and edits. */
export interface RecordCall extends CallBase {
  readonly kind: 'edit' | 'record' | 'list'
  /** Of an edit, made; of the others, seen; -1 if there is no such device. */
  edit?: number
}
export type Call = DesireCall | ShadowCall | SnapshotCall | CommandCall | RecordCall

export interface ShadowState {
  readonly version: number
  /** What was written last, and reported last. */
  readonly desired?: string
  readonly reported?: number
}

/** Something the nemesis did, or a process that ended by itself. */
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
  /** Of the first one: it names the call that made the command. */
  readonly token?: string
  readonly status: CommandStatus
}
export interface FinalCommand {
  readonly status: CommandStatus
  readonly attempts: number
}

/** What the service holds of a device, at rest. */
export interface Stored {
  readonly device: string
  /** In the order of their times. */
  readonly plain: readonly number[]
  readonly timed: readonly { readonly slot: number; readonly value: number }[]
  /** Oldest first, as are the steps. */
  readonly changes: readonly Change[]
  readonly shadow: ShadowState
  readonly steps: readonly Step[]
  readonly commands: Readonly<Record<string, FinalCommand>>
  readonly parked: number
}

/** What a PUBACK says, and when it does not. */
export interface Promises {
  /** A PUBACK is the log's own: what it acknowledged shows in the next answer. */
  readonly isPubackDurable: boolean
  /** Where a broker of its own acknowledges: its kill may take what it acknowledged within so long before it. */
  readonly brokerLossMs: number
}

export interface Recording {
  readonly promises: Promises
  readonly messages: readonly Message[]
  readonly receipts: readonly Receipt[]
  readonly calls: readonly Call[]
  readonly faults: readonly FaultNote[]
  readonly stored: readonly Stored[]
}

export class Recorder {
  readonly messages: Message[] = []
  readonly receipts: Receipt[] = []
  readonly calls: Call[] = []
  readonly faults: FaultNote[] = []
  readonly #origin = performance.now()
  #last = 0

  now(): Instant {
    this.#last = Math.max(this.#last + 0.000_1, performance.now() - this.#origin)
    return this.#last
  }
}

const LISTS = ['messages', 'receipts', 'calls', 'faults', 'stored'] as const

/** One line per fact: a long run has a million of them. */
export async function writeRecording(path: string, recording: Recording): Promise<void> {
  const file = createWriteStream(path)
  file.write(`${JSON.stringify({ promises: recording.promises })}\n`)
  for (const list of LISTS)
    for (const fact of recording[list]) file.write(`${JSON.stringify({ [list]: fact })}\n`)
  file.end()
  await finished(file)
}

export async function readRecording(path: string): Promise<Recording> {
  const lists: Record<string, unknown[]> = Object.fromEntries(LISTS.map((list) => [list, []]))
  let promises: unknown
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const [entry] = Object.entries(JSON.parse(line))
    if (entry?.[0] === 'promises') promises = entry[1]
    else if (entry !== undefined) lists[entry[0]]?.push(entry[1])
  }
  // Written by writeRecording.
  return { promises, ...lists } as unknown as Recording
}
