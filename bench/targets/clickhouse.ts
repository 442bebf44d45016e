// Starts the ClickHouse of the embedded profile as the service does, but lets the bench send queries.
import { ChdbSupervisor } from '../../engine/adapters/telemetry/chdb/chdb-supervisor.ts'
import { ClickHouseTelemetry } from '../../engine/adapters/telemetry/clickhouse/clickhouse.ts'
import { ClickHouseLink } from '../../engine/adapters/telemetry/clickhouse/clickhouse-link.ts'
import { serverAt } from '../../engine/adapters/telemetry/clickhouse/server.ts'
import type { Telemetry } from '../../engine/ports/telemetry.ts'

/** This is long enough to insert and merge a hundred million rows. */
const STATEMENT_MS = 600_000

export interface ClickHouse {
  readonly url: string
  readonly user: string
  readonly password: string
  readonly pid: number
  /** Resolves with the answer as text, without the trailing newline. */
  query(sql: string): Promise<string>
}

export interface OpenTelemetry {
  readonly telemetry: Telemetry
  readonly clickhouse: ClickHouse
}

/** Runs an empty ClickHouse on `path` during `work`. */
export async function withClickHouse<T>(
  path: string,
  work: (clickhouse: ClickHouse) => Promise<T>,
): Promise<T> {
  const chdb = await ChdbSupervisor.open({ dataDir: path })
  const link = new ClickHouseLink(() => chdb.endpoint())
  const { url, username: user, password } = chdb.endpoint()
  const query = async (sql: string): Promise<string> =>
    (await link.query({ sql, timeoutMs: STATEMENT_MS })).toString().trimEnd()
  try {
    return await work({ url, user, password, pid: chdb.pid, query })
  } finally {
    await link.close()
    await chdb.close()
  }
}

/** Runs ClickHouse with the service's tables and adapter during `work`. */
export function withTelemetry<T>(path: string, work: (open: OpenTelemetry) => Promise<T>): Promise<T> {
  return withClickHouse(path, async (clickhouse) => {
    const { url, user: username, password } = clickhouse
    const endpoint = { url, username, password }
    const telemetry = new ClickHouseTelemetry({ openServer: async () => serverAt(endpoint) })
    await telemetry.begin(() => {})
    try {
      return await work({ telemetry, clickhouse })
    } finally {
      await telemetry.close()
    }
  })
}
