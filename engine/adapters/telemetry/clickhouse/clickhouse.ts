// Telemetry in ClickHouse: a server, or chdb behind the same interface.
//
// Every insert is one block. A block that is sent again may be stored twice until parts are merged; reads take one value
// per point (R11).
import type { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { type AlertId, type DeviceId, Millis } from '../../../../schemas/ids.ts'
import type { FleetMoment } from '../../../domain/fleet/census.ts'
import { endOf, type LateHour } from '../../../domain/telemetry/late-hours.ts'
import { LIMITS } from '../../../limits.ts'
import type { AuditFilter, AuditQuery, AuditRow } from '../../../ports/audit.ts'
import { Fault } from '../../../ports/fault.ts'
import type {
  CommandPlace,
  FleetHistoryQuery,
  HistoryFilter,
  HistoryQuery,
  HistoryRow,
  PastAlerts,
  PastAlertsQuery,
  PastCommand,
  PastCommandsQuery,
} from '../../../ports/history.ts'
import type {
  Block,
  Export,
  Point,
  PointsQuery,
  Series,
  SeriesQuery,
  Telemetry,
  TrendQuery,
} from '../../../ports/telemetry.ts'
import { countAudit, readAudit } from './audit.ts'
import { readTrend } from './census.ts'
import { ClickHouseLink, type Endpoint, type Statement } from './clickhouse-link.ts'
import { toExport } from './export.ts'
import { isBusy, refuseTooMuch, toFault, toOpenFault } from './faults.ts'
import { readFleetHistory } from './fleet-history.ts'
import { forgetDevices } from './forget.ts'
import { countHistory, readHistory } from './history.ts'
import { INSERT_SETTINGS, INSERT_SQL, type InsertSettings, quorumSettings } from './inserts.ts'
import { readAlertMoves, readPastAlerts } from './past-alerts.ts'
import { readCommandSteps, readPastCommands } from './past-commands.ts'
import { plan } from './plan.ts'
import { pageStatement, readPoints } from './points.ts'
import { deleteOldAlerts, withinRetention } from './retention.ts'
import { Rollups } from './rollups.ts'
import { migrate, setRetention } from './schema.ts'
import { readSeries, toStatement } from './series.ts'

export interface ClickHouseServer {
  /** The URL may change between calls. */
  endpoint(): Endpoint
  isUp(): boolean
  close(): Promise<void>
}

export interface ClickHouseOptions {
  /** Called until it succeeds once. */
  readonly openServer: () => Promise<ClickHouseServer>
  /** The name of the cluster, if several servers hold the same tables. */
  readonly cluster?: string | undefined
  /** Other processes settle too, so the horizon is looked up again when it is older than this. */
  readonly horizonAgeMsMax?: number | undefined
  /** Undefined keeps raw telemetry for ever. */
  readonly retentionDays?: number | undefined
  /** Undefined keeps the audit for ever. */
  readonly auditRetentionDays?: number | undefined
  /** Undefined keeps the history of alerts for ever. */
  readonly alertRetentionDays?: number | undefined
  readonly insertTimeoutMs?: number
  readonly queryTimeoutMs?: number
}

interface OpenTables {
  readonly link: ClickHouseLink
  readonly rollups: Rollups
  readonly insertSettings: InsertSettings
}

const DAY_SEC = 86_400
const HOUR_SEC = 3_600

export class ClickHouseTelemetry implements Telemetry {
  readonly #options: ClickHouseOptions
  readonly #closing = new AbortController()
  #server: ClickHouseServer | undefined
  #opened: OpenTables | undefined
  #beginning: Promise<void> | undefined
  #isAnswering = true
  #isProbing = false
  #alertsDeletedAt = 0

  constructor(options: ClickHouseOptions) {
    this.#options = options
  }

  /**
   * Opens the server and brings its tables up to date, and retries until both succeed; `failed` is called for every
   * failure. Until then all questions are refused and rows wait in the log. Resolves once ClickHouse answers, or after
   * `close`. Rejects with a `Fault` that only the operator can remedy.
   */
  begin(failed: (fault: Fault) => void): Promise<void> {
    this.#beginning ??= this.#begin(failed)
    return this.#beginning
  }

  async insert({ kind, bytes }: Block): Promise<void> {
    // ClickHouse would accept an empty body and insert no rows.
    if (bytes.length === 0 || bytes.length > LIMITS.telemetryBodyBytesMax) {
      throw new Fault('TELEMETRY_REFUSED', { retryable: false, message: `a block of ${bytes.length} bytes` })
    }
    await this.#guard(({ link, insertSettings: settings }) => {
      const timeoutMs = this.#options.insertTimeoutMs ?? LIMITS.telemetryInsertTimeoutMs
      return link.insert({ sql: INSERT_SQL[kind], settings, timeoutMs }, bytes)
    })
  }

  async series(query: SeriesQuery): Promise<readonly Series[]> {
    const statement = toStatement(query, plan(query, this.horizon()))
    return statement === undefined ? [] : await readSeries(await this.#query(statement), query)
  }

  async points(query: PointsQuery): Promise<readonly Point[]> {
    return readPoints(await this.#query(pageStatement(query)))
  }

  async export(what: Export): Promise<Readable> {
    const { head, statement } = toExport(what, this.horizon())
    const settings = { ...statement.settings, ...this.#retention() }
    const file = await this.#read(({ link }) => link.stream({ ...statement, settings }).catch(refuseTooMuch))
    if (head !== '') file.unshift(Buffer.from(head))
    return file
  }

  horizon(): Millis {
    return this.#opened?.rollups.horizon() ?? Millis(0)
  }

  settle(upTo: Millis, late: readonly LateHour[]): Promise<void> {
    const { retentionDays } = this.#options
    // Expired raw points cannot be computed again. What was computed from them stays.
    const oldest = retentionDays === undefined ? 0 : upTo / 1000 - retentionDays * DAY_SEC
    const kept = late
      .filter((mark) => mark.hour >= oldest || endOf(mark) > oldest + HOUR_SEC)
      .map((mark) => ({ ...mark, hour: Math.max(mark.hour, Math.ceil(oldest / HOUR_SEC) * HOUR_SEC) }))
    return this.#guard(async ({ rollups, link }) => {
      await rollups.settle(upTo, kept)
      await this.#deleteOldAlerts(link)
    })
  }

  resettle(from: Millis, to: Millis): Promise<void> {
    return this.#guard(({ rollups }) => rollups.resettle(from, to))
  }

  async forget(deviceIds: readonly DeviceId[]): Promise<void> {
    if (deviceIds.length > 0) await this.#guard(({ link }) => forgetDevices(link, deviceIds))
  }

  async countPoints(deviceId?: DeviceId): Promise<number> {
    const where = deviceId === undefined ? '' : 'WHERE device_id = {device:String}'
    const count = await this.#guard(({ link }) =>
      link.query({
        sql: `SELECT count() FROM points FINAL ${where} FORMAT TSV`,
        params: { device: deviceId ?? '' },
        settings: { do_not_merge_across_partitions_select_final: 0 },
        timeoutMs: LIMITS.telemetrySettleTimeoutMs,
      }),
    )
    return Number(count)
  }

  history(query: HistoryQuery): Promise<readonly HistoryRow[]> {
    return readHistory(query, (statement) => this.#query(statement))
  }

  fleetHistory(query: FleetHistoryQuery): Promise<readonly HistoryRow[]> {
    return readFleetHistory(query, Date.now(), (statement) => this.#query(statement))
  }

  pastCommands(query: PastCommandsQuery): Promise<readonly PastCommand[]> {
    return readPastCommands(query, Date.now(), (statement) => this.#query(statement))
  }

  pastAlerts(query: PastAlertsQuery): Promise<PastAlerts> {
    return readPastAlerts(query, (statement) => this.#query(statement))
  }

  alertMoves(deviceId: DeviceId, alertId: AlertId): Promise<readonly HistoryRow[]> {
    return readAlertMoves(deviceId, alertId, (statement) => this.#query(statement))
  }

  commandSteps(commands: readonly CommandPlace[]): Promise<readonly HistoryRow[]> {
    return readCommandSteps(commands, (statement) => this.#query(statement))
  }

  countHistory(filter: HistoryFilter): Promise<number> {
    return countHistory(filter, (statement) => this.#query(statement))
  }

  countAudit(filter: AuditFilter): Promise<number> {
    return countAudit(filter, (statement) => this.#query(statement))
  }

  audit(query: AuditQuery): Promise<readonly AuditRow[]> {
    return readAudit(query, (statement) => this.#query(statement))
  }

  trend(query: TrendQuery): Promise<readonly FleetMoment[]> {
    return readTrend(query, (statement) => this.#query(statement))
  }

  isUp(): boolean {
    if (this.#opened === undefined) return false
    if (!this.#isAnswering) this.#probe()
    return this.#isAnswering && this.#server?.isUp() === true
  }

  async close(): Promise<void> {
    this.#closing.abort()
    // The caller of `begin` has been told why it failed.
    await this.#beginning?.catch(() => undefined)
    await this.#opened?.link.close()
    await this.#server?.close()
  }

  async #begin(failed: (fault: Fault) => void): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        this.#opened = await this.#open()
        return
      } catch (cause) {
        const fault = toOpenFault(cause)
        if (!fault.retryable) throw fault
        failed(fault)
        await wait(LIMITS.telemetryStartRetryMs, undefined, { signal }).catch(() => undefined)
      }
    }
  }

  async #open(): Promise<OpenTables> {
    const { openServer, cluster, retentionDays, auditRetentionDays, horizonAgeMsMax } = this.#options
    this.#server ??= await openServer()
    const server = this.#server
    const link = new ClickHouseLink(() => server.endpoint())
    try {
      await migrate(link, cluster)
      await setRetention(link, { points: retentionDays, audit: auditRetentionDays })
      const quorum = await quorumSettings(link, cluster)
      const rollups = await Rollups.open(link, horizonAgeMsMax, quorum)
      return { link, rollups, insertSettings: { ...INSERT_SETTINGS, ...quorum } }
    } catch (cause) {
      await link.close()
      throw cause
    }
  }

  /** Probes ClickHouse, since a service without traffic would otherwise not notice that it answers again. */
  #probe(): void {
    if (this.#isProbing) return
    this.#isProbing = true
    const done = () => {
      this.#isProbing = false
    }
    this.#query({ sql: 'SELECT 1', timeoutMs: LIMITS.telemetryQueryTimeoutMs }).then(done, done)
  }

  /** Nobody waits for the result after the timeout, so the server stops then, too. */
  #query(statement: Statement): Promise<Buffer> {
    const timeoutMs = this.#options.queryTimeoutMs ?? statement.timeoutMs
    const settings = {
      ...statement.settings,
      ...this.#retention(),
      max_execution_time: Math.ceil(timeoutMs / 1000),
    }
    return this.#read(({ link }) => link.query({ ...statement, settings, timeoutMs }).catch(refuseTooMuch))
  }

  #retention() {
    const { retentionDays, auditRetentionDays, alertRetentionDays } = this.#options
    const days = { points: retentionDays, audit: auditRetentionDays, alerts: alertRetentionDays }
    return withinRetention(days, Date.now())
  }

  /** Only one process settles at a time, so only one deletes. */
  async #deleteOldAlerts(link: ClickHouseLink): Promise<void> {
    const { alertRetentionDays } = this.#options
    const now = Date.now()
    if (alertRetentionDays === undefined || now < this.#alertsDeletedAt + DAY_SEC * 1_000) return
    await deleteOldAlerts(link, alertRetentionDays, now)
    this.#alertsDeletedAt = now
  }

  /** Gives up once the server is known not to answer: a caller must not wait for a frozen database. */
  #read<T>(work: (opened: OpenTables) => Promise<T>): Promise<T> {
    return this.#guard((opened) =>
      whileUp(
        () => this.#server?.isUp() === true,
        () => work(opened),
      ),
    )
  }

  async #guard<T>(work: (opened: OpenTables) => Promise<T>): Promise<T> {
    if (this.#opened === undefined)
      throw new Fault('TELEMETRY_UNAVAILABLE', { retryable: true, message: 'ClickHouse is starting' })
    try {
      const result = await work(this.#opened)
      this.#isAnswering = true
      return result
    } catch (cause) {
      const fault = toFault(cause)
      this.#isAnswering = !fault.retryable || isBusy(cause)
      throw fault
    }
  }
}

function whileUp<T>(isUp: () => boolean, work: () => Promise<T>): Promise<T> {
  if (!isUp()) return Promise.reject(new Error('ClickHouse does not answer'))
  return new Promise((resolve, reject) => {
    const look = setInterval(() => {
      if (isUp()) return
      clearInterval(look)
      reject(new Error('ClickHouse has stopped answering'))
    }, LIMITS.telemetryLookEveryMs)
    void work()
      .then(resolve, reject)
      .finally(() => clearInterval(look))
  })
}
