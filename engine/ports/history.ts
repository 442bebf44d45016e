// The stored history: what happened to each device, newest first.
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

/** A row's position among the rows of its device, which are ordered by time, then version, then kind. */
export type HistoryPlace = Pick<HistoryKey, 'at' | 'version'> & {
  /** If left out, the position is before all rows of this time and version, that is, older than them. */
  readonly kind?: HistoryKind | undefined
}

export interface HistoryFilter {
  readonly deviceId: DeviceId
  readonly kinds: readonly HistoryKind[]
  /** [from, to). */
  readonly from?: Millis | undefined
  readonly to?: Millis | undefined
  /** Only rows with one of these labels. A label is the level of a log line, or the section of a shadow change. */
  readonly labels?: readonly string[] | undefined
}

export interface HistoryQuery extends HistoryFilter {
  /** Only rows older than this one: the last row of the previous page. */
  readonly before?: HistoryPlace | undefined
  readonly limit: number
  /** Rows to skip; far slower than `before` when there are many. */
  readonly offset?: number | undefined
}

/** A row's position among the rows of all devices, which are ordered by time, version, kind, then device. */
export type FleetPlace = Pick<HistoryKey, 'at' | 'version' | 'kind' | 'deviceId'>

/** Rows of many devices. */
export interface FleetHistoryQuery extends Omit<HistoryFilter, 'deviceId'> {
  /** Undefined means all devices. */
  readonly deviceIds?: readonly DeviceId[] | undefined
  /** Only log lines whose message or logger contains this text, in any letter case. */
  readonly find?: string | undefined
  /** Only rows older than this one. */
  readonly before?: FleetPlace | undefined
  readonly limit: number
}

/** A command as the history knows it. Its status may lag behind that of the device's record. */
export interface PastCommand extends CommandPlace {
  readonly status: CommandStatus
}

export interface PastCommandsQuery extends CommandFilter {
  /** Undefined means all devices. */
  readonly deviceIds?: readonly DeviceId[] | undefined
}

/** Resolved alerts, selected by their last values: groups are those at the time of resolution. */
export interface PastAlertsQuery extends Omit<AlertsQuery, 'states' | 'alertId'> {
  /** The devices that the caller may see now. `within` then limits only alerts about the fleet. Undefined means that they are
   *  too many to name. */
  readonly deviceIds?: readonly DeviceId[] | undefined
  /** Alert ids that the caller already has. The answer counts how many of them are stored and match. */
  readonly known: readonly string[]
}

export interface PastAlerts {
  /** The number of all matching alerts, however many are returned. */
  readonly total: number
  readonly known: number
  /** The first matching alerts as REST shows them, except for their links and comments. */
  readonly alerts: readonly JsonObject[]
}

export interface History {
  pastAlerts(query: PastAlertsQuery): Promise<PastAlerts>
  /** The newest changes of an alert, newest first. */
  alertMoves(deviceId: DeviceId, alertId: AlertId): Promise<readonly HistoryRow[]>
  /** Rows of many devices, newest first, each once. */
  fleetHistory(query: FleetHistoryQuery): Promise<readonly HistoryRow[]>
  /** Commands of many devices, newest first, each once. */
  pastCommands(query: PastCommandsQuery): Promise<readonly PastCommand[]>
  /** The steps of these commands, newest first: of each status and conflict the first row, and the last row of all. */
  commandSteps(commands: readonly CommandPlace[]): Promise<readonly HistoryRow[]>
  /** Newest first, each row once however often it was inserted. */
  history(query: HistoryQuery): Promise<readonly HistoryRow[]>
  countHistory(filter: HistoryFilter): Promise<number>
}
