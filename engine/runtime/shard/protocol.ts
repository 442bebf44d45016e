// What crosses between the host and a shard's thread: plain data, one task in, one result out (R12).
import type { BroadcastId, CommandId, DeviceId, Micros, Millis, Partition } from '../../../schemas/ids.ts'
import type { RefusalCode } from '../../../schemas/refusals.ts'
import type { CommandStatus } from '../../../schemas/vocabulary.ts'
import type { Command, Commands } from '../../domain/command/record.ts'
import type { Confirmation } from '../../domain/device/events.ts'
import type { DownlinkMessage } from '../../domain/downlink.ts'
import type { Shadow } from '../../domain/shadow/record.ts'
import type { DeviceView } from '../../ports/device-view.ts'
import type { Metric, Snapshot } from '../../ports/engine.ts'
import type { FeedEvent, Wants } from '../../ports/feed.ts'
import type { Entry } from '../../ports/log.ts'
import type { Save, StoredDevice } from '../../ports/store.ts'
import type { Block } from '../../ports/telemetry.ts'
import type { Progress } from './progress.ts'

export interface ShardSettings {
  readonly partitions: readonly Partition[]
  readonly heartbeatTimeoutMs: number
  /** Sessions with smaller numbers ended with an earlier run of the broker. */
  readonly bootAt: Micros
  /** Distinct per incarnation of a shard: block tokens never meet those of an earlier incarnation. */
  readonly incarnation: string
  /** Where the shard says what it is at. */
  readonly progress: Progress
}

export interface Position {
  readonly partition: Partition
  readonly seq: number
}

export type Ask =
  | { readonly kind: 'views'; readonly deviceIds: readonly DeviceId[] }
  | { readonly kind: 'snapshot'; readonly deviceId: DeviceId }
  | { readonly kind: 'metrics'; readonly deviceId: DeviceId }
  | { readonly kind: 'shadow'; readonly deviceId: DeviceId }
  | { readonly kind: 'commands'; readonly deviceId: DeviceId }
  /** What became of a broadcast on this shard's devices. */
  | { readonly kind: 'children'; readonly broadcastId: BroadcastId }

/** One command of a broadcast. */
export interface Child {
  readonly deviceId: DeviceId
  readonly commandId: CommandId
  readonly status: CommandStatus
}

/** The answer to each kind of question; undefined where there is no such device. */
export interface Answers {
  readonly views: readonly (DeviceView | undefined)[]
  readonly snapshot: Snapshot | undefined
  readonly metrics: readonly Metric[] | undefined
  readonly shadow: Shadow | undefined
  /** Newest first. */
  readonly commands: Commands | undefined
  readonly children: readonly Child[]
}

export type Answer = Answers[Ask['kind']]
export type AnswerOf<A extends Ask> = Answers[A['kind']]

export type ShardTask =
  | {
      readonly kind: 'load'
      readonly devices: readonly StoredDevice[]
      readonly applied: readonly Position[]
      readonly now: Millis
    }
  | WorkTask

export interface WorkTask {
  readonly kind: 'work'
  /** What became of the last result's proposal. */
  readonly settle: 'saved' | 'dropped' | undefined
  readonly entries: readonly Entry[]
  /** False: rows are not collected now, they will be read from the log again. */
  readonly rows: boolean
  readonly asks: readonly Ask[]
  /** A time to sweep at, or `behind`: as of the batch's last message, so that nobody is declared silent unheard. */
  readonly sweep: Millis | 'behind' | undefined
  /** Time stood still or was lost until now: every device counts as heard now. */
  readonly forgiveAt: Millis | undefined
  /** Telemetry older than this has settled rollups. */
  readonly horizon: Millis
  readonly wants: Wants | undefined
  readonly cut: 'due' | 'all'
  readonly vitals: boolean
  readonly now: Millis
}

export type Reply =
  | {
      readonly requestId: string
      readonly kind: 'done'
      readonly view: DeviceView
      readonly command: Command | undefined
      readonly shadow: Shadow | undefined
    }
  | {
      readonly requestId: string
      readonly kind: 'refused'
      readonly code: RefusalCode
      readonly detail: Readonly<Record<string, unknown>>
    }

/** A message for a device. */
export interface Outbound {
  readonly deviceId: DeviceId
  /** The gateway it goes through. */
  readonly via: DeviceId | undefined
  readonly message: DownlinkMessage
  /** A command: the device's PUBACK comes back as an event. */
  readonly confirms: Confirmation | undefined
}

/** What a batch asks of the world, once it is saved. */
export interface Proposal extends Omit<Save, 'claims'> {
  readonly replies: readonly Reply[]
  readonly outbound: readonly Outbound[]
  readonly cuts: readonly DeviceId[]
  readonly feed: readonly FeedEvent[]
}

export interface ShardCounts {
  readonly stored: number
  readonly points: number
  readonly refused: number
  readonly ignored: number
  readonly adjusted: number
  readonly droppedPoints: number
  readonly busyMs: number
  readonly encodeMs: number
}

export interface WorkResult {
  readonly proposal: Proposal
  /** In the order of the task's `asks`. */
  readonly answers: readonly Answer[]
  readonly blocks: readonly Block[]
  /** The rows of entries up to here are collected or handed out; by partition, 0 is nothing. It comes with every
   *  batch: one array crosses the thread for much less than 64 objects. */
  readonly covered: Float64Array
  /** With `blocks`, none of the rows up to `covered` is held back. */
  readonly isAllOut: boolean
  /** When the first row of `blocks` was collected. */
  readonly blocksSince: Millis
  readonly vitals: readonly { readonly deviceId: DeviceId; readonly bytes: Uint8Array }[]
  readonly counts: ShardCounts
  readonly devices: number
}
