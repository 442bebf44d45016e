// Secrets of keys, `<prefix>_<id>_<secret>`. A secret is shown once, and only its SHA-256 is stored.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { LIMITS } from '../../engine/limits.ts'
import type { Clock } from '../../engine/ports/clock.ts'
import { type Millis, UserId } from '../../schemas/ids.ts'
import type { Ids } from '../ids.ts'

const SECRET_BYTES = 32

export interface KeyFormat {
  readonly prefix: string
  /** The beginning of the id of every record. */
  readonly idPrefix: string
}

export interface NewSecret {
  /** The whole key, which is shown in a single answer. */
  readonly text: string
  readonly hash: string
}

export function newSecret({ prefix, idPrefix }: KeyFormat, id: string): NewSecret {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  return { text: `${prefix}${id.slice(idPrefix.length)}_${secret}`, hash: hashOf(secret) }
}

interface KnownKeys<Key> {
  readonly ids: Ids
  readonly clock: Clock
  readonly find: (id: UserId) => Key | undefined
  readonly isUsed: (key: Key) => boolean
}

/** The id of a new key. `wantedId`: the id that an earlier try of the same request had, if there was one. Its answer was
 *  lost, so nobody has the secret, which is replaced unless the key is in use or older than such a try can be. */
export function newKeyId<Key extends { readonly createdAt: Millis }>(
  wantedId: string | undefined,
  { idPrefix }: KeyFormat,
  { ids, clock, find, isUsed }: KnownKeys<Key>,
): UserId {
  const known = wantedId === undefined ? undefined : find(UserId(wantedId))
  const isTaken =
    known !== undefined && (isUsed(known) || known.createdAt + LIMITS.idempotencyKeyMs <= clock.now())
  return UserId(wantedId === undefined || isTaken ? ids.next(idPrefix) : wantedId)
}

/** Reads the id in a key, and compares the secret in constant time. Undefined for text that is not such a key. */
export function parseKey(
  { prefix, idPrefix }: KeyFormat,
  text: string,
): { readonly id: string; matches(hash: string): boolean } | undefined {
  if (!text.startsWith(prefix)) return undefined
  const [, name, secret] = KEY_BODY.exec(text.slice(prefix.length)) ?? []
  if (name === undefined || secret === undefined) return undefined
  const presented = Buffer.from(hashOf(secret))
  return { id: `${idPrefix}${name}`, matches: (hash) => timingSafeEqual(presented, Buffer.from(hash)) }
}

const KEY_BODY = /^([0-9a-z]{26})_([A-Za-z0-9_-]{43})$/

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}
