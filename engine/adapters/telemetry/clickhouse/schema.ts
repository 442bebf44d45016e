// The tables and their migrations. A database is brought up to date step by step.
//
// points, texts   One row per point, as received. A point that is sent again is stored twice until parts are merged, so
//                 every read takes the value with the greatest version (R11).
// rollup_1m, _1h  One row per bucket and computation. The greatest `computed` counts.
// history         One row per event of a device. Inserting a row again changes nothing.
// audit           One row per entry. Columns for filters are extracted from its body.
// fleet_counts    Devices by group and status, counted once a minute.
// devices         One row per device: the greatest `version` counts. Decommissioned ones are `gone`.
// settlements     The begin and the end of each computation of rollups. The greatest finished horizon counts.

import { LIMITS } from '../../../limits.ts'
import { Fault } from '../../../ports/fault.ts'
import { type ClickHouseLink, errorCode } from './clickhouse-link.ts'

const TIMEOUT_MS = LIMITS.telemetryQueryTimeoutMs

/**
 * Partitions go by receive time, because a device may claim any time and a block may touch only a few partitions. Times
 * and versions are stored as differences, since they are sorted. Gorilla and FPC are larger and slower than ZSTD for
 * values of a sensor's precision. Merging twenty parts at a time writes a point about half as often as merging five.
 */
function points(name: string, valueType: string): string {
  return `CREATE TABLE IF NOT EXISTS ${name} (
    device_id LowCardinality(String),
    metric LowCardinality(String),
    ts DateTime64(6, 'UTC') CODEC(Delta(8), T64, ZSTD(1)),
    value ${valueType} CODEC(ZSTD(1)),
    version UInt64 CODEC(Delta(8), ZSTD(1)),
    received DateTime('UTC') CODEC(Delta(4), ZSTD(1))
  ) ENGINE = ReplacingMergeTree(version)
  PARTITION BY toYYYYMM(received)
  ORDER BY (device_id, metric, ts)
  SETTINGS merge_selector_base = 20, merge_max_block_size = 65536, ttl_only_drop_parts = 1`
}

function rollup(name: string): string {
  return `CREATE TABLE IF NOT EXISTS ${name} (
    device_id LowCardinality(String),
    metric LowCardinality(String),
    bucket DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    count UInt64 CODEC(T64, ZSTD(1)),
    sum Float64 CODEC(ZSTD(1)),
    min Float64 CODEC(ZSTD(1)),
    max Float64 CODEC(ZSTD(1)),
    last Float64 CODEC(ZSTD(1)),
    last_ts DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    computed UInt64 CODEC(Delta(8), ZSTD(1))
  ) ENGINE = ReplacingMergeTree(computed)
  PARTITION BY toYYYYMM(bucket)
  ORDER BY (device_id, metric, bucket)`
}

const SETTLEMENTS = `CREATE TABLE IF NOT EXISTS settlements (
    computed UInt64,
    horizon DateTime64(3, 'UTC'),
    finished UInt8
  ) ENGINE = MergeTree ORDER BY computed`

export const HISTORY_LOG_DAYS = 14

/**
 * Logs are partitioned by the week of their receipt. A part is dropped as a whole when its last row is 14 days old, so
 * nothing is rewritten for that. All other kinds are kept. Granules are small because queries read a page of large
 * rows.
 */
const HISTORY = `CREATE TABLE IF NOT EXISTS history (
    device_id LowCardinality(String),
    kind LowCardinality(String),
    at DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    version UInt64 CODEC(Delta(8), ZSTD(1)),
    received DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    body String CODEC(ZSTD(1)),
    label LowCardinality(String) MATERIALIZED
      multiIf(kind = 'log', JSONExtractString(body, 'level'), kind = 'shadow', JSONExtractString(body, 'section'), '')
  ) ENGINE = ReplacingMergeTree
  PARTITION BY if(kind = 'log', toYYYYMMDD(toMonday(received)), toYYYYMM(received))
  ORDER BY (device_id, kind, at, version)
  TTL received + toIntervalDay(${HISTORY_LOG_DAYS}) DELETE WHERE kind = 'log'
  SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1`

