// The engine as the API layer sees it, and the ports that the engine needs. Nothing in this file depends on HTTP, sockets
// or settings files.
import type { Readable } from 'node:stream'
import type { BroadcastId, CommandId, DeviceId, Millis } from '../../schemas/ids.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'
import type { CommandPriority, CommandStatus } from '../../schemas/vocabulary.ts'
import type {
  Broadcast,
  BroadcastMember,
  BroadcastTarget,
  StatusCounts,
} from '../domain/command/broadcast.ts'
import type { CommandFilter, CommandPlace, KeptCommand } from '../domain/command/kept-commands.ts'
import type { Command } from '../domain/command/record.ts'
import type { DeviceRequest } from '../domain/device/events.ts'
import type { FleetMoment } from '../domain/fleet/census.ts'
import type { FirmwareState } from '../domain/ota/tally.ts'
import type { Author, Shadow } from '../domain/shadow/record.ts'
import type { ChannelAnswer, ChannelCall } from './alert-channels.ts'
import type { AlertsPort } from './alerts.ts'
import type { AuditDraft, AuditEntry, AuditTrail } from './audit.ts'
import type { Blobs } from './blobs.ts'
import type { Broker, LaneReader } from './broker.ts'
import type { Clock } from './clock.ts'
import type { Deployments, Members } from './deployments.ts'
import type { DeviceView } from './device-view.ts'
import type { EngineRefusal } from './engine-refusal.ts'
import type { Feed } from './feed.ts'
import type { FleetPort } from './fleet.ts'
import type { History } from './history.ts'
import type { Log } from './log.ts'
import type { Mesh } from './mesh.ts'
import type { FirmwareLibrary } from './ota.ts'
import type { Outbound } from './outbound.ts'
import type { OwnershipTable } from './ownership.ts'
import type { DeadLetter, DeadLetters, Directory, LetterName, Store } from './store.ts'
import type { DependencyHealth, SystemState } from './system.ts'
import type { Export, Point, PointsQuery, Series, SeriesQuery, Telemetry, TrendQuery } from './telemetry.ts'
import type { Users } from './users.ts'

/** The latest telemetry: nested as reported, each field at its newest value by event time. */
export interface Snapshot {
  readonly data: JsonObject
  readonly timestamp: Millis | undefined
  /** The snapshot covers exactly the messages up to this seq in the log of the device's partition. */
  readonly seq: number
}

/** A metric at its newest value; null if the device cleared it. */
export interface Metric {
  readonly metric: string
  readonly value: Json
  readonly at: Millis
}

/** `Export` without the fields that only the engine can fill in. */
export type ExportRequest =
  | Extract<Export, { readonly kind: 'points' }>
  | (Omit<Extract<Export, { readonly kind: 'series' }>, 'query'> & {
      readonly query: Omit<SeriesQuery, 'lateHours'>
    })

export type RequestOutcome =
  | {
      readonly kind: 'done'
      readonly view: DeviceView
      /** Set for `command` and `cancel`. */
      readonly command?: Command | undefined
      /** Set for `desire`: the shadow after the write, even if nothing changed. */
      readonly shadow?: Shadow | undefined
    }
  | EngineRefusal

export type PurgeOutcome =
  /** `isOver`: everything about the device has been removed. Otherwise the device is decommissioned and removal
   *  continues. */
  { readonly kind: 'done'; readonly view: DeviceView; readonly isOver: boolean } | EngineRefusal

export interface BroadcastRequest {
  readonly broadcastId: BroadcastId
  /** The target group, including its subtree. With `chosen`, a group that contains all chosen devices, if there is one. */
  readonly group?: string | undefined
  /** The target devices, if they were chosen individually or by a filter instead of by group. */
  readonly chosen?: { readonly target: BroadcastTarget; readonly members: Members } | undefined
  /** The broadcast is refused if it would reach another number of devices. */
  readonly expectedTotal?: number | undefined
  readonly command: string
  readonly data?: JsonObject | undefined
  readonly priority?: CommandPriority | undefined
  readonly timeoutSec?: number | undefined
  readonly by: string
  /** The sender's scope: devices outside these subtrees are not members. Undefined means all devices. */
  readonly within?: readonly string[] | undefined
  /** Why devices of a given type do not accept the command. Types that are not listed accept it. */
  readonly unfit?: Readonly<Record<string, BroadcastMember['unfit']>> | undefined
}

