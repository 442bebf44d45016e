// Keeps reads within the retention. ClickHouse drops a part some time after its last row has expired:
// until then, expired rows are there and must not be read.
//
// Alerts share monthly parts with other rows, so no part ever holds only alerts: they are deleted a month at a time.
import { LIMITS } from '../../../limits.ts'
import type { ClickHouseLink } from './clickhouse-link.ts'
import { HISTORY_LOG_DAYS } from './schema.ts'

/** How long rows are kept. Undefined means for ever. */
export interface RetentionDays {
  readonly points: number | undefined
  readonly audit: number | undefined
  readonly alerts: number | undefined
}

const DAY_SEC = 86_400
/** Settings change in steps, because settings that stay the same are not sent to chdb with every statement. */
const STEP_SEC = 60

/** Settings of a statement that leave out expired rows. */
export function withinRetention({ points, audit, alerts }: RetentionDays, nowMs: number) {
  const oldest = (days: number) => {
    const seconds = Math.floor(nowMs / 1000 / STEP_SEC) * STEP_SEC - days * DAY_SEC
    return `toDateTime(${Math.max(0, seconds)})`
  }
  const logs = `(kind != \\'log\\' OR received >= ${oldest(HISTORY_LOG_DAYS)})`
  const ofAlerts = alerts === undefined ? '' : ` AND (kind != \\'alert\\' OR received >= ${oldest(alerts)})`
  const filters = {
    history: `${logs}${ofAlerts}`,
    ...(points === undefined
      ? {}
      : { points: `received >= ${oldest(points)}`, texts: `received >= ${oldest(points)}` }),
    ...(audit === undefined ? {} : { audit: `at >= ${oldest(audit)}` }),
  }
  const list = Object.entries(filters).map(([table, filter]) => `'${table}':'${filter}'`)
  return { additional_table_filters: `{${list.join(',')}}` }
}

/** Deletes the alerts of whole months that have expired. Checking costs little, and each month is rewritten once. */
export async function deleteOldAlerts(link: ClickHouseLink, days: number, nowMs: number): Promise<void> {
  const end = new Date(nowMs - days * DAY_SEC * 1_000)
  const month = Date.UTC(end.getUTCFullYear(), end.getUTCMonth()) / 1_000
  const old = `kind = 'alert' AND received < toDateTime(${Math.max(0, month)})`
  const timeoutMs = LIMITS.telemetrySettleTimeoutMs
  const found = await link.query({ sql: `SELECT 1 FROM history WHERE ${old} LIMIT 1 FORMAT TSV`, timeoutMs })
  // Does not wait for the parts to be rewritten.
  if (found.length > 0) await link.command({ sql: `ALTER TABLE history DELETE WHERE ${old}`, timeoutMs })
}
