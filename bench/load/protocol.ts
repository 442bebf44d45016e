// What the bench and its load generator say to each other, over the IPC channel of `fork`.
import type { Percentiles } from '../measure/histogram.ts'
import type { DeviceLogin } from './device-socket.ts'
import type { RestTarget } from './rest-lines.ts'

export interface OpenJob {
  readonly kind: 'open'
  readonly host: string
  readonly port: number
  readonly devices: readonly DeviceLogin[]
  /** Connections under way at a time. */
  readonly connectsAtOnce: number
  /** Packets written ahead per device; also the most a device has unanswered. */
  readonly ringSize: number
  /** Every device publishes one message as soon as it is connected. */
  readonly greet: boolean
}

/** As fast as the broker answers: every device keeps `window` messages unanswered. */
export interface ClosedJob {
  readonly kind: 'closed'
  readonly window: number
  /** Ends by time, or by the messages of each device if given. */
  readonly durationMs: number
  readonly messagesPerDevice: number | undefined
}

/** A fixed schedule, whatever the broker does: latency counts from the scheduled time. */
export interface OpenLoopJob {
  readonly kind: 'paced'
  readonly messagesPerSec: number
  readonly durationMs: number
  /** Messages a device sends in one write. */
  readonly burst: number
  readonly probe: ProbeSettings | undefined
}

/** Some further devices whose messages are watched on /ws until they arrive. */
export interface ProbeSettings {
  readonly wsUrl: string
  readonly devices: readonly DeviceLogin[]
  readonly messagesPerSec: number
}

/** Devices that subscribe to their commands and answer each with `completed`. */
export interface ListenJob extends Pick<OpenJob, 'host' | 'port' | 'devices' | 'connectsAtOnce'> {
  readonly kind: 'listen'
}

/** Ends when every listening device has been sent a command. */
export interface OrdersJob {
  readonly kind: 'orders'
  readonly deadlineMs: number
}

export interface OrdersResult {
  readonly reached: number
  readonly commands: number
  readonly lastAt: number
}

/** Commands to listening devices, watched on /ws until they are completed. */
export interface CommandsJob extends RestTarget {
  readonly kind: 'commands'
  /** With its token. */
  readonly wsUrl: string
  readonly ids: readonly string[]
  readonly durationMs: number
  /** Connections for POST; without a schedule also how many commands are not yet completed. */
  readonly inFlight: number
  /** A fixed schedule; undefined is as fast as they complete. */
  readonly perSec: number | undefined
}

export interface CommandsResult {
  readonly sent: number
  readonly lost: number
  /** How often /ws said that it left something out. */
  readonly resyncs: number
  readonly firstSentAt: number
  readonly lastCompletedAt: number
  /** From (intended) send to 202, to the device, and to `completed` on /ws. */
  readonly acceptedMicros: Percentiles
  readonly receivedMicros: Percentiles
  readonly completedMicros: Percentiles
  readonly cpuMicros: number
}

/** One request under way for each shadow. */
export interface ShadowsJob extends RestTarget {
  readonly kind: 'shadows'
  readonly verb: 'read' | 'write'
  readonly ids: readonly string[]
  readonly versions: readonly number[]
  readonly durationMs: number
}

export interface ShadowsResult {
  readonly requests: number
  readonly firstSentAt: number
  readonly lastAt: number
  readonly versions: readonly number[]
  readonly latencyMicros: Percentiles
  readonly cpuMicros: number
}

export interface CloseJob {
  readonly kind: 'close'
}

export type Job =
  | OpenJob
  | ClosedJob
  | OpenLoopJob
  | ListenJob
  | OrdersJob
  | CommandsJob
  | ShadowsJob
  | CloseJob

export interface RunResult {
  readonly messages: number
  /** Comparable with `ticks()` of any process of this machine. */
  readonly firstSentAt: number
  readonly lastAckedAt: number
  /** Of this run, in the order of `OpenJob.devices`. */
  readonly perDevice: readonly number[]
  readonly latencyMicros: Percentiles
  /** Publish → /ws, if probed. */
  readonly probeMicros: Percentiles | undefined
  readonly probesLost: number
  readonly cpuMicros: number
  /** Messages that were scheduled but had to wait because too many were unanswered. */
  readonly deferred: number
}

export interface OpenResult {
  readonly startedAt: number
  readonly connectedAt: number
}

export type Answer =
  | { readonly kind: 'opened'; readonly result: OpenResult }
  | { readonly kind: 'ran'; readonly result: RunResult }
  | { readonly kind: 'ordered'; readonly result: OrdersResult }
  | { readonly kind: 'commanded'; readonly result: CommandsResult }
  | { readonly kind: 'shadowed'; readonly result: ShadowsResult }
  | { readonly kind: 'closed' }
  | { readonly kind: 'failed'; readonly message: string }
