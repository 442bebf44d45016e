// Queries of the history. A row that was inserted twice is stored twice until parts are merged.
//
// A page is read kind by kind from the end of the table's order, which costs no more than the rows read. Duplicates are
// removed here, and if that leaves a page short, more is read. Counts and pages by number merge all rows of the device
// first (FINAL), which is slower.
import { Micros } from '../../../../schemas/ids.ts'
import { byAge, HISTORY_KINDS, type HistoryKind } from '../../../domain/history/row.ts'
import { LIMITS } from '../../../limits.ts'
import type { HistoryFilter, HistoryPlace, HistoryQuery, HistoryRow } from '../../../ports/history.ts'
import type { Statement } from './clickhouse-link.ts'
import { RowReader } from './row-reader.ts'

type Ask = (statement: Statement) => Promise<Buffer>
type Params = Record<string, string | number | readonly string[]>

/** Extra rows read with a page, to make up for rows that are stored twice. */
const SPARE = 16
const READ = `SELECT kind, toUnixTimestamp64Micro(at), version, body FROM history`

export async function readHistory(query: HistoryQuery, ask: Ask): Promise<readonly HistoryRow[]> {
  const { offset = 0 } = query
  if (query.kinds.length === 0 || query.limit <= 0) return []
  if (offset > 0) return readPage(query, offset, ask)
  const rows: HistoryRow[] = []
  for (let { before } = query; ; ) {
    const limit = query.limit - rows.length + SPARE
    const found = toRows(await ask(newest({ ...query, before }, limit)), query.deviceId)
    // A kind with a full result has more rows after its last one, so the page must end there.
    const ends = [...new Set(query.kinds)].flatMap((kind) => {
      const ofKind = found.filter((row) => row.kind === kind)
      return ofKind.length < limit ? [] : ofKind.slice(-1)
    })
    const [end] = ends.sort(byAge)
    rows.push(...distinct(found).filter((row) => end === undefined || byAge(row, end) <= 0))
    if (end === undefined || rows.length >= query.limit) return rows.slice(0, query.limit)
    before = end
  }
}

export async function countHistory(filter: HistoryFilter, ask: Ask): Promise<number> {
  if (filter.kinds.length === 0) return 0
  const params: Params = {}
  const where = conditions(filter, params)
  const rows = await ask({
    sql: `SELECT count() FROM history FINAL WHERE ${where} AND kind IN {kinds:Array(String)} FORMAT TSV`,
    params: { ...params, kinds: filter.kinds },
    timeoutMs: LIMITS.telemetryQueryTimeoutMs,
  })
  return Number(rows.toString())
}

/** The newest rows of each kind. Only the rows of one kind are in order. */
function newest(query: HistoryQuery, limit: number): Statement {
  const params: Params = { limit }
  const where = conditions(query, params)
  const kinds = HISTORY_KINDS.filter((kind) => query.kinds.includes(kind))
  const parts = kinds.map((kind, i) => {
    params[`k${i}`] = kind
    return `SELECT * FROM (${READ} WHERE ${where} AND kind = {k${i}:String}${olderThan(query.before, kind, params)}
      ORDER BY at DESC, version DESC LIMIT {limit:UInt32})`
  })
  return {
    sql: `SELECT * FROM (${parts.join(' UNION ALL ')}) FORMAT RowBinary`,
    params,
    settings: { max_threads: 1 },
    timeoutMs: LIMITS.telemetryQueryTimeoutMs,
  }
}

async function readPage(query: HistoryQuery, offset: number, ask: Ask): Promise<readonly HistoryRow[]> {
  const params: Params = { limit: query.limit, offset }
  const where = conditions(query, params)
  const kinds = HISTORY_KINDS.filter((kind) => query.kinds.includes(kind)).map((kind, i) => {
    params[`k${i}`] = kind
    return `(kind = {k${i}:String}${olderThan(query.before, kind, params)})`
  })
  const rows = await ask({
    sql: `${READ} FINAL WHERE ${where} AND (${kinds.join(' OR ')})
      ORDER BY at DESC, version DESC, kind DESC LIMIT {limit:UInt32} OFFSET {offset:UInt64} FORMAT RowBinary`,
    params,
    timeoutMs: LIMITS.telemetryQueryTimeoutMs,
  })
  return toRows(rows, query.deviceId)
}

const at = (name: string) => `fromUnixTimestamp64Micro({${name}:Int64}, 'UTC')`

/** Values from outside become parameters and never part of the statement. */
function conditions({ deviceId, from, to, labels }: HistoryFilter, params: Params): string {
  const parts = ['device_id = {device:String}']
  params['device'] = deviceId
  if (from !== undefined) {
    params['from'] = from * 1000
    parts.push(`at >= ${at('from')}`)
  }
  if (to !== undefined) {
    params['to'] = to * 1000
    parts.push(`at < ${at('to')}`)
  }
  if (labels !== undefined) {
    params['labels'] = labels
    parts.push('label IN {labels:Array(String)}')
  }
  return parts.join(' AND ')
}

function olderThan(before: HistoryPlace | undefined, kind: HistoryKind, params: Params): string {
  if (before === undefined) return ''
  params['at'] = before.at
  params['version'] = before.version
  const compare = before.kind !== undefined && kind < before.kind ? '<=' : '<'
  return ` AND at <= ${at('at')} AND (at < ${at('at')} OR version ${compare} {version:UInt64})`
}

function distinct(rows: readonly HistoryRow[]): readonly HistoryRow[] {
  return [...rows].sort(byAge).filter((row, i, all) => {
    const before = all[i - 1]
    return before === undefined || byAge(before, row) !== 0
  })
}

/** Reads rows of RowBinary with the columns kind, at Int64, version UInt64, body. */
function toRows(bytes: Buffer, deviceId: HistoryRow['deviceId']): HistoryRow[] {
  const rows: HistoryRow[] = []
  const reader = new RowReader(bytes)
  while (reader.hasMore())
    rows.push({
      deviceId,
      // The statement selects known kinds only.
      kind: reader.text() as HistoryKind,
      at: Micros(reader.int64()),
      version: reader.int64(),
      // Bodies are written as JSON objects.
      body: JSON.parse(reader.text()) as HistoryRow['body'],
    })
  return rows
}
