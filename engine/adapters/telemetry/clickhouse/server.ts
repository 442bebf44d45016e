// Telemetry of the cluster profile: an existing ClickHouse server, or one of several that hold the same tables.
import { LIMITS } from '../../../limits.ts'
import { type ClickHouseOptions, type ClickHouseServer, ClickHouseTelemetry } from './clickhouse.ts'
import type { Endpoint } from './clickhouse-link.ts'

export interface ServerTelemetryOptions extends Omit<ClickHouseOptions, 'openServer'> {
  /** `http(s)://user:password@host:port`, with the database's name as its path if it is not the user's own. */
  readonly url: string
  /** PEM certificates of the authority that signed the server's certificate, if it is not a public one. */
  readonly tlsCa?: string | undefined
}

/** Any number of processes may start with the same server at once. */
export function serverTelemetry({ url, tlsCa, ...options }: ServerTelemetryOptions): ClickHouseTelemetry {
  const server = serverAt({ ...endpointOf(url), ca: tlsCa })
  return new ClickHouseTelemetry({
    horizonAgeMsMax: LIMITS.telemetryHorizonAgeMsMax,
    ...options,
    openServer: async () => server,
  })
}

/** A server that this process does not start or stop. */
export function serverAt(endpoint: Endpoint): ClickHouseServer {
  return { endpoint: () => endpoint, isUp: () => true, close: async () => {} }
}

/** Takes user and password out of the URL, because the URLs of requests are logged. */
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