/** Ordered by time alone, because most queries want the newest entries. Retention drops whole months. */
const AUDIT = `CREATE TABLE IF NOT EXISTS audit (
    device_id String CODEC(ZSTD(1)),
    at DateTime64(6, 'UTC') CODEC(Delta(8), ZSTD(1)),
    version UInt64 CODEC(Delta(8), ZSTD(1)),
    body String CODEC(ZSTD(1)),
    actor_id String MATERIALIZED JSONExtractString(body, 'actor', 'id') CODEC(ZSTD(1)),
    actor_name String MATERIALIZED JSONExtractString(body, 'actor', 'name') CODEC(ZSTD(1)),
    action LowCardinality(String) MATERIALIZED JSONExtractString(body, 'action'),
    target String MATERIALIZED JSONExtractString(body, 'target') CODEC(ZSTD(1)),
    outcome LowCardinality(String) MATERIALIZED JSONExtractString(body, 'outcome'),
    ip String MATERIALIZED JSONExtractString(body, 'ip') CODEC(ZSTD(1))
  ) ENGINE = ReplacingMergeTree
  PARTITION BY toYYYYMM(at)
  ORDER BY (at, version)
  SETTINGS index_granularity = 1024, ttl_only_drop_parts = 1`

/** Indexes, because rows of all devices are searched by time, and commands by their outcome. Rows stored before have no
 *  index, and their columns are computed when they are read. */
const FLEET_HISTORY = [
  'ALTER TABLE history ADD INDEX IF NOT EXISTS at_range at TYPE minmax GRANULARITY 1',
  `ALTER TABLE history ADD COLUMN IF NOT EXISTS command_id String
    MATERIALIZED if(kind = 'command', JSONExtractString(body, 'command_id'), '') CODEC(ZSTD(1))`,
  `ALTER TABLE history ADD COLUMN IF NOT EXISTS command_status LowCardinality(String)
    MATERIALIZED if(kind = 'command', JSONExtractString(body, 'status'), '')`,
]

const FLEET_COUNT_DAYS = 90

/** A lost count leaves only a gap, so inserts do not wait for the disk. */
const FLEET_COUNTS = `CREATE TABLE IF NOT EXISTS fleet_counts (
    at DateTime('UTC') CODEC(Delta(4), ZSTD(1)),
    group_path LowCardinality(String),
    status LowCardinality(String),
    devices UInt32 CODEC(T64, ZSTD(1))
  ) ENGINE = ReplacingMergeTree
  PARTITION BY toYYYYMM(at)
  ORDER BY (at, group_path, status)
  TTL at + toIntervalDay(${FLEET_COUNT_DAYS})
  SETTINGS ttl_only_drop_parts = 1`

/** This table follows from the records and is rewritten from time to time, so inserts do not wait for the disk. */
const DEVICES = `CREATE TABLE IF NOT EXISTS devices (
    device_id String,
    version UInt64 CODEC(Delta(8), ZSTD(1)),
    name String CODEC(ZSTD(1)),
    type LowCardinality(String),
    group_path LowCardinality(String),
    tags Array(LowCardinality(String)),
    gone UInt8
  ) ENGINE = ReplacingMergeTree(version)
  ORDER BY device_id`

const STORED = ['points', 'texts', 'history', 'audit', 'rollup_1m', 'rollup_1h', 'settlements']

/** Once an insert is answered, positions and outbox are advanced and synced. So its part must be on disk by then,
 *  and a merged part must be on disk before the parts that it replaces are removed. */
function synced(table: string): string {
  return `ALTER TABLE ${table} MODIFY SETTING fsync_after_insert = 1, fsync_part_directory = 1,
    min_compressed_bytes_to_fsync_after_merge = 1`
}

/** Append only: a released migration never changes. The previous version must be able to work with the tables of the
 *  next one, because nodes are replaced one after another. */
const MIGRATIONS: readonly (readonly string[])[] = [
  [
    points('points', 'Float64'),
    points('texts', 'String'),
    rollup('rollup_1m'),
    rollup('rollup_1h'),
    SETTLEMENTS,
  ],
  [HISTORY],
  [AUDIT],
  STORED.map(synced),
  FLEET_HISTORY,
  [FLEET_COUNTS],
  [DEVICES],
]

