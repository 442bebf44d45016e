// Reads a JSON body: its depth is bounded before it is parsed, and keys that could reach a prototype are refused.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { LIMITS } from '../../engine/limits.ts'
import { JSON_TYPES } from '../../schemas/operation.ts'

/** Thrown for a body that cannot be parsed. The message is sent to the caller. */
export class UnreadableBody extends Error {
  override readonly name = 'UnreadableBody'
}

/** Thrown for JSON that is well-formed but nested too deeply. */
export class TooDeep extends Error {
  override readonly name = 'TooDeep'
}

/** Thrown for a compressed body, and for one in another charset: JSON is UTF-8 (RFC 8259), and decoding another charset as
 *  such would change it. */
export class OtherEncoding extends Error {
  override readonly name = 'OtherEncoding'
}

function refuseCompressed({ headers }: FastifyRequest): OtherEncoding | null {
  const { 'content-encoding': encoding = 'identity' } = headers
  return encoding.toLowerCase() === 'identity' ? null : new OtherEncoding('send the body uncompressed')
}

function isUtf8(contentType = ''): boolean {
  if (!contentType.includes(';')) return true
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1]
  return charset === undefined || /^utf-?8$/i.test(charset)
}

export function acceptJson(app: FastifyInstance): void {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const parseSafely = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser([...JSON_TYPES], { parseAs: 'buffer' }, (request, body, done) => {
    const compressed = refuseCompressed(request)
    if (compressed !== null) return done(compressed)
    if (!isUtf8(request.headers['content-type'])) return done(new OtherEncoding('send the body in UTF-8'))
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    if (bytes.length === 0) return done(null, undefined)
    if (isDeeperThan(bytes, LIMITS.bodyDepthMax))
      return done(new TooDeep(`must be nested at most ${LIMITS.bodyDepthMax} levels deep`))
    let text: string
    try {
      text = decoder.decode(bytes)
    } catch {
      // UTF-8 decoding fails for no other reason.
      return done(new UnreadableBody('the body is not valid UTF-8'))
    }
    void parseSafely(request, text, (error, value) =>
      error === null
        ? done(hasInfinity(text, value) ? new UnreadableBody('a number is too large') : null, value)
        : done(new UnreadableBody('the body is not valid JSON, or has a key that is not allowed')),
    )
    return undefined
  })
}

/** Leaves bodies of these types for the handler to read. */
export function acceptStream(scope: FastifyInstance, types: readonly string[]): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser([...types], (request, payload, done) => done(refuseCompressed(request), payload))
}

/** Parses JSON inside another body, by the same rules. Undefined if the text is not valid. */
export function parseJsonText(text: string): unknown {
  if (isDeeperThan(Buffer.from(text), LIMITS.bodyDepthMax)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return hasInfinity(text, value) || containsUnsafeKey(value) ? undefined : value
  } catch {
    // The text may be anything. The caller reports what was expected.
    return undefined
  }
}

/** Recursion is safe, because the depth has been checked. */
function containsUnsafeKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Object.hasOwn(value, '__proto__')) return true
  const reachesPrototype =
    Object.hasOwn(value, 'constructor') && Object.hasOwn(Object(value.constructor), 'prototype')
  return reachesPrototype || Object.values(value).some(containsUnsafeKey)
}

/** Numbers that may be beyond all numbers: with an exponent of three digits, or with so many digits that one of two is
 *  enough. Digits are counted only from the first of each number, or many long numbers would take a second. */
const MAY_OVERFLOW = /[eE]\+?\d{3}|(?<!\d)\d{210}/

/** `1e999` is parsed as Infinity, which would be serialised as `null`. */
function hasInfinity(text: string, value: unknown): boolean {
  return MAY_OVERFLOW.test(text) && containsInfinity(value)
}

/** Recursion is safe, because the depth has been checked. */
function containsInfinity(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).some(containsInfinity)
  return value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Counts brackets outside of strings. Does not check whether the text is JSON. */
function isDeeperThan(bytes: Uint8Array, depthMax: number): boolean {
  let depth = 0
  let inString = false
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (inString) {
      if (byte === BACKSLASH) i++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    // `[` and `{` differ in one bit, as do `]` and `}`.
    else if (byte === 0x5b || byte === 0x7b) {
      if (++depth > depthMax) return true
    } else if (byte === 0x5d || byte === 0x7d) depth--
  }
  return false
}
