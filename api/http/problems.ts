// Sends problem documents: for refusals, for errors of the server itself, and for requests that it cannot read.
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { Fault, type FaultCode } from '../../engine/ports/fault.ts'
import { endSocket } from '../../engine/sockets/end-socket.ts'
import { toProblem } from '../../schemas/problem.ts'
import { REFUSALS } from '../../schemas/refusals.ts'
import { API_LIMITS } from '../limits.ts'
import type { Logger } from '../logger.ts'
import { type Refusal, refused } from '../refusal.ts'
import { OtherEncoding, TooDeep, UnreadableBody } from './json-body.ts'
import { SECURITY_HEADERS } from './security-headers.ts'

const TYPE = 'application/problem+json; charset=utf-8'

/** `status` overrides the usual status of the code. */
export function sendProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: Refusal,
  status: number = REFUSALS[refusal.code].status,
): FastifyReply {
  request.refusal = refusal.code
  const instance = pathOf(request.url)
  const problem = { ...toProblem(refusal, { instance, requestId: request.id }), status }
  const { retry_after_sec: wait } = refusal.detail
  if (typeof wait === 'number') reply.header('retry-after', String(wait))
  // A file that failed before its first byte has set this header, but the problem must not be saved under its name.
  reply.removeHeader('content-disposition')
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer error="invalid_token"')
  if (problem.status === 401 || problem.status === 403) reply.header('cache-control', 'no-store')
  return reply.code(problem.status).type(TYPE).send(JSON.stringify(problem))
}

/**
 * Ends a hook: the request proceeds, or is refused and goes no further. A hook must not return the promise of sending a
 * refusal: if the reader leaves before the answer is sent, Fastify takes that for the end of the hook and proceeds.
 */
export function refuseOrContinue(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  check: () => Refusal | undefined | Promise<Refusal | undefined>,
  done: HookHandlerDoneFunction,
): void {
  const finish = (refusal: Refusal | undefined) => {
    if (refusal === undefined) done()
    else sendProblem(request, reply, refusal)
  }
  let refusal: ReturnType<typeof check>
  try {
    refusal = check()
  } catch (error) {
    // Only errors are thrown here.
    done(error as Error)
    return
  }
  if (refusal instanceof Promise) refusal.then(finish, done)
  else finish(refusal)
}

/**
 * Whether nobody is left to answer, because the reader of a file left before its first byte. Fastify mostly detects this
 * through the request, but on a connection that was offered an upgrade the request does not learn that its sender left.
 */
export function hasClientDisconnected(error: unknown, { raw }: FastifyReply): boolean {
  return raw.destroyed && codeOf(error) === 'ERR_STREAM_PREMATURE_CLOSE'
}

/** The path without the query, which may carry a token. */
export const pathOf = (url: string): string => url.split('?', 1)[0] ?? url

/** The query without its question mark. It may contain further ones [RFC 3986 3.4]. */
export const queryOf = (url: string): string => url.slice(pathOf(url).length + 1)

const DEPENDENCIES: Readonly<Record<FaultCode, string>> = {
  LOG_UNAVAILABLE: 'log',
  LOG_FULL: 'log',
  STORE_UNAVAILABLE: 'store',
  STORE_FENCED: 'store',
  OWNERSHIP_UNAVAILABLE: 'ownership',
  NODE_UNREACHABLE: 'nodes',
  NODE_ABSENT: 'nodes',
  NODE_FAILED: 'nodes',
  TELEMETRY_UNAVAILABLE: 'telemetry',
  TELEMETRY_REFUSED: 'telemetry',
  TELEMETRY_TOO_MUCH: 'telemetry',
  TELEMETRY_TOO_NEW: 'telemetry',
  TELEMETRY_FORBIDDEN: 'telemetry',
  BROKER_UNAVAILABLE: 'broker',
  BLOBS_UNAVAILABLE: 'blobs',
  DATA_DIR_TOO_NEW: 'store',
  DATA_DIR_IN_USE: 'store',
  DATA_DIR_UNUSABLE: 'store',
  PORT_IN_USE: 'broker',
  TLS_FILES_WRONG: 'broker',
  SHARD_LOST: 'shards',
  NOT_OWNED: 'shards',
  OVERLOADED: 'shards',
}

