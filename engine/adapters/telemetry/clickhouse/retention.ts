// Keeps reads within the retention. ClickHouse drops a part when its last row has expired, and only when it comes to it:
// until then, expired rows are there and must not be read.
import { HISTORY_LOG_DAYS } from './schema.ts'

/** How long rows are kept. Undefined means for ever. */
export interface KeptDays {
  readonly points: number | undefined
  readonly audit: number | undefined
}

const DAY_SEC = 86_400
/** Settings that stay the same for a while are not sent to chdb with every statement. */
const STEP_SEC = 60

/** Settings of a statement that leave out rows whose time is over. */
export function withinRetention({ points, audit }: KeptDays, nowMs: number) {
  const oldest = (days: number) => {
    const seconds = Math.floor(nowMs / 1000 / STEP_SEC) * STEP_SEC - days * DAY_SEC
    return `toDateTime(${Math.max(0, seconds)})`
  }
  const filters = {
    history: `kind != \\'log\\' OR received >= ${oldest(HISTORY_LOG_DAYS)}`,
    ...(points === undefined
      ? {}
      : { points: `received >= ${oldest(points)}`, texts: `received >= ${oldest(points)}` }),
    ...(audit === undefined ? {} : { audit: `at >= ${oldest(audit)}` }),
  }
  const list = Object.entries(filters).map(([table, filter]) => `'${table}':'${filter}'`)
  return { additional_table_filters: `{${list.join(',')}}` }
}
