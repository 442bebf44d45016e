// The engine as the API layer sees it, and the ports that the engine needs. Nothing here knows HTTP, sockets or settings
// files.
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
  /** It shows the messages in the log up to this seq of the device's partition, and none behind it. */
  readonly seq: number
}

/** A metric at its newest value; null if the device cleared it. */
export interface Metric {
  readonly metric: string
  readonly value: Json
  readonly at: Millis
}

/** `Export` without what only the engine knows. */
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
  /** `isOver`: nothing of the device is left. Otherwise it is decommissioned, and the rest follows. */
  { readonly kind: 'done'; readonly view: DeviceView; readonly isOver: boolean } | EngineRefusal

export interface BroadcastRequest {
  readonly broadcastId: BroadcastId
  /** The group whose subtree is meant. With `chosen`, one that all chosen devices belong to, if there is one. */
  readonly group?: string | undefined
  /** The devices that are meant instead of a group's. */
  readonly chosen?: { readonly target: BroadcastTarget; readonly members: Members } | undefined
  /** Refused if another number of devices is meant. */
  readonly expectedTotal?: number | undefined
  readonly command: string
  readonly data?: JsonObject | undefined
  readonly priority?: CommandPriority | undefined
  readonly timeoutSec?: number | undefined
  readonly by: string
  /** The sender's scope: devices outside these subtrees are not members. Undefined means all devices. */
  readonly within?: readonly string[] | undefined
  /** Why devices of a type do not take the command. Types that are not listed take it. */
  readonly unfit?: Readonly<Record<string, BroadcastMember['unfit']>> | undefined
}

