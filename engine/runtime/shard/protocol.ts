// What crosses between the host and a shard's thread: plain data, one task in, one result out (R12).
import type {
  BroadcastId,
  CommandId,
  DeploymentId,
  DeviceId,
  Micros,
  Millis,
  Partition,
} from '../../../schemas/ids.ts'
import type { Refusal } from '../../../schemas/refusals.ts'
import type { CommandStatus } from '../../../schemas/vocabulary.ts'
import type { FleetCounts, LeafName } from '../../domain/alert/fleet-counts.ts'
import type { AlertSettings } from '../../domain/alert/rule-book.ts'
import type { CommandPlace, KeptCommand } from '../../domain/command/kept-commands.ts'
import type { Command, Commands } from '../../domain/command/record.ts'
import type { Confirmation } from '../../domain/device/events.ts'
import type { HeartbeatTimeouts } from '../../domain/device/heartbeat.ts'
import type { DownlinkMessage } from '../../domain/downlink.ts'
import type { LatestValues } from '../../domain/fleet/latest-values.ts'
import type { FleetPart, FleetVersions } from '../../domain/fleet/row.ts'
import type { Leap } from '../../domain/leap.ts'
import type { OtaSend } from '../../domain/ota/job-messages.ts'
import type { FirmwareState, JobTally } from '../../domain/ota/tally.ts'
import type { Shadow } from '../../domain/shadow/record.ts'
import type { AlertCounts, AlertMatches, AlertsQuery } from '../../ports/alerts.ts'
import type { DeviceView } from '../../ports/device-view.ts'
import type { KeptCommandsQuery, Metric, Snapshot } from '../../ports/engine.ts'
import type { FeedEvent, Wants } from '../../ports/feed.ts'
import type { Entry } from '../../ports/log.ts'
import type { ShardSave, StoredDevice } from '../../ports/store.ts'
import type { Block } from '../../ports/telemetry.ts'
import type { Progress } from './progress.ts'

export interface ShardSettings extends HeartbeatTimeouts {
  readonly partitions: readonly Partition[]
  /** Sessions with smaller numbers ended with an earlier run of the broker. */
  readonly bootAt: Micros
  /** The service was down before this time, so nobody heard what devices sent. */
  readonly resumedAt?: Millis | undefined
  /** Unique for each incarnation of a shard, so that versions of an earlier one are not mistaken for its own. */
  readonly incarnation: string
  /** How many devices one task of a sweep may judge. Default: `LIMITS.dueDevicesPerTaskMax`. */
  readonly dueDevicesPerTaskMax?: number
  /** Memory in which the shard notes the message that it is working on. */
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
  /** Asks for the firmware state of these devices. */
  | { readonly kind: 'firmware'; readonly deviceIds: readonly DeviceId[] }
  /** Asks for counts of the jobs of these deployments. */
  | { readonly kind: 'jobs'; readonly deploymentIds: readonly DeploymentId[] }
  /** Asks for the commands of a broadcast on this shard's devices. */
  | { readonly kind: 'children'; readonly broadcastId: BroadcastId }
  /** Asks for commands of this shard's devices. */
  | { readonly kind: 'kept_commands'; readonly query: KeptCommandsQuery }
  /** Asks which of these commands this shard's devices keep. */
  | { readonly kind: 'named_commands'; readonly commands: readonly CommandPlace[] }
  /** Asks for the alerts of this shard's devices that are in the records. */
  | { readonly kind: 'alerts'; readonly query: AlertsQuery }
  | { readonly kind: 'alert_counts'; readonly within: readonly string[] | undefined }
  /** Asks for the latest values of these metrics. Without ids, it asks about every device heard after this time. */
  | {
      readonly kind: 'latest'
      readonly deviceIds: readonly DeviceId[] | undefined
      readonly metrics: readonly string[]
      readonly heardAfter: number
    }
  /** Asks for rows of the fleet's table that changed since the versions the asker knows of each shard. */
  | { readonly kind: 'fleet'; readonly known: FleetVersions }
  /** Asks for the counts for rules about the fleet, and for sums of these leaves. */
  | { readonly kind: 'fleet_counts'; readonly sums: readonly LeafName[] }

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
  readonly firmware: readonly (FirmwareState | undefined)[]
  readonly jobs: readonly JobTally[]
  readonly children: readonly Child[]
  readonly kept_commands: readonly KeptCommand[]
  readonly named_commands: readonly KeptCommand[]
  readonly alerts: AlertMatches
  readonly alert_counts: AlertCounts
  readonly fleet: readonly FleetPart[]
  /** Devices that do not exist are left out. */
  readonly latest: readonly LatestValues[]
  readonly fleet_counts: FleetCounts
}

