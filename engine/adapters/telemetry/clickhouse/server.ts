// Telemetry of the cluster profile: a ClickHouse server that others run, or one of several with the same tables.
import { LIMITS } from '../../../limits.ts'
import type { Telemetry } from '../../../ports/telemetry.ts'
import { ClickHouseTelemetry } from './clickhouse.ts'
import type { Endpoint } from './clickhouse-http.ts'

export interface ServerTelemetryOptions {
  /** `http(s)://user:password@host:port`, and a database's name as its path if it is not the user's own. */
  readonly url: string
  /** Of the server's certificate, as PEM, where it is no public one. */
  readonly tlsCa?: string | undefined
  /** The name of its cluster where it has replicas: the tables are replicated then. */
  readonly cluster?: string | undefined
  readonly retentionDays?: number | undefined
  readonly auditRetentionDays?: number | undefined
  /** After so long it looks up how far others have settled. */
  readonly horizonAgeMsMax?: number | undefined
}

/**
 * Resolves once the server answers and its tables are up to date; any number of processes may do this at once. Rejects
 * with a `Fault`: a retryable one while the server is away, others for what only the operator can change.
 */
export function openServerTelemetry(options: ServerTelemetryOptions): Promise<Telemetry> {
  const { cluster, retentionDays, auditRetentionDays } = options
  const { horizonAgeMsMax = LIMITS.telemetryHorizonAgeMsMax } = options
  const endpoint = { ...endpointOf(options.url), ca: options.tlsCa }
  return ClickHouseTelemetry.open({
    endpoint: () => endpoint,
    cluster,
    retentionDays,
    auditRetentionDays,
    horizonAgeMsMax,
  })
}

/** Out of the URL: what is logged of a request must not have the password. */
function endpointOf(text: string): Endpoint {
  const { protocol, host, username, password, pathname } = new URL(text)
  const database = decodeURIComponent(pathname.slice(1))
  return {
    url: `${protocol}//${host}`,
    username: decodeURIComponent(username) || 'default',
    password: decodeURIComponent(password),
    database: database === '' ? undefined : database,
  }
}