/** Turns a thrown error into a refusal. Logs it only if an operator must act. */
export function toRefusal(
  error: unknown,
  { url, headers, id, routeOptions }: FastifyRequest,
  logger: Logger,
): Refusal {
  if (error instanceof Fault) {
    logger.warn(
      { request_id: id, fault: error.code, reason: error.message, path: pathOf(url) },
      'request refused with 503: a dependency is unavailable',
    )
    return refused('DEPENDENCY_UNAVAILABLE', {
      message: adviceOf(error),
      dependency: DEPENDENCIES[error.code],
      retry_after_sec: API_LIMITS.retryAfterSec,
    })
  }
  if (error instanceof OtherEncoding) return refused('UNSUPPORTED_MEDIA_TYPE', { message: error.message })
  if (error instanceof TooDeep)
    return refused('VALIDATION_FAILED', {
      message: `the body ${error.message}`,
      errors: [{ path: '', in: 'body', code: 'TOO_DEEP', message: error.message }],
    })
  if (error instanceof UnreadableBody) return refused('BAD_REQUEST', { message: error.message })
  const code = codeOf(error)
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return tooLarge(routeOptions.bodyLimit, headers['content-length'])
  if (code === 'FST_ERR_MAX_PARAM_LENGTH')
    return refused('BAD_REQUEST', { message: 'a part of the path is longer than any name' })
  const { bodyTypes = ['application/json'] } = routeOptions.config
  const status = statusOf(error)
  if (status === 415)
    return refused('UNSUPPORTED_MEDIA_TYPE', {
      message: `send the body as content-type ${bodyTypes.join(' or ')}`,
    })
  if (status === 503) return refused('DEPENDENCY_UNAVAILABLE', { retry_after_sec: API_LIMITS.retryAfterSec })
  if (status >= 400 && status < 500) return refused('BAD_REQUEST', { message: 'the request cannot be read' })
  logger.error(
    { request_id: id, err: error, path: pathOf(url) },
    'request failed because of a bug in Fleet: please report it with this line',
  )
  return refused('INTERNAL', { message: 'tell the operator the request_id' })
}

function adviceOf({ code }: Fault): string {
  return code === 'NODE_UNREACHABLE' || code === 'NODE_FAILED'
    ? 'another node of the service did not answer, and may have done it or not: look, or send it again under the same Idempotency-Key'
    : 'nothing is known to have happened; try again'
}

function tooLarge(limit: number, contentLength: string | undefined): Refusal {
  const actual = Number(contentLength)
  const detail = { limit, ...(actual > 0 ? { actual } : {}) }
  return refused('PAYLOAD_TOO_LARGE', detail)
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
}

function statusOf(error: unknown): number {
  const status = typeof error === 'object' && error !== null && 'statusCode' in error ? error.statusCode : 500
  return typeof status === 'number' ? status : 500
}

type Unreadable = Error & { readonly code?: string; readonly reason?: string }

/** Answers bytes that are not an HTTP request. There is no request object, only a socket. */
export function refuseBytes(error: Unreadable, socket: Socket, requestId: string): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  refuseSocket(socket, refusalOfBytes(error), { requestId })
}

function refusalOfBytes({ code, reason = 'it cannot be parsed' }: Unreadable): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return refused('HEADERS_TOO_LARGE')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return refused('REQUEST_TIMEOUT')
  // Uses the parser's own words, which repeat nothing that was sent.
  return refused('BAD_REQUEST', { message: `this is no HTTP request: ${reason}` })
}

/** Answers on a socket that has no reply object, and closes it. */
export function refuseSocket(
  socket: Socket,
  refusal: Refusal,
  { requestId, ...more }: { readonly requestId: string; readonly allow?: string },
): void {
  const body = JSON.stringify(toProblem(refusal, { instance: '/', requestId }))
  const headers = {
    ...SECURITY_HEADERS,
    ...more,
    'content-type': TYPE,
    'content-length': String(Buffer.byteLength(body)),
    'x-request-id': requestId,
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const { status } = REFUSALS[refusal.code]
  endSocket(socket, `HTTP/1.1 ${status} ${refusal.code}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
}
