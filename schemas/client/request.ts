// Builds the request to send from an operation and the arguments of a call.
import type { Operation } from '../operation.ts'
import type { CallOptions } from './calls.ts'
import type { Outgoing } from './transport.ts'

/** Parameters, query, body and options in one object, as far as the operation defines them. */
export type Call = CallOptions & Readonly<Record<string, unknown>>

export interface Where {
  readonly baseUrl: string
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
}

/** A file takes as long as the connection is slow. The service ends an upload that has gone silent. */
const UPLOAD_TIMEOUT_MS = 6 * 3_600_000

const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'PUT', 'DELETE'])

export function toRequest(
  { baseUrl, timeoutMs, signal }: Where,
  operation: Operation,
  call: Call,
  token: string | undefined,
): Outgoing {
  const query = entriesOf(call['query'])
  const waitSec = Number(query.find(([name]) => name === 'wait')?.[1] ?? 0)
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(name, call[name]))
  const search = searchOf(query)
  const usualMs = call['body'] instanceof FormData ? UPLOAD_TIMEOUT_MS : timeoutMs
  return {
    url: `${baseUrl}${path}${search === '' ? '' : `?${search}`}`,
    method: operation.method,
    headers: headersOf(operation, call, token),
    body: bodyOf(operation, call['body']),
    timeoutMs: (call.timeoutMs ?? usualMs) + waitSec * 1000,
    isRepeatable: REPEATABLE.has(operation.method) || call.idempotencyKey !== undefined,
    signal: call.signal ?? signal,
    expected: new Set(Object.keys(operation.replies).map(Number)),
    isBytes: Object.values(operation.replies).includes('bytes'),
  }
}

function bodyOf({ streamsBody }: Operation, body: unknown): string | FormData | undefined {
  if (body === undefined || body instanceof FormData) return body
  return streamsBody === true ? String(body) : JSON.stringify(body)
}

function headersOf({ bodyTypes }: Operation, call: Call, token: string | undefined): Record<string, string> {
  const { ifMatch, idempotencyKey } = call
  const type = String(call['contentType'] ?? bodyTypes?.[0] ?? 'application/json')
  return {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    // A form sets its own content type, which includes the boundary.
    ...(call['body'] === undefined || call['body'] instanceof FormData ? {} : { 'content-type': type }),
    ...(ifMatch === undefined ? {} : { 'if-match': ifMatch === '*' ? '*' : `"${ifMatch}"` }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
  }
}

/** Refuses empty and dotted segments, which would change the path. */
function segment(name: string, value: unknown): string {
  const text = String(value ?? '')
  if (text === '' || text === '.' || text === '..') throw new TypeError(`${name} cannot be "${text}"`)
  return encodeURIComponent(text)
}

function searchOf(query: readonly (readonly [string, unknown])[]): string {
  const params = new URLSearchParams()
  for (const [name, value] of query)
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined && one !== null) params.append(name, String(one))
  return params.toString()
}

function entriesOf(query: unknown): readonly (readonly [string, unknown])[] {
  return typeof query === 'object' && query !== null ? Object.entries(query) : []
}
