// Telemetry in ClickHouse, whoever answers for it: a server, or chdb behind the same interface.
//
// C1. Every insert is one block and carries its token: sent again, ClickHouse drops it; and if it forgot the token,
//     reads take one value per point all the same (R11).
// C2. What matters is said in each request (no asynchronous inserts, deduplication): servers' defaults differ.
import type { Readable } from 'node:stream'
import type { DeviceId, Micros, Millis } from '../../../../schemas/ids.ts'
import { Micros as toMicros } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { AuditFilter, AuditQuery, AuditRow } from '../../../ports/audit.ts'
import { Fault } from '../../../ports/fault.ts'
import type { HistoryFilter, HistoryQuery, HistoryRow } from '../../../ports/history.ts'
import type {
  Block,
  Export,
  Point,
  PointsQuery,
  Series,
  SeriesQuery,
  Telemetry,
} from '../../../ports/telemetry.ts'
import { countAudit, readAudit } from './audit.ts'
import { ClickHouseError, ClickHouseHttp, type Endpoint, type Statement } from './clickhouse-http.ts'
import { toExport } from './export.ts'
import { countHistory, readHistory } from './history.ts'
import { plan } from './plan.ts'
import { pageStatement, readPoints } from './points.ts'
import { type LateHour, Rollups } from './rollups.ts'
import { keepFor, migrate } from './schema.ts'
import { readSeries, toStatement } from './series.ts'

export interface ClickHouseOptions {
  /** Asked before every request: it may move. */
  readonly endpoint: () => Endpoint
  /** The name of several servers with the same tables; one server by default. */
  readonly cluster?: string | undefined
  /** Other processes settle too: the horizon is looked up again when it is older than this. */
  readonly horizonAgeMsMax?: number | undefined
  /** Raw telemetry older than this goes; undefined keeps it for ever. */
  readonly retentionDays?: number | undefined
  /** The same of the audit. */
  readonly auditRetentionDays?: number | undefined
  readonly insertTimeoutMs?: number
  readonly queryTimeoutMs?: number
  /** What else has to be well for it to be up. */
  readonly isUp?: () => boolean
  /** After the last request. */
  readonly release?: () => Promise<void>
}

const INSERT_SETTINGS = {
  async_insert: 0,
  insert_deduplicate: 1,
  // Sorting out what is doubled within a block costs half as much again, and reads do it anyway.
  optimize_on_insert: 0,
  // One block in, one part out: all of it or nothing.
  max_insert_block_size: 1_048_576,
  min_insert_block_size_rows: 1_048_576,
  min_insert_block_size_bytes: 268_435_456,
}

/** A majority of two is both: with one of them down nothing could be stored. There the log's retention has to do. */
const QUORUM_REPLICAS_MIN = 3
const QUORUM_SETTINGS = {
  insert_quorum: 'auto',
  insert_quorum_timeout: LIMITS.telemetryInsertTimeoutMs - 5_000,
}

async function countReplicas(http: ClickHouseHttp, cluster: string): Promise<number> {
  const rows = await http.run({
    sql: 'SELECT count() FROM system.clusters WHERE cluster = {cluster:String} AND shard_num = 1 FORMAT TSV',
    params: { cluster },
    timeoutMs: LIMITS.telemetryQueryTimeoutMs,
  })
  return Number(rows.toString())
}

/** As `domain/telemetry/native-writer.ts` writes it: a row per message, its points in lists. */
function insertSql(kind: 'points' | 'texts'): string {
  const value = kind === 'points' ? 'Float64' : 'String'
  const columns = `device_id LowCardinality(String), ts DateTime64(6, \\'UTC\\'), received DateTime(\\'UTC\\'), version UInt64, metric Array(LowCardinality(String)), value Array(${value})`
  return `INSERT INTO ${kind} (device_id, metric, ts, value, version, received)
    SELECT device_id, m, ts, v, version, received FROM input('${columns}')
    ARRAY JOIN metric AS m, value AS v FORMAT Native`
}

/** As `domain/history/columns.ts` writes it. */
const HISTORY_INPUT = `input('device_id LowCardinality(String), kind LowCardinality(String), at DateTime64(6, \\'UTC\\'), version UInt64, received DateTime(\\'UTC\\'), body String') FORMAT Native`
const INSERT_HISTORY = `INSERT INTO history (device_id, kind, at, version, received, body)
  SELECT device_id, kind, at, version, received, body FROM ${HISTORY_INPUT}`