export interface BroadcastState {
  readonly broadcast: Broadcast
  readonly counts: StatusCounts
  /** The page asked for, ordered by device id, without commands that are not kept any more. */
  readonly commands: readonly { readonly deviceId: DeviceId; readonly command: Command }[]
  /** How many commands the question matches on all pages. */
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
  /** The caller, who sees what they sent, and what went to groups in these subtrees. Undefined subtrees mean all. */
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

/** The author of a request. An `entry` is completed with the outcome and saved together with it, for the audit. */
export interface Authorship {
  readonly by: Author
  readonly entry?: AuditDraft | undefined
}

export interface Engine extends History, AuditTrail, DeadLetters {
  readonly firmware: FirmwareLibrary
  readonly deployments: Deployments
  readonly alerts: AlertsPort
  readonly fleet: FleetPort
  /** The devices as they are saved. Answers at once, and may be a moment behind `view`. */
  readonly devices: Directory
  readonly feed: Feed
  /** Changes a device. Resolves after the change is durable and applied. After a `Fault` the change may have happened or
   *  not: try again. */
  submit(deviceId: DeviceId, request: DeviceRequest, signed: Authorship): Promise<RequestOutcome>
  /** Decommissions the device and removes everything about it but the audit. What is begun is finished, whatever crashes.
   *  `createdAt` tells the device from a later one with the same id. */
  purge(deviceId: DeviceId, createdAt: Millis, signed: Authorship): Promise<PurgeOutcome>
  /** Sees every message acknowledged before the call. */
  view(deviceId: DeviceId): Promise<DeviceView | undefined>
  views(deviceIds: readonly DeviceId[]): Promise<readonly (DeviceView | undefined)[]>
  /** Sees every message acknowledged before the call; undefined if there is no such device. */
  snapshot(deviceId: DeviceId): Promise<Snapshot | undefined>
  /** The device's metrics, ordered by name; undefined if there is no such device. Sees every message acknowledged before
   *  the call. */
  metricsOf(deviceId: DeviceId): Promise<readonly Metric[] | undefined>
  series(query: Omit<SeriesQuery, 'lateHours'>): Promise<readonly Series[]>
  /** Whether queries may choose their devices in ClickHouse (`among`): it knows all of them. */
  knowsDevices(): boolean
  /** How many devices there were, by status. */
  trend(query: TrendQuery): Promise<readonly FleetMoment[]>
  points(query: PointsQuery): Promise<readonly Point[]>
  exportTelemetry(what: ExportRequest): Promise<Readable>
  /** Sees every message acknowledged before the call; undefined if there is no such device. */
  shadow(deviceId: DeviceId): Promise<Shadow | undefined>
  /** The open ones and those still kept of the finished ones, newest first; undefined if there is no such device. */
  commands(deviceId: DeviceId): Promise<readonly Command[] | undefined>
  /** Commands of all devices, as far as their records keep them: every open one is among them. Sees every message
   *  acknowledged before the call. */
  keptCommands(query: KeptCommandsQuery): Promise<readonly KeptCommand[]>
  /** Those of these commands that their devices' records keep. */
  keptAmong(commands: readonly CommandPlace[]): Promise<readonly KeptCommand[]>
  /** What the device keeps of its firmware, and its jobs; undefined if there is no such device. Sees every message
   *  acknowledged before the call. */
  firmwareOf(deviceId: DeviceId): Promise<FirmwareState | undefined>
  /** Resolves once the command is final, or with what it is after this time; undefined if there is none. */
  awaitCommand(deviceId: DeviceId, commandId: CommandId, timeoutMs: number): Promise<Command | undefined>
  /** Takes these dead letters once more, in this order, and removes them. What a fault comes of may be repeated: each
   *  letter counts once. Only letters with a `replayWay`. */
  replayDeadLetters(letters: readonly DeadLetter[]): Promise<void>
  discardDeadLetters(letters: readonly LetterName[]): Promise<void>
  /** Sent again with the same id, it answers with the broadcast as it is. */
  broadcast(
    request: BroadcastRequest,
  ): Promise<{ readonly kind: 'done'; readonly broadcast: Broadcast } | EngineRefusal>
  broadcastState(broadcastId: BroadcastId, page: BroadcastPage): Promise<BroadcastState | undefined>
  /** The newest broadcasts, as many as are kept. */
  listBroadcasts(query: BroadcastsQuery): Promise<BroadcastList>
  /** Cancels those of its commands that are still open. */
  cancelBroadcast(broadcastId: BroadcastId, by: string): Promise<BroadcastState | undefined>
  /** Reads and changes the channels of alerts. */
  channels<Call extends ChannelCall>(call: Call): Promise<ChannelAnswer<Call>>
  /** Resolves once the entries would survive a crash. */
  record(entries: readonly AuditEntry[]): Promise<void>
  /** A refusal that anyone can cause at any rate: those of one kind within a minute become one or two entries. */
  recordRefusal(entry: AuditEntry): void
  /** Prometheus text, all threads together. */
  metrics(): Promise<string>
  health(): readonly DependencyHealth[]
  /** Every node that owns partitions, and this one; the log as this one sees it. */
  system(): Promise<SystemState>
  /** Address at which devices connect; empty until the engine is open. */
  mqttUrl(): string
  /** Stops taking messages, finishes what was taken, and closes everything. */
  close(): Promise<void>
}

/** Services that the nodes of a cluster share. */
export interface Cluster {
  readonly mesh: Mesh
  /** Owners of the partitions. */
  readonly owners: OwnershipTable
  /** Set if the broker is outside: messages of devices arrive in these lanes. */
  readonly lanes?: { readonly owners: OwnershipTable; readonly reader: LaneReader }
}

export interface Ports {
  readonly clock: Clock
  readonly log: Log
  readonly store: Store
  readonly users: Users
  readonly telemetry: Telemetry
  readonly broker: Broker
  /** Where images lie. Undefined in a cluster that was not told of an S3 service. */
  readonly blobs?: Blobs | undefined
  /** Undefined where alerts are told to nobody. */
  readonly outbound?: Outbound | undefined
  /** Undefined if this process is the only one. */
  readonly cluster?: Cluster | undefined
}