export interface BroadcastState {
  readonly broadcast: Broadcast
  readonly counts: StatusCounts
  /** The requested page, ordered by device id, without commands that are no longer kept. */
  readonly commands: readonly { readonly deviceId: DeviceId; readonly command: Command }[]
  /** How many commands match the query, over all pages. */
  readonly matching: number
}

/** A page of a broadcast's commands. */
export interface BroadcastPage {
  readonly offset: number
  readonly limit: number
  /** Undefined means all. */
  readonly statuses?: readonly CommandStatus[] | undefined
  /** Only devices in these subtrees. Undefined means all devices. */
  readonly within?: readonly string[] | undefined
}

export interface BroadcastsQuery {
  readonly offset: number
  readonly limit: number
  /** The caller. They see the broadcasts they sent and those to groups in the subtrees of `within`; undefined means
   *  all. */
  readonly by: string
  readonly within: readonly string[] | undefined
}

export interface BroadcastList {
  /** Newest first. */
  readonly broadcasts: readonly { readonly broadcast: Broadcast; readonly counts: StatusCounts }[]
  readonly total: number
}

export interface KeptCommandsQuery extends CommandFilter {
  readonly deviceId?: DeviceId | undefined
  /** Only devices in this group's subtree. */
  readonly group?: string | undefined
  /** Only devices in these subtrees. Undefined means all devices. */
  readonly within?: readonly string[] | undefined
}

/** The author of a request. If there is an audit `entry`, it is completed with the outcome and saved together with it. */
export interface Authorship {
  readonly by: Author
  readonly entry?: AuditDraft | undefined
}

