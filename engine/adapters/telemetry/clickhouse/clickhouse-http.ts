// ClickHouse's HTTP interface, as the adapter needs it: one statement per request over connections that stay open.
// Bytes go out and come back as they are; a general client takes about twice the processor time for the same.
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import type { Readable } from 'node:stream'
import { LIMITS } from '../../../limits.ts'

export interface Endpoint {
  /** `http` or `https`, host and port alone. */
  readonly url: string
  readonly username: string
  readonly password: string
  /** Its user's own if not given. */
  readonly database?: string | undefined
  /** Who may have signed the server's certificate, in PEM; those that Node trusts if not given. */
  readonly ca?: string | undefined
}

export interface Statement {
  readonly sql: string
  /** Bound by the server: `{name:Type}` in the statement. */
  readonly params?: Readonly<Record<string, string | number | readonly (string | number)[]>>
  readonly settings?: Readonly<Record<string, string | number>>
  /** The rows of an insert. */
  readonly body?: Uint8Array
  readonly timeoutMs: number
}

/** The server's answer that it did not do it. */
export class ClickHouseError extends Error {
  override readonly name = 'ClickHouseError'
  /** ClickHouse's number for what went wrong; 0 if it did not say. */
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** No answer: whether it was done is not known. */
class NoAnswer extends Error {
  override readonly name = 'NoAnswer'
}

const CONNECTIONS = { keepAlive: true, maxSockets: 16 }

export class ClickHouseHttp {
  readonly #endpoint: () => Endpoint
  readonly #agent = new Agent(CONNECTIONS)
  readonly #tlsAgent = new TlsAgent(CONNECTIONS)

  constructor(endpoint: () => Endpoint) {
    this.#endpoint = endpoint
  }

  /** Throws `ClickHouseError` or `NoAnswer`. */
  async run(statement: Statement): Promise<Buffer> {
    try {
      return await this.#send(statement)
    } catch (cause) {
      // The server closes an idle connection at the moment we take it: nobody heard the request.
      if (!(cause instanceof StaleConnection)) throw cause
      return this.#send(statement)
    }
  }

  close(): void {
    this.#agent.destroy()
    this.#tlsAgent.destroy()
  }

  /** The answer as it comes; destroying it ends the statement. It fails where it breaks off. */
  async stream(statement: Statement): Promise<Readable> {
    // Said although it is the default: the stand-in answers whole where it is not asked for this.
    const settings = { ...statement.settings, wait_end_of_query: 0 }
    const response = await this.#open({ ...statement, settings }, 'head')
    if (response.statusCode !== 200 || response.headers['x-clickhouse-exception-code'] !== undefined) {
      await receive(response)
      throw new ClickHouseError(0, 'the answer is none')
    }
    return response
  }

  async #send(statement: Statement): Promise<Buffer> {
    return receive(await this.#open(statement, 'end'))
  }

  /** Resolves with the head of the answer; the time is for that, or for all of it. */
  #open(
    { sql, params = {}, settings = {}, body, timeoutMs }: Statement,
    inTime: 'head' | 'end',
  ): Promise<IncomingMessage> {
    const endpoint = this.#endpoint()
    const { url, ca } = endpoint
    const search = new URLSearchParams()
    for (const [name, value] of Object.entries(settings)) search.set(name, String(value))
    for (const [name, value] of Object.entries(params)) search.set(`param_${name}`, toParam(value))
    if (body !== undefined) search.set('query', sql)
    const payload = body ?? Buffer.from(sql)
    return new Promise((resolve, reject) => {
      const headers = { ...headersOf(endpoint), 'Content-Length': payload.length }
      const where = `${url}/?${search}`
      const sent = url.startsWith('https:')
        ? tlsRequest(where, { method: 'POST', agent: this.#tlsAgent, headers, ca }, resolve)
        : request(where, { method: 'POST', agent: this.#agent, headers }, resolve)
      const late = setTimeout(() => sent.destroy(new NoAnswer(`no answer within ${timeoutMs} ms`)), timeoutMs)
      sent.once(inTime === 'head' ? 'response' : 'close', () => clearTimeout(late))
      sent.once('close', () => clearTimeout(late))
      sent.once('error', (cause) => {
        const isStale = sent.reusedSocket && isReset(cause)
        reject(isStale ? new StaleConnection() : cause instanceof NoAnswer ? cause : noAnswer(cause))
      })
      sent.end(payload)
    })
  }
}

/** Never in the URL, which others log. */
function headersOf({ username, password, database }: Endpoint): Readonly<Record<string, string>> {
  const Authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  return database === undefined ? { Authorization } : { Authorization, 'X-ClickHouse-Database': database }
}

class StaleConnection extends NoAnswer {}

async function receive(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of response) {
      // Without an encoding set, a response gives buffers.
      const bytes = chunk as Buffer
      length += bytes.length
      if (length > LIMITS.telemetryResultBytesMax) throw new ClickHouseError(396, 'the result is too large')
      chunks.push(bytes)
    }
  } catch (cause) {
    throw cause instanceof ClickHouseError || cause instanceof NoAnswer ? cause : noAnswer(cause)
  }
  const bytes = Buffer.concat(chunks)
  const { statusCode = 0, headers } = response
  const code = exceptionCode(headers, bytes)
  if (statusCode !== 200 || code !== 0)
    throw new ClickHouseError(code, bytes.toString('utf8').slice(0, 1_000))
  return bytes
}

function exceptionCode(headers: IncomingHttpHeaders, body: Buffer): number {
  const header = headers['x-clickhouse-exception-code']
  if (typeof header === 'string') return Number(header)
  return Number(/^Code: (\d+)\./.exec(body.toString('utf8', 0, 64))?.[1] ?? 0)
}

function noAnswer(cause: unknown): NoAnswer {
  return new NoAnswer(cause instanceof Error ? cause.message : String(cause), { cause })
}

function isReset(cause: Error): boolean {
  return 'code' in cause && (cause.code === 'ECONNRESET' || cause.code === 'EPIPE')
}

/** As ClickHouse reads parameters: escaped like a field of TabSeparated, strings in lists quoted as well. */
function toParam(value: string | number | readonly (string | number)[]): string {
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return escapeField(value)
  return `[${value.map((item) => (typeof item === 'number' ? item : `'${escapeField(item).replace(/'/g, "\\'")}'`))}]`
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\0': '\\0',
}

function escapeField(text: string): string {
  return text.replace(/[\\\t\n\r\0]/g, (char) => ESCAPES[char] ?? char)
}
