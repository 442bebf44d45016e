// The link to ClickHouse: its official client, one statement per request, results as the bytes of their format.
import { Readable } from 'node:stream'
import { type ClickHouseClient, ClickHouseError, ClickHouseLogLevel, createClient } from '@clickhouse/client'
import { LIMITS } from '../../../limits.ts'

export interface Endpoint {
  /** `http` or `https` with host and port, and nothing else. */
  readonly url: string
  readonly username: string
  readonly password: string
  /** The user's own database if not given. */
  readonly database?: string | undefined
  /** PEM certificates of the authorities that are trusted. Without it, those that Node trusts. */
  readonly ca?: string | undefined
}

export interface Statement {
  readonly sql: string
  /** Values that the server binds to `{name:Type}` in the statement. */
  readonly params?: Readonly<Record<string, string | number | readonly (string | number)[]>>
  readonly settings?: Readonly<Record<string, string | number>>
  readonly timeoutMs: number
}

const CONNECTIONS_MAX = 16

/**
 * Puts the statement into the URL and sends no body. The client would pipe the statement through a stream, which costs
 * a third of the processor time of a query. Its types do not know that it takes an empty text for no body.
 */
const NO_BODY = '' as unknown as Readable

/** Every method rejects with a `ClickHouseError` if the server refuses the statement, and with another error if
 *  there is no answer: then it is unknown whether the statement was executed. */
export class ClickHouseLink {
  readonly #endpoint: () => Endpoint
  #current: { readonly url: string; readonly client: ClickHouseClient } | undefined

  /** The endpoint is looked up for every request, because its URL may change. */
  constructor(endpoint: () => Endpoint) {
    this.#endpoint = endpoint
  }

  query(statement: Statement): Promise<Buffer> {
    return inTime(statement.timeoutMs, async (signal) =>
      collect(await this.#exec(statement, NO_BODY, signal), signal),
    )
  }

  /** Runs a statement that has no result. */
  command({ sql, params = {}, settings = {}, timeoutMs }: Statement): Promise<void> {
    const request = { query: sql, query_params: params, clickhouse_settings: settings }
    return inTime(timeoutMs, async (abort_signal) => {
      await this.#client().command({ ...request, abort_signal })
    })
  }

  /** Sends the rows as they are, in the format that the statement names. */
  async insert(statement: Statement, rows: Uint8Array): Promise<void> {
    await inTime(statement.timeoutMs, async (signal) =>
      collect(await this.#exec(statement, Readable.from([rows]), signal), signal),
    )
  }

  /**
   * Resolves with the result as soon as it begins; the timeout covers no more than that. Destroying the stream ends the
   * statement. A stream that fails was cut short.
   */
  stream(statement: Statement): Promise<Readable> {
    // This is the default of ClickHouse. The server of chdb sends a result whole unless told otherwise.
    const settings = { ...statement.settings, wait_end_of_query: 0 as const }
    return inTime(statement.timeoutMs, (signal) => this.#exec({ ...statement, settings }, NO_BODY, signal))
  }

  async close(): Promise<void> {
    await this.#current?.client.close()
  }

  async #exec(
    { sql, params = {}, settings = {} }: Statement,
    values: Readable,
    abort_signal: AbortSignal,
  ): Promise<Readable> {
    const request = { query: sql, query_params: params, clickhouse_settings: settings }
    return (await this.#client().exec({ ...request, values, abort_signal })).stream
  }

  #client(): ClickHouseClient {
    const endpoint = this.#endpoint()
    if (this.#current?.url === endpoint.url) return this.#current.client
    void this.#current?.client.close()
    const client = clientOf(endpoint)
    this.#current = { url: endpoint.url, client }
    return client
  }
}

/** The error number of ClickHouse, or 0 if the error is not from ClickHouse. */
export function errorCode(error: unknown): number {
  return error instanceof ClickHouseError ? Number(error.code) : 0
}

function clientOf({ url, username, password, database, ca }: Endpoint): ClickHouseClient {
  return createClient({
    url,
    username,
    password,
    max_open_connections: CONNECTIONS_MAX,
    keep_alive: { eagerly_destroy_stale_sockets: true },
    // Each statement has a timeout of its own, and a reader of a stream may take its time.
    request_timeout: 0,
    // Every error reaches the caller.
    log: { level: ClickHouseLogLevel.OFF },
    ...(database === undefined ? {} : { database }),
    ...(ca === undefined ? {} : { tls: { ca_cert: Buffer.from(ca) } }),
  })
}

async function inTime<T>(timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const deadline = new AbortController()
  const timer = setTimeout(() => deadline.abort(), timeoutMs)
  try {
    return await work(deadline.signal)
  } catch (cause) {
    throw deadline.signal.aborted ? new Error(`no answer within ${timeoutMs} ms`, { cause }) : cause
  } finally {
    clearTimeout(timer)
  }
}

/** The client's own signal no longer applies after the head of the answer, so this one covers the rest. */
function collect(result: Readable, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    result.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > LIMITS.telemetryResultBytesMax) result.destroy(tooLarge())
      else chunks.push(chunk)
    })
    result.once('end', () => resolve(Buffer.concat(chunks)))
    result.once('error', reject)
    // Has no effect after `end`. A connection that breaks without an error must not leave the caller waiting.
    result.once('close', () => reject(new Error('the connection was closed')))
    signal.addEventListener('abort', () => result.destroy(new Error('aborted')), { once: true })
  })
}

function tooLarge(): ClickHouseError {
  const message = `The result is larger than ${LIMITS.telemetryResultBytesMax} bytes.`
  return new ClickHouseError({ code: '396', type: 'TOO_MANY_ROWS_OR_BYTES', message })
}
