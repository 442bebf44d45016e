// How blocks are inserted. Each request sets everything that matters, because the defaults of servers differ.
import { LIMITS } from '../../../limits.ts'
import type { Block } from '../../../ports/telemetry.ts'
import type { ClickHouseLink, Statement } from './clickhouse-link.ts'

export type InsertSettings = NonNullable<Statement['settings']>

export const INSERT_SETTINGS: InsertSettings = {
  async_insert: 0,
  // ClickHouse records that it has seen a block right before it renames the block's part. If it dies in between, it
  // would drop the block when it is sent again, and the rows would be lost.
  insert_deduplicate: 0,
  // Removing duplicates within a block adds half of its cost, and reads remove them anyway.
  optimize_on_insert: 0,
  // A block becomes one part, so that either all of it is stored or nothing.
  max_insert_block_size: 1_048_576,
  min_insert_block_size_rows: 1_048_576,
  min_insert_block_size_bytes: 268_435_456,
}

/** A majority of two replicas is both of them, so one that is down would stop all inserts. With fewer than three, the
 *  log's retention has to cover a loss. */
const QUORUM_REPLICAS_MIN = 3
const QUORUM_SETTINGS = {
  insert_quorum: 'auto',
  insert_quorum_timeout: LIMITS.telemetryInsertTimeoutMs - 5_000,
}

/** Settings of every insert, rollups included, that say how many replicas must have its rows before it is answered. */
export async function quorumSettings(link: ClickHouseLink, cluster?: string): Promise<InsertSettings> {
  if (cluster === undefined) return {}
  const replicas = await link.query({
    sql: 'SELECT count() FROM system.clusters WHERE cluster = {cluster:String} AND shard_num = 1 FORMAT TSV',
    params: { cluster },
    timeoutMs: LIMITS.telemetryQueryTimeoutMs,
  })
  return Number(replicas) < QUORUM_REPLICAS_MIN ? {} : QUORUM_SETTINGS
}

/** Reads what `domain/telemetry/native-writer.ts` writes: a row per message, with its points in arrays. */
function pointsSql(table: 'points' | 'texts', valueType: 'Float64' | 'String'): string {
  const columns = `device_id LowCardinality(String), ts DateTime64(6, \\'UTC\\'), received DateTime(\\'UTC\\'), version UInt64, metric Array(LowCardinality(String)), value Array(${valueType})`
  return `INSERT INTO ${table} (device_id, metric, ts, value, version, received)
    SELECT device_id, m, ts, v, version, received FROM input('${columns}')
    ARRAY JOIN metric AS m, value AS v FORMAT Native`
}

/** Reads what `domain/history/columns.ts` writes. */
const HISTORY_INPUT = `input('device_id LowCardinality(String), kind LowCardinality(String), at DateTime64(6, \\'UTC\\'), version UInt64, received DateTime(\\'UTC\\'), body String') FORMAT Native`

export const INSERT_SQL: Readonly<Record<Block['kind'], string>> = {
  points: pointsSql('points', 'Float64'),
  texts: pointsSql('texts', 'String'),
  history: `INSERT INTO history (device_id, kind, at, version, received, body)
  SELECT device_id, kind, at, version, received, body FROM ${HISTORY_INPUT}`,
  census: `INSERT INTO fleet_counts (at, group_path, status, devices)
  SELECT received, device_id, kind, version FROM ${HISTORY_INPUT}`,
  devices: `INSERT INTO devices (device_id, version, name, type, group_path, tags, gone)
  SELECT device_id, version, JSONExtractString(body, 'name'), JSONExtractString(body, 'type'),
    JSONExtractString(body, 'group'), JSONExtract(body, 'tags', 'Array(String)'), JSONExtractUInt(body, 'gone')
  FROM ${HISTORY_INPUT}`,
  audit: `INSERT INTO audit (device_id, at, version, body)
  SELECT device_id, at, version, body FROM ${HISTORY_INPUT}`,
}
