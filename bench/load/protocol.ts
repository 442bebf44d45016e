// Messages between the bench and its load generator, over the IPC channel of `fork`.
import type { Percentiles } from '../../engine/edge/histogram.ts'
import type { DeviceLogin } from './device-socket.ts'
import type { RestTarget } from './rest-lines.ts'

export interface OpenJob {
  readonly kind: 'open'
  readonly host: string
  readonly port: number
  readonly devices: readonly DeviceLogin[]
  /** Number of connections that are opened at the same time. */
  readonly connectsAtOnce: number
  /** Number of packets encoded in advance per device, which is also the limit of messages in flight. */
  readonly ringSize: number
  /** Every device publishes one message as soon as it is connected. */
  readonly greet: boolean
}

/** A closed loop, in which every device keeps `window` messages unacknowledged. */
export interface ClosedJob {
  readonly kind: 'closed'
  readonly window: number
  /** The run ends after this time, or after a number of messages per device if that is given. */
  readonly durationMs: number
  readonly messagesPerDevice: number | undefined
}

/** An open loop, in which messages follow a fixed schedule and latency counts from the scheduled time. */
export interface OpenLoopJob {
  readonly kind: 'paced'
  readonly messagesPerSec: number
  readonly durationMs: number
  /** Number of messages that a device sends in one write. */
  readonly burst: number
  readonly probe: ProbeSettings | undefined
}

/** Additional devices whose messages are observed on /ws. */
export interface ProbeSettings {
  readonly wsUrl: string
  readonly devices: readonly DeviceLogin[]
  readonly messagesPerSec: number
}

/** Devices that subscribe to their commands and answer each with `completed`. */
export interface ListenJob extends Pick<OpenJob, 'host' | 'port' | 'devices' | 'connectsAtOnce'> {
  readonly kind: 'listen'
}

/** Ends when every listening device got a command. */
export interface OrdersJob {
  readonly kind: 'orders'
  readonly deadlineMs: number
}

export interface OrdersResult {
  readonly reached: number
  readonly commands: number
  readonly lastAt: number
}

/** Sends commands to listening devices and observes them on /ws until they are completed. */
export interface CommandsJob extends RestTarget {
  readonly kind: 'commands'
  /** The address of /ws, with a token. */
  readonly wsUrl: string
  readonly ids: readonly string[]
  readonly durationMs: number
  /** Number of connections for POST. Without a schedule it also bounds the commands in flight. */
  readonly inFlight: number
  /** Commands per second on a fixed schedule. If undefined, a command is sent whenever another one completes. */
  readonly perSec: number | undefined
}

export interface CommandsResult {
  readonly sent: number
  readonly lost: number
  /** Number of `resync` frames, by which /ws reports that it left out events. */
  readonly resyncs: number
  readonly firstSentAt: number
  readonly lastCompletedAt: number
  /** All three count from the scheduled send: to the 202, to the device, and to `completed` on /ws. */
  readonly acceptedMicros: Percentiles
  readonly receivedMicros: Percentiles
  readonly completedMicros: Percentiles
  readonly cpuMicros: number
}

/** Keeps one request in flight for each shadow. */
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
  /** Milliseconds, comparable with `ticks()` in any process of this machine. */
  readonly firstSentAt: number
  readonly lastAckedAt: number
  /** Number of messages per device in this run, in the order of `OpenJob.devices`. */
  readonly perDevice: readonly number[]
  readonly latencyMicros: Percentiles
  /** Time from publish to /ws, if it was probed. */
  readonly probeMicros: Percentiles | undefined
  readonly probesLost: number
  readonly cpuMicros: number
  /** Messages that were sent later than scheduled because too many were in flight. */
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
