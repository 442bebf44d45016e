// The history at rest: what happened to a device, newest first.
import type { AlertId, DeviceId, Millis } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { CommandStatus } from '../../schemas/vocabulary.ts'
import type { AlertsQuery } from '../domain/alert/query.ts'
import type { CommandFilter, CommandPlace } from '../domain/command/kept-commands.ts'
import type { HistoryKey, HistoryKind, HistoryRow } from '../domain/history/row.ts'

export type { CommandFilter, CommandPlace } from '../domain/command/kept-commands.ts'
export type {
  HistoryKey,
  HistoryKind,
  HistoryRow,
  WrittenHistory,
  WrittenRow,
} from '../domain/history/row.ts'

/** A row's place among the device's rows: they are ordered by time, then version, then kind. */
export type HistoryPlace = Pick<HistoryKey, 'at' | 'version'> & {
  /** Left out: older than every row of this time and version. */
  readonly kind?: HistoryKind | undefined
}

export interface HistoryFilter {
  readonly deviceId: DeviceId
  readonly kinds: readonly HistoryKind[]
  /** [from, to). */
  readonly from?: Millis | undefined
  readonly to?: Millis | undefined
  /** Only rows with one of these labels: the level of a log, the section of a shadow's change. */
  readonly labels?: readonly string[] | undefined
}

export interface HistoryQuery extends HistoryFilter {
  /** Only what is older than this: the last row of the page before. */
  readonly before?: HistoryPlace | undefined
  readonly limit: number
  /** Rows to skip; far slower than `before` when there are many. */
  readonly offset?: number | undefined
}

/** A row's place among the rows of all devices: they are ordered by time, version, kind, then device. */
export type FleetPlace = Pick<HistoryKey, 'at' | 'version' | 'kind' | 'deviceId'>

/** Rows of many devices. */
export interface FleetHistoryQuery extends Omit<HistoryFilter, 'deviceId'> {
  /** Undefined means all devices. */
  readonly deviceIds?: readonly DeviceId[] | undefined
  /** Only log lines whose message or logger contains this text, in any letter case. */
  readonly find?: string | undefined
  /** Only what is older than this. */
  readonly before?: FleetPlace | undefined
  readonly limit: number
}

/** What the history says of a command: the status may be an earlier one than that of the device's record. */
export interface PastCommand extends CommandPlace {
  readonly status: CommandStatus
}

export interface PastCommandsQuery extends CommandFilter {
  /** Undefined means all devices. */
  readonly deviceIds?: readonly DeviceId[] | undefined
}

/** Alerts that are resolved, by what they were at their end. Groups are those that they had then. */
export interface PastAlertsQuery extends Omit<AlertsQuery, 'states' | 'alertId'> {
  /** It is told how many of these are stored and fit. */
  readonly known: readonly string[]
}

export interface PastAlerts {
  /** All that fit, however many are given. */
  readonly total: number
  readonly known: number
  /** The first ones as REST shows them, but for their links and comments. */
  readonly alerts: readonly JsonObject[]
}

export interface History {
  pastAlerts(query: PastAlertsQuery): Promise<PastAlerts>
  /** The newest moves of an alert, newest first. */
  alertMoves(deviceId: DeviceId, alertId: AlertId): Promise<readonly HistoryRow[]>
  /** Rows of many devices, newest first, each once. */
  fleetHistory(query: FleetHistoryQuery): Promise<readonly HistoryRow[]>
  /** Commands of many devices, newest first, each once. */
  pastCommands(query: PastCommandsQuery): Promise<readonly PastCommand[]>
  /** All rows of these commands, newest first. */
  commandSteps(commands: readonly CommandPlace[]): Promise<readonly HistoryRow[]>
  /** Newest first, each row once however often it was inserted. */
  history(query: HistoryQuery): Promise<readonly HistoryRow[]>
  countHistory(filter: HistoryFilter): Promise<number>
}