const INSERT_AUDIT = `INSERT INTO audit (device_id, at, version, body)
  SELECT device_id, at, version, body FROM ${HISTORY_INPUT}`

const INSERT_SQL: Readonly<Record<Block['kind'], string>> = {
  points: insertSql('points'),
  texts: insertSql('texts'),
  history: INSERT_HISTORY,
  audit: INSERT_AUDIT,
}

/** The bytes are at fault: they would be refused again. Everything else may pass. */
const REFUSED_CODES: ReadonlySet<number> = new Set([
  6, 8, 9, 10, 12, 20, 26, 27, 32, 33, 36, 44, 50, 53, 62, 69, 70, 117, 128, 131, 190, 349, 396,
])
const DAY_SEC = 86_400

export class ClickHouseTelemetry implements Telemetry {
  readonly #options: ClickHouseOptions
  readonly #http: ClickHouseHttp
  readonly #rollups: Rollups
  readonly #insertSettings: Readonly<Record<string, string | number>>
  #isAnswering = true
  #isAsking = false

  private constructor(
    options: ClickHouseOptions,
    parts: { readonly http: ClickHouseHttp; readonly rollups: Rollups; readonly isQuorum: boolean },
  ) {
    this.#options = options
    this.#http = parts.http
    this.#rollups = parts.rollups
    this.#insertSettings = parts.isQuorum ? { ...INSERT_SETTINGS, ...QUORUM_SETTINGS } : INSERT_SETTINGS
  }

  /** Brings the tables up to date first. */
  static async open(options: ClickHouseOptions): Promise<ClickHouseTelemetry> {
    const { endpoint, cluster, horizonAgeMsMax } = options
    const http = new ClickHouseHttp(endpoint)
    try {
      await migrate(http, cluster)
      await keepFor(http, { points: options.retentionDays, audit: options.auditRetentionDays })
      const isQuorum = cluster !== undefined && (await countReplicas(http, cluster)) >= QUORUM_REPLICAS_MIN
      const rollups = await Rollups.open(http, horizonAgeMsMax)
      return new ClickHouseTelemetry(options, { http, rollups, isQuorum })
    } catch (cause) {
      http.close()
      throw toOpenFault(cause)
    }
  }