export interface Engine extends History, AuditTrail, DeadLetters {
  readonly firmware: FirmwareLibrary
  readonly deployments: Deployments
  readonly alerts: AlertsPort
  readonly fleet: FleetPort
  /** The devices as they were last saved. Answers immediately, and may be a moment behind `view`. */
  readonly devices: Directory
  readonly feed: Feed
  /** Changes a device. Resolves once the change is durable and applied. After a `Fault` it is unknown whether the change
   *  happened: try again. */
  submit(deviceId: DeviceId, request: DeviceRequest, signed: Authorship): Promise<RequestOutcome>
  /** Decommissions the device and removes everything about it except the audit. A purge that has begun is completed even
   *  after a crash. `createdAt` distinguishes the device from a later one with the same id. */
  purge(
    deviceId: DeviceId,
    meant: { readonly createdAt: Millis; readonly ifRevision?: number | undefined },
    signed: Authorship,
  ): Promise<PurgeOutcome>
  /** Sees every message acknowledged before the call. */
  view(deviceId: DeviceId): Promise<DeviceView | undefined>
  views(deviceIds: readonly DeviceId[]): Promise<readonly (DeviceView | undefined)[]>
  /** Sees every message acknowledged before the call; undefined if there is no such device. */
  snapshot(deviceId: DeviceId): Promise<Snapshot | undefined>
  /** The device's metrics, ordered by name; undefined if there is no such device. Sees every message acknowledged before
   *  the call. */
  metricsOf(deviceId: DeviceId): Promise<readonly Metric[] | undefined>
  series(query: Omit<SeriesQuery, 'lateHours'>): Promise<readonly Series[]>
  /** Whether queries may let ClickHouse choose the devices (`among`), because its table has all of them. */
  knowsDevices(): boolean
  /** How many devices there were, by status. */
  trend(query: TrendQuery): Promise<readonly FleetMoment[]>
  points(query: PointsQuery): Promise<readonly Point[]>
  exportTelemetry(what: ExportRequest): Promise<Readable>
  /** Sees every message acknowledged before the call; undefined if there is no such device. */
  shadow(deviceId: DeviceId): Promise<Shadow | undefined>
  /** All open commands and the finished ones that are still kept, newest first; undefined if there is no such device. */
  commands(deviceId: DeviceId): Promise<readonly Command[] | undefined>
  /** Commands of all devices, as far as their records keep them. This includes every open command. Sees every message
   *  acknowledged before the call. */
  keptCommands(query: KeptCommandsQuery): Promise<readonly KeptCommand[]>
  /** Returns those of the given commands that the records of their devices still keep. */
  keptAmong(commands: readonly CommandPlace[]): Promise<readonly KeptCommand[]>
  /** The firmware state and the jobs of the device; undefined if there is no such device. Sees every message acknowledged
   *  before the call. */
  firmwareOf(deviceId: DeviceId): Promise<FirmwareState | undefined>
  /** Resolves once the command is final, or after `timeoutMs` with the command as it is then; undefined if there is
   *  none. */
  awaitCommand(deviceId: DeviceId, commandId: CommandId, timeoutMs: number): Promise<Command | undefined>
  /** Processes these dead letters again in this order, and removes them. After a fault the call may be repeated: each
   *  letter takes effect once. Takes only letters that have a `replayWay`. */
  replayDeadLetters(letters: readonly DeadLetter[]): Promise<void>
  discardDeadLetters(letters: readonly LetterName[]): Promise<void>
  /** Repeating the call with the same id returns the existing broadcast. */
  broadcast(
    request: BroadcastRequest,
  ): Promise<{ readonly kind: 'done'; readonly broadcast: Broadcast } | EngineRefusal>
  broadcastState(broadcastId: BroadcastId, page: BroadcastPage): Promise<BroadcastState | undefined>
  /** Lists the newest broadcasts. Older ones are not kept. */
  listBroadcasts(query: BroadcastsQuery): Promise<BroadcastList>
  /** Cancels those of the broadcast's commands that are still open. */
  cancelBroadcast(broadcastId: BroadcastId, by: string): Promise<BroadcastState | undefined>
  /** Reads or changes the alert channels. */
  channels<Call extends ChannelCall>(call: Call): Promise<ChannelAnswer<Call>>
  /** Resolves once the entries would survive a crash. */
  record(entries: readonly AuditEntry[]): Promise<void>
  /** Records a refusal that anyone can cause at any rate. Refusals of one kind become at most two entries per minute. */
  recordRefusal(entry: AuditEntry): void
  /** Metrics of all threads, in the text format of Prometheus. */
  metrics(): Promise<string>
  health(): readonly DependencyHealth[]
  /** The state of this node and of every node that owns partitions, and of the log as this node sees it. */
  system(): Promise<SystemState>
  /** Address at which devices connect; empty until the engine is open. */
  mqttUrl(): string
  /** Stops accepting messages, finishes those already accepted, and closes everything. */
  close(): Promise<void>
}

/** Services that the nodes of a cluster share. */
export interface Cluster {
  readonly mesh: Mesh
  /** Says which node owns which partition. */
  readonly owners: OwnershipTable
  /** Set if the broker is outside: its messages arrive in lanes, each of which one node owns. */
  readonly lanes?: { readonly owners: OwnershipTable; readonly reader: LaneReader }
}

export interface Ports {
  readonly clock: Clock
  readonly log: Log
  readonly store: Store
  readonly users: Users
  readonly telemetry: Telemetry
  readonly broker: Broker
  /** Storage of firmware images. Undefined in a cluster without an S3 service. */
  readonly blobs?: Blobs | undefined
  /** Undefined where no notifications about alerts can be sent. */
  readonly outbound?: Outbound | undefined
  /** Undefined if this process is the only one. */
  readonly cluster?: Cluster | undefined
}