const VERSIONS = 'CREATE TABLE IF NOT EXISTS migrations (version UInt32) ENGINE = MergeTree ORDER BY version'

/** The statements that make all tables of this version. With `cluster` the tables are replicated, which needs a
 *  Keeper. */
export function allTables(cluster?: string): readonly string[] {
  return [VERSIONS, ...MIGRATIONS.flat()].map((sql) => toLayout(sql, cluster))
}

function toLayout(sql: string, cluster: string | undefined): string {
  if (cluster === undefined) return sql
  const place = `'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'`
  return sql
    .replace(/^((?:CREATE TABLE IF NOT EXISTS|ALTER TABLE) \w+)/, `$1 ON CLUSTER '${cluster}'`)
    .replace(/ENGINE = (\w+)(?:\((\w+)\))?/, (_, engine: string, version?: string) => {
      return `ENGINE = Replicated${engine}(${version === undefined ? place : `${place}, ${version}`})`
    })
}

/** A replica that is down is not waited for. It creates its tables when it is back. */
const ON_CLUSTER = { distributed_ddl_task_timeout: 10, distributed_ddl_output_mode: 'null_status_on_timeout' }

/** Each step may be repeated, and several nodes may run it at once. */
export async function migrate(link: ClickHouseLink, cluster?: string): Promise<void> {
  const run = (sql: string) =>
    link.command({
      sql: toLayout(sql, cluster),
      settings: cluster === undefined ? {} : ON_CLUSTER,
      timeoutMs: TIMEOUT_MS,
    })
  const done = await versionOf(link)
  if (done > MIGRATIONS.length) {
    const known = `this version of Fleet knows them up to ${MIGRATIONS.length}`
    const message = `the tables in ClickHouse are of version ${done}, ${known}: start the version that made them, or a later one`
    throw new Fault('TELEMETRY_TOO_NEW', { retryable: false, message })
  }
  if (done === 0) await run(VERSIONS)
  for (const [index, statements] of MIGRATIONS.entries()) {
    if (index < done) continue
    for (const sql of statements) await run(sql)
    await run(`INSERT INTO migrations VALUES (${index + 1})`)
  }
}

const UNKNOWN_TABLE = 60

async function versionOf(link: ClickHouseLink): Promise<number> {
  try {
    const sql = 'SELECT max(version) FROM migrations FORMAT TSV'
    return Number(await link.query({ sql, timeoutMs: TIMEOUT_MS }))
  } catch (error) {
    if (errorCode(error) === UNKNOWN_TABLE) return 0
    throw error
  }
}

/** Sets the retention of raw telemetry and of the audit. Expired parts are dropped whole. Undefined keeps rows for
 *  ever. */
export async function setRetention(
  link: ClickHouseLink,
  days: { readonly points: number | undefined; readonly audit: number | undefined },
): Promise<void> {
  await setTtl(link, { table: 'points', column: 'received', days: days.points })
  await setTtl(link, { table: 'texts', column: 'received', days: days.points })
  await setTtl(link, { table: 'audit', column: 'toDateTime(at)', days: days.audit })
}

interface TableRetention {
  readonly table: string
  readonly column: string
  readonly days: number | undefined
}

async function setTtl(link: ClickHouseLink, { table, column, days }: TableRetention): Promise<void> {
  const alter = (change: string) =>
    link.command({ sql: `ALTER TABLE ${table} ${change}`, timeoutMs: TIMEOUT_MS })
  const sql = `SHOW CREATE TABLE ${table} FORMAT TSVRaw`
  const made = (await link.query({ sql, timeoutMs: TIMEOUT_MS })).toString()
  const ttl = days === undefined ? undefined : `TTL ${column} + toIntervalDay(${days})`
  if (ttl === undefined && /\sTTL\s/.test(made)) await alter('REMOVE TTL')
  if (ttl !== undefined && !made.includes(ttl)) {
    await alter(`MODIFY ${ttl} SETTINGS materialize_ttl_after_modify = 0`)
  }
}
