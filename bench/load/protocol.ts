// What the bench and its load generator say to each other, over the IPC channel of `fork`.
import type { Percentiles } from '../measure/histogram.ts'
import type { DeviceLogin } from './device-socket.ts'

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

export interface CloseJob {
  readonly kind: 'close'
}

export type Job = OpenJob | ClosedJob | OpenLoopJob | CloseJob

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
  | { readonly kind: 'closed' }
  | { readonly kind: 'failed'; readonly message: string }
