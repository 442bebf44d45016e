// Removes all rows of some devices except the audit. ClickHouse marks the rows, which hides them at once, and drops them
// when it next merges their parts.
import type { DeviceId } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { ClickHouseLink } from './clickhouse-link.ts'

/** Raw points first, so that no rollup is computed from them again. The audit stays. */
const TABLES = ['points', 'texts', 'rollup_1m', 'rollup_1h', 'history', 'devices']

/** A replica that is down catches up when it is back. */
const SETTINGS = { lightweight_deletes_sync: 1, mutations_sync: 1 }

export async function forgetDevices(link: ClickHouseLink, deviceIds: readonly DeviceId[]): Promise<void> {
  for (const table of TABLES)
    await link.command({
      sql: `DELETE FROM ${table} WHERE device_id IN ({ids:Array(String)})`,
      params: { ids: deviceIds },
      settings: SETTINGS,
      timeoutMs: LIMITS.telemetrySettleTimeoutMs,
    })
}
