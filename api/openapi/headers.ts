// Derives the headers that an operation reads and sends from its declaration.
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { API, type Operation, type Reply } from '../../schemas/operation.ts'
import type { RefusalCode } from '../../schemas/refusals.ts'
import type { JsonSchema } from './components.ts'

interface Header {
  readonly description: string
  readonly schema: JsonSchema
}

const text = (description: string, example: string, more: object = {}): Header => ({
  description,
  schema: { type: 'string', ...more, examples: [example] },
})

export const RESPONSE_HEADERS = {
  'X-Request-Id': text(
    'The request’s id: the one it came with, or one of the service’s',
    'req_01jd0c3k9x7m2v5t8r4q6w1z0y',
  ),
  ETag: text('The version of what is answered', '"7"'),
  Location: text('Where to find what was made', '/api/v1/devices/robot-7'),
  Link: text(
    'Other pages of the list (RFC 8288), relative to this one',
    '</api/v1/devices?per_page=50&page=2>; rel="next"',
  ),
  'X-Total-Count': {
    description: 'How many there are on all pages',
    schema: { type: 'integer', minimum: 0, examples: [1234] },
  },
  'Preference-Applied': text('The wait that was applied (RFC 7240)', 'wait=10'),
  'Idempotency-Replayed': text('Sent if the request was answered before', 'true', { enum: ['true'] }),
  'Content-Disposition': text('The name of the file', 'attachment; filename="devices.csv"'),
  'RateLimit-Policy': text(
    'The limits on requests: how many (q) in how many seconds (w)',
    '"user";q=1000;w=1',
  ),
  RateLimit: text(
    'What is left of each (r), and in how many seconds all of it is back (t)',
    '"user";r=999;t=1',
  ),
  'Retry-After': {
    description: 'Seconds after which to try again',
    schema: { type: 'integer', minimum: 1, examples: [1] },
  },
  'Set-Cookie': text(
    'The browser’s refresh token, which scripts cannot read',
    'fleet_session_1f2e3d4c=rt_…; HttpOnly; SameSite=Strict; Path=/api/v1/auth/session',
  ),
  'WWW-Authenticate': text('How to authenticate (RFC 6750)', 'Bearer error="invalid_token"'),
} as const satisfies Readonly<Record<string, Header>>
export type ResponseHeader = keyof typeof RESPONSE_HEADERS

interface SentHeader {
  readonly name: ResponseHeader
  /** True if every answer with the status has the header. */
  readonly isAlways: boolean
}

const always = (...names: readonly ResponseHeader[]): readonly SentHeader[] =>
  names.map((name) => ({ name, isAlways: true }))
const sometimes = (...names: readonly ResponseHeader[]): readonly SentHeader[] =>
  names.map((name) => ({ name, isAlways: false }))

const HEADERS_OF_ANY = [...always('X-Request-Id'), ...sometimes('RateLimit-Policy', 'RateLimit')]

/** Returns the headers of a success with this status. */
export function headersOfSuccess(operation: Operation, status: number): readonly SentHeader[] {
  const { replies, repeats, files, setsCookie } = operation
  const isEtagged = operation.hasEtag === true || status === 304
  return [
    ...HEADERS_OF_ANY,
    ...(isEtagged ? always('ETag') : []),
    ...(status === 201 || status === 202 || isLate(operation, status) ? always('Location') : []),
    ...listHeaders(replies[status]),
    ...(hasField(operation.query, 'wait') ? sometimes('Preference-Applied') : []),
    ...(repeats === undefined ? [] : sometimes('Idempotency-Replayed')),
    ...(files === undefined ? [] : sometimes('Content-Disposition')),
    ...(setsCookie === true ? always('Set-Cookie') : []),
  ]
}

/** Returns the headers of refusals with these codes, which share a status. */
export function headersOfRefusal(codes: readonly RefusalCode[]): readonly SentHeader[] {
  return [
    ...HEADERS_OF_ANY,
    ...(codes.some((code) => AGAIN.has(code)) ? sometimes('Retry-After') : []),
    ...(codes.some((code) => CHALLENGES.has(code)) ? always('WWW-Authenticate') : []),
  ]
}

function listHeaders(reply: Reply | undefined): readonly SentHeader[] {
  if (hasField(reply, 'total_pages') && !hasField(reply, 'next_cursor'))
    return always('Link', 'X-Total-Count')
  const kinds = Object(Object(reply)['anyOf'] ?? [reply]) as readonly (Reply | undefined)[]
  return [
    ...(kinds.some((kind) => hasField(kind, 'total_pages')) ? sometimes('Link', 'X-Total-Count') : []),
    ...(kinds.some((kind) => hasField(kind, 'next_cursor')) ? sometimes('Link') : []),
  ]
}

const AGAIN = new Set<RefusalCode>([
  'RATE_LIMIT_EXCEEDED',
  'DEPENDENCY_UNAVAILABLE',
  'IDEMPOTENCY_KEY_IN_USE',
  'PROVISIONING_PENDING',
])
const CHALLENGES = new Set<RefusalCode>([
  'UNAUTHENTICATED',
  'TOKEN_EXPIRED',
  'INVALID_CREDENTIALS',
  'PROVISIONING_KEY_INVALID',
])

/** True for the 200 of an operation that usually answers 202, because it is already done. Previews do not count. */
const isLate = ({ method, replies }: Operation, status: number) =>
  method === 'POST' && status === 200 && replies[202] !== undefined && replies[200] === replies[202]

/** Returns the request headers as parameters of the document. */
export function headerParameters(operation: Operation): readonly (readonly [string, Header])[] {
  return [
    ...(operation.replies[304] === undefined ? [] : [IF_NONE_MATCH]),
    ...(operation.takesIfMatch === true ? [IF_MATCH] : []),
    ...(hasField(operation.query, 'wait') ? [PREFER] : []),
    ...(operation.repeats === undefined ? [] : [IDEMPOTENCY_KEY]),
    ...(operation.path.startsWith(API) ? [REQUEST_ID] : []),
  ]
}

const IF_NONE_MATCH = ['If-None-Match', text('The `ETag` of a copy: 304 if it is still good', '"7"')] as const
const IF_MATCH = [
  'If-Match',
  text('The `ETag` of what was read: refused if somebody has changed it since', '"7"'),
] as const
const PREFER = [
  'Prefer',
  text('`wait=<seconds>` waits for the command to end, as the query `wait` does (RFC 7240)', 'wait=10'),
] as const
const IDEMPOTENCY_KEY = [
  'Idempotency-Key',
  text(
    'Makes sending the request again safe for 24 hours: the same key, body and user get the same answer. A key belongs to one request of a user, whatever the operation: with another operation, path or body it is refused (409 `IDEMPOTENCY_KEY_REUSED`). Use a random one, such as a UUID.',
    '6f0d5f5e-6a0f-4c36-9c3e-0f5f3c1f7f43',
    { minLength: 1, maxLength: BODY_LIMITS.idempotencyKeyCharsMax, pattern: '^[!-~]+$' },
  ),
] as const
const REQUEST_ID = [
  'X-Request-Id',
  text(
    'An id of yours for this request, found in its answer, its problem, the log and the audit. One of more than 128 letters, digits and `._:/+=@-` is not taken over.',
    'job-42',
  ),
] as const

function hasField(schema: unknown, name: string): boolean {
  const { properties = {} } = Object(schema) as { properties?: object }
  return Object.hasOwn(properties, name)
}
