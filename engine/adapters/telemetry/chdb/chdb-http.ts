// ClickHouse's HTTP interface in front of chdb: what `@clickhouse/client`, curl and other clients of it send.
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createInflate } from 'node:zlib'
import { LIMITS } from '../../../limits.ts'
import { type Chdb, type JobResult, TooManyQueries } from './chdb-lanes.ts'
import type { RowsServer } from './chdb-rows.ts'
import {
  type BodyInsert,
  isName,
  isRead,
  parseBodyInsert,
  splitInlineRows,
  toSending,
} from './chdb-statement.ts'
import type { Spool, SpoolFile } from './spool.ts'

export interface Credentials {
  readonly username: string
  readonly password: string
}

/** An answer that is no result, with ClickHouse's number for what went wrong. */
class Refusal extends Error {
  readonly status: number
  readonly code: number

  constructor(status: number, code: number, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

interface Call {
  readonly statement: string
  readonly values: ReadonlyMap<string, string>
  readonly format: string
  readonly isReadOnly: boolean
  /** The rows are wanted as they come. ClickHouse's default; here it has to be said. */
  readonly isStreamed: boolean
}

/** URL parameters that are neither settings nor parameters of the statement. */
const NO_SETTINGS = new Set(
  'query database default_format query_id user password role quota_key compress decompress session_id session_timeout session_check enable_http_compression http_zlib_compression_level network_compression_method send_progress_in_http_headers http_headers_progress_interval_ms wait_end_of_query buffer_size http_response_buffer_size cancel_http_readonly_queries_on_client_close'.split(
    ' ',
  ),
)
const STATUS_OF_CODE: Readonly<Record<number, number>> = {
  27: 400,
  36: 400,
  38: 400,
  41: 400,
  43: 400,
  46: 404,
  47: 404,
  53: 400,
  60: 404,
  62: 400,
  72: 400,
  81: 404,
  115: 404,
  117: 400,
  159: 408,
  164: 403,
  202: 503,
  252: 503,
  456: 400,
  457: 400,
}

export interface Parts {
  readonly chdb: Chdb
  readonly spool: Spool
  readonly rows: RowsServer
}

export function chdbListener(parts: Parts, credentials: Credentials): RequestListener {
  const isAllowed = gate(credentials)
  return (request, response) => {
    response.setHeader('X-ClickHouse-Server-Display-Name', 'fleet-chdb')
    response.setHeader('X-ClickHouse-Timezone', 'UTC')
    const url = new URL(request.url ?? '/', 'http://localhost')
    if (url.pathname === '/ping') {
      response.end('Ok.\n')
      return
    }
    const queryId = url.searchParams.get('query_id') ?? randomUUID()
    response.setHeader('X-ClickHouse-Query-Id', printable(queryId))
    const answered = isAllowed(request.headers, url)
      ? answer(parts, request, response, url)
      : Promise.reject(new Refusal(403, 516, 'Authentication failed. (AUTHENTICATION_FAILED)'))
    answered.catch((cause: unknown) => sendError(request, response, cause))
  }
}

async function answer(
  { chdb, spool, rows }: Parts,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  if (url.pathname !== '/') throw new Refusal(404, 0, 'There is no handle for this path')
  const call = parseCall(request, url)
  const insertWith = async (insert: BodyInsert, fill: (file: SpoolFile) => Promise<void>) =>
    sendResult(response, await insertBody(chdb, spool, call, insert, fill))
  const insert = parseBodyInsert(call.statement)
  if (insert !== undefined) return insertWith(insert, (file) => receive(request, file))
  const body = await receiveText(request)
  const statement = [call.statement, body].filter((part) => part.trim() !== '').join('\n')
  if (statement === '') throw new Refusal(400, 62, 'Syntax error: empty query. (SYNTAX_ERROR)')
  if (call.isReadOnly && !isRead(statement)) {
    throw new Refusal(403, 164, 'Cannot execute query in readonly mode: use POST. (READONLY)')
  }
  const inline = splitInlineRows(statement)
  const inlineInsert = inline === undefined ? undefined : parseBodyInsert(inline.statement)
  if (inline !== undefined && inlineInsert !== undefined)
    return insertWith(inlineInsert, (file) => Promise.resolve(file.write(Buffer.from(inline.rows))))
  const { values, format } = call
  const job = { statement, values, format, isInsert: /^\s*INSERT\b/i.test(statement) }
  if (call.isStreamed && isRead(statement)) {
    const sending = new Map([...values, ['http_max_tries', '1']])
    const isSent = await rows.answer(response, { 'Content-Type': contentType(format) }, (rowsUrl) =>
      chdb.stream({ ...job, statement: toSending(statement, rowsUrl, format), values: sending }),
    )
    // No rows: what an empty result looks like is the format's business.
    if (isSent) return
  }
  sendResult(response, { format, result: await chdb.run(job) })
}

interface Answered {
  readonly format: string
  readonly result: JobResult
}

async function insertBody(
  chdb: Chdb,
  spool: Spool,
  { values, format, isReadOnly }: Call,
  insert: BodyInsert,
  fill: (file: SpoolFile) => Promise<void>,
): Promise<Answered> {
  if (isReadOnly) throw new Refusal(403, 164, 'Cannot execute query in readonly mode: use POST. (READONLY)')
  const file = spool.file()
  try {
    await fill(file)
    file.end()
    const statement = insert.from(file.path)
    return { format, result: await chdb.run({ statement, values, format, isInsert: true }) }
  } finally {
    file.remove()
  }
}

function parseCall(request: IncomingMessage, url: URL): Call {
  const values = new Map<string, string>()
  for (const [name, value] of url.searchParams) {
    if (NO_SETTINGS.has(name)) continue
    if (!isName(name)) throw new Refusal(400, 115, `Unknown setting '${name}'. (UNKNOWN_SETTING)`)
    values.set(name, value)
  }
  const database = url.searchParams.get('database') ?? 'default'
  if (database !== 'default') {
    throw new Refusal(404, 81, `Name tables with their database instead of '${database}'. (UNKNOWN_DATABASE)`)
  }
  return {
    statement: url.searchParams.get('query') ?? '',
    values,
    format:
      url.searchParams.get('default_format') ?? headerOf(request, 'x-clickhouse-format') ?? 'TabSeparated',
    isReadOnly: request.method !== 'POST',
    isStreamed: url.searchParams.get('wait_end_of_query') === '0',
  }
}

async function receive(request: IncomingMessage, file: SpoolFile): Promise<void> {
  let length = 0
  for await (const chunk of plain(request)) {
    length += chunk.length
    if (length > LIMITS.telemetryBodyBytesMax) throw tooLarge(LIMITS.telemetryBodyBytesMax)
    file.write(chunk)
  }
}

async function receiveText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of plain(request)) {
    length += chunk.length
    if (length > LIMITS.telemetryStatementBytesMax) throw tooLarge(LIMITS.telemetryStatementBytesMax)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The body's bytes, unpacked. The limit holds for what comes out: a small body may unpack to a large one. */
function plain(request: IncomingMessage): AsyncIterable<Buffer> {
  const encoding = headerOf(request, 'content-encoding') ?? 'identity'
  if (encoding === 'identity') return request
  if (encoding !== 'gzip' && encoding !== 'deflate') {
    throw new Refusal(400, 89, `Unknown compression method: ${encoding}. (UNKNOWN_COMPRESSION_METHOD)`)
  }
  const unpack = encoding === 'gzip' ? createGunzip() : createInflate()
  // Its failure ends `unpack`, whose reader sees it.
  pipeline(request, unpack).catch(() => unpack.destroy())
  return unpack
}

function tooLarge(limit: number): Refusal {
  return new Refusal(413, 396, `The body is larger than ${limit} bytes. (TOO_MANY_ROWS_OR_BYTES)`)
}

function sendResult(response: ServerResponse, { format, result }: Answered): void {
  const { bytes, rowsRead, bytesRead, elapsedSec } = result
  // The engine does not keep to `max_result_bytes`; the statement's memory limit keeps it from being much more.
  if (bytes.length > LIMITS.telemetryResultBytesMax) {
    throw new Refusal(
      500,
      396,
      `The result is larger than ${LIMITS.telemetryResultBytesMax} bytes. (TOO_MANY_ROWS_OR_BYTES)`,
    )
  }
  response.writeHead(200, {
    'Content-Type': contentType(format),
    'Content-Length': bytes.length,
    'X-ClickHouse-Format': printable(format),
    'X-ClickHouse-Summary': JSON.stringify({
      read_rows: String(rowsRead),
      read_bytes: String(bytesRead),
      elapsed_ns: String(Math.round(elapsedSec * 1e9)),
    }),
  })
  response.end(bytes)
}

function sendError(request: IncomingMessage, response: ServerResponse, cause: unknown): void {
  const { status, code, message } = toRefusal(cause)
  const text = /^Code: \d+\./.test(message) ? message : `Code: ${code}. DB::Exception: ${message}`
  const bytes = Buffer.from(`${text}\n`)
  // A body that was not read to its end would be taken for the next request.
  const isUnread = !request.complete
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  response.writeHead(status, {
    'Content-Type': 'text/plain; charset=UTF-8',
    'Content-Length': bytes.length,
    'X-ClickHouse-Exception-Code': code,
    ...(isUnread ? { Connection: 'close' } : {}),
  })
  response.end(bytes)
}

function toRefusal(cause: unknown): {
  readonly status: number
  readonly code: number
  readonly message: string
} {
  if (cause instanceof Refusal) return cause
  if (cause instanceof TooManyQueries) {
    return {
      status: 503,
      code: 202,
      message: 'Too many simultaneous queries. (TOO_MANY_SIMULTANEOUS_QUERIES)',
    }
  }
  const text = cause instanceof Error ? cause.message : String(cause)
  const message = text.replace(/^Query failed: /, '')
  const code = Number(/Code: (\d+)\./.exec(message)?.[1] ?? 1002)
  return { status: STATUS_OF_CODE[code] ?? 500, code, message }
}

function gate({ username, password }: Credentials): (headers: IncomingHttpHeaders, url: URL) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(`${username}\n${password}`)
  return (headers, url) => {
    const [user, key] = given(headers, url)
    return timingSafeEqual(digest(`${user}\n${key}`), expected)
  }
}

function given(headers: IncomingHttpHeaders, url: URL): readonly [string, string] {
  const user = headers['x-clickhouse-user']
  const key = headers['x-clickhouse-key']
  if (typeof user === 'string' || typeof key === 'string')
    return [String(user ?? 'default'), String(key ?? '')]
  const basic = /^Basic (.+)$/i.exec(headers.authorization ?? '')?.[1]
  if (basic !== undefined) {
    const text = Buffer.from(basic, 'base64').toString('utf8')
    const colon = text.indexOf(':')
    return colon < 0 ? [text, ''] : [text.slice(0, colon), text.slice(colon + 1)]
  }
  return [url.searchParams.get('user') ?? 'default', url.searchParams.get('password') ?? '']
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name]
  return typeof value === 'string' ? value : undefined
}

/** What a header may hold. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, 128)
}

function contentType(format: string): string {
  if (/^JSON$|^JSONCompact$/i.test(format)) return 'application/json; charset=UTF-8'
  if (/EachRow/i.test(format)) return 'application/x-ndjson; charset=UTF-8'
  if (/^CSV/i.test(format)) return 'text/csv; charset=UTF-8; header=absent'
  if (/^TabSeparated|^TSV/i.test(format)) return 'text/tab-separated-values; charset=UTF-8'
  return 'application/octet-stream'
}