  async insert({ kind, bytes, token }: Block): Promise<void> {
    // No bytes at all would be taken, as no rows.
    if (bytes.length === 0 || bytes.length > LIMITS.telemetryBodyBytesMax) {
      throw new Fault('TELEMETRY_REFUSED', { retryable: false, message: `a block of ${bytes.length} bytes` })
    }
    await this.#run({
      sql: INSERT_SQL[kind],
      body: bytes,
      settings: { ...this.#insertSettings, insert_deduplication_token: token },
      timeoutMs: this.#options.insertTimeoutMs ?? LIMITS.telemetryInsertTimeoutMs,
    })
  }

  async series(query: SeriesQuery): Promise<readonly Series[]> {
    const statement = toStatement(query, plan(query, this.horizon()))
    return statement === undefined ? [] : readSeries(await this.#query(statement), query)
  }

  async points(query: PointsQuery): Promise<readonly Point[]> {
    return readPoints(await this.#query(pageStatement(query)))
  }

  async export(what: Export): Promise<Readable> {
    const { head, statement } = toExport(what, this.horizon())
    const file = await this.#guard(() => this.#http.stream(statement).catch(refuseTooMuch))
    if (head !== '') file.unshift(Buffer.from(head))
    return file
  }

  horizon(): Millis {
    return this.#rollups.horizon()
  }

  async settle(upTo: Millis, late: readonly LateHour[]): Promise<void> {
    const { retentionDays } = this.#options
    // Raw that is gone cannot be computed again: what was computed while it was there stays.
    const oldest = retentionDays === undefined ? 0 : upTo / 1000 - retentionDays * DAY_SEC
    await this.#guard(() =>
      this.#rollups.settle(
        upTo,
        late.filter(({ hour }) => hour >= oldest),
      ),
    )
  }

  resettle(from: Millis, to: Millis): Promise<void> {
    return this.#guard(() => this.#rollups.resettle(from, to))
  }

  async countPoints(deviceId?: DeviceId): Promise<number> {
    const whose = deviceId === undefined ? '' : 'WHERE device_id = {device:String}'
    const rows = await this.#run({
      sql: `SELECT count() FROM points FINAL ${whose} FORMAT TSV`,
      params: { device: deviceId ?? '' },
      settings: { do_not_merge_across_partitions_select_final: 0 },
      timeoutMs: LIMITS.telemetrySettleTimeoutMs,
    })
    return Number(rows.toString())
  }

  /** To the second: finer times of receipt are not kept. */
  async newest(deviceId: DeviceId): Promise<Micros | undefined> {
    const newest = (table: string) =>
      `SELECT max(toUnixTimestamp(received)) AS at FROM ${table} WHERE device_id = {device:String}`
    const rows = await this.#query({
      sql: `SELECT max(at) FROM (${newest('points')} UNION ALL ${newest('texts')}) FORMAT TSV`,
      params: { device: deviceId },
      timeoutMs: LIMITS.telemetryQueryTimeoutMs,
    })
    const seconds = Number(rows.toString())
    return seconds === 0 ? undefined : toMicros(seconds * 1_000_000)
  }

  history(query: HistoryQuery): Promise<readonly HistoryRow[]> {
    return readHistory(query, (statement) => this.#query(statement))
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

  isUp(): boolean {
    if (!this.#isAnswering) this.#askAgain()
    return this.#isAnswering && (this.#options.isUp?.() ?? true)
  }

  async close(): Promise<void> {
    this.#http.close()
    await this.#options.release?.()
  }

  /** Without it, a service without traffic would not notice that all is well again. */
  #askAgain(): void {
    if (this.#isAsking) return
    this.#isAsking = true
    const done = () => {
      this.#isAsking = false
    }
    this.#query({ sql: 'SELECT 1', timeoutMs: LIMITS.telemetryQueryTimeoutMs }).then(done, done)
  }

  /** Nobody waits for the answer after the timeout, so the server need not go on either. */
  #query(statement: Statement): Promise<Buffer> {
    const timeoutMs = this.#options.queryTimeoutMs ?? statement.timeoutMs
    const settings = { ...statement.settings, max_execution_time: Math.ceil(timeoutMs / 1000) }
    return this.#guard(() => this.#http.run({ ...statement, settings, timeoutMs }).catch(refuseTooMuch))
  }

  #run(statement: Statement): Promise<Buffer> {
    return this.#guard(() => this.#http.run(statement))
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work()
      this.#isAnswering = true
      return result
    } catch (cause) {
      const fault = toFault(cause)
      this.#isAnswering = !fault.retryable || isBusy(cause)
      throw fault
    }
  }
}

/** ClickHouse has as much to do as it takes: it is well. */
const isBusy = (cause: unknown) => cause instanceof ClickHouseError && cause.code === 202

/** A question for more rows than may be read, or than fit into the memory of one: ClickHouse is well. */
function refuseTooMuch(cause: unknown): never {
  const isTooMuch =
    cause instanceof ClickHouseError &&
    (cause.code === 158 || (cause.code === 241 && cause.message.includes('Query memory limit')))
  if (!isTooMuch) throw cause
  throw new Fault('TELEMETRY_TOO_MUCH', { retryable: false, message: cause.message, cause })
}

/** No such user, a wrong password, or a right that is missing: only the operator can help. */
const FORBIDDEN_CODES: ReadonlySet<number> = new Set([194, 497, 516])

function toOpenFault(cause: unknown): Fault {
  if (!(cause instanceof ClickHouseError) || !FORBIDDEN_CODES.has(cause.code)) return toFault(cause)
  const message = `ClickHouse does not let this user do what it has to: ${cause.message}`
  return new Fault('TELEMETRY_FORBIDDEN', { retryable: false, message, cause })
}

function toFault(cause: unknown): Fault {
  if (cause instanceof Fault) return cause
  const message = cause instanceof Error ? cause.message : String(cause)
  const isRefused = cause instanceof ClickHouseError && REFUSED_CODES.has(cause.code)
  return isRefused
    ? new Fault('TELEMETRY_REFUSED', { retryable: false, message, cause })
    : new Fault('TELEMETRY_UNAVAILABLE', { retryable: true, message, cause })
}