export type Answer = Answers[Ask['kind']]
export type AnswerOf<A extends Ask> = Answers[A['kind']]

export type ShardTask = LoadTask | WorkTask

/** Devices, and the positions of their partitions. More may be loaded while the shard works. */
export interface LoadTask {
  readonly kind: 'load'
  readonly devices: readonly StoredDevice[]
  readonly applied: readonly Position[]
  readonly alertSettings?: AlertSettings | undefined
  readonly now: Millis
}

export interface WorkTask {
  readonly kind: 'work'
  /** Whether the open proposal is saved, so that its records and rows count from now on (shard S2, S3). */
  readonly settle: boolean
  readonly entries: readonly Entry[]
  /** Whether to collect rows. If not, they will be read from the log again later. */
  readonly rows: boolean
  readonly asks: readonly Ask[]
  /** The time to sweep at. `behind` means the time of the batch's last message, while there are unread entries. `rest`
   *  continues the current sweep. */
  readonly sweep: Millis | 'behind' | 'rest' | undefined
  /** Devices for which this owner may not have sent everything. */
  readonly unsent: readonly DeviceId[]
  /** Set after time was lost: every device counts as heard at this time. */
  readonly forgiveAt: Millis | undefined
  /** Leaps of the clock. Timers of firmware jobs do not count them. */
  readonly leaps: readonly Leap[]
  /** Rollups of telemetry older than this are settled. */
  readonly horizon: Millis
  readonly wants: Wants | undefined
  /** The rules and silences from this task on. Undefined if they have not changed. */
  readonly alertSettings?: AlertSettings | undefined
  /** The rows to hand out: blocks that are large or old enough, or all. */
  readonly cut: 'due' | 'all'
  /** Whether to hand out changed vitals. */
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
  | ({ readonly requestId: string } & Refusal)

export interface Outbound {
  readonly deviceId: DeviceId
  /** The gateway that the message goes through. */
  readonly via: DeviceId | undefined
  readonly message: DownlinkMessage
  /** Set for a command, whose PUBACK comes back as an event. */
  readonly confirms: Confirmation | undefined
}

/** A message about firmware. The host completes it, because a shard can neither sign nor look up an image. */
export interface OtaOutbound {
  readonly deviceId: DeviceId
  readonly via: DeviceId | undefined
  readonly send: OtaSend
}

/** Everything that a batch asks for. The host first saves the fields of `ShardSave` in one atomic write. If that write
 *  fails for good, nothing else here may happen (R4). */
export interface Proposal extends ShardSave {
  /** Answers to requests. Given only after the save. */
  readonly replies: readonly Reply[]
  /** Messages for devices. Sent only after the save, and not again if the shard is lost: what must arrive stays visible
   *  in the record until it has (R5). */
  readonly outbound: readonly Outbound[]
  readonly ota: readonly OtaOutbound[]
  /** Devices whose connection must end. Cut only after the save. */
  readonly cuts: readonly DeviceId[]
  /** Devices whose live sessions must end, and that may come back. Ended only after the save. */
  readonly ended: readonly DeviceId[]
  /** Events for `/ws` and alerts. Told only after the save. */
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
  /** How many alert rules were judged. `alertsMs` is the time that took. */
  readonly evaluations: number
  readonly alertsMs: number
}

export interface WorkResult {
  readonly proposal: Proposal
  /** One answer for each of the task's `asks`, in their order. */
  readonly answers: readonly Answer[]
  readonly blocks: readonly Block[]
  /** Each partition's position up to which rows are collected or handed out, 0 for none. Sent with every batch, because
   *  one array crosses the thread for much less than 64 objects. */
  readonly covered: Float64Array
  /** Whether all rows up to `covered` have been handed out, `blocks` included. */
  readonly isAllOut: boolean
  /** Time at which the first row of `blocks` was collected. */
  readonly blocksSince: Millis
  /** Whether the sweep has still to visit devices that may be due. No other sweep begins before it has. */
  readonly isSweepCut: boolean
  readonly vitals: readonly { readonly deviceId: DeviceId; readonly bytes: Uint8Array }[]
  readonly counts: ShardCounts
  /** Counts of the shard's alerts. Undefined if they have not changed since they were last sent. */
  readonly alerts: AlertCounts['byState'] | undefined
  readonly devices: number
}
