// Secrets of keys, `<prefix>_<id>_<secret>`. A secret is shown once, and only its SHA-256 is stored.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

const SECRET_BYTES = 32

export interface KeySort {
  /** The beginning of every key. */
  readonly prefix: string
  /** The beginning of the id of every record. */
  readonly idPrefix: string
}

export interface NewSecret {
  /** The whole key, which is shown in a single answer. */
  readonly text: string
  readonly hash: string
}

export function newSecret({ prefix, idPrefix }: KeySort, id: string): NewSecret {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  return { text: `${prefix}${id.slice(idPrefix.length)}_${secret}`, hash: hashOf(secret) }
}

/** Reads the id in a key, and compares the secret in constant time. Undefined for text that is not such a key. */
export function readKey(
  { prefix, idPrefix }: KeySort,
  text: string,
): { readonly id: string; isOf(hash: string): boolean } | undefined {
  if (!text.startsWith(prefix)) return undefined
  const [, name, secret] = REST.exec(text.slice(prefix.length)) ?? []
  if (name === undefined || secret === undefined) return undefined
  const shown = Buffer.from(hashOf(secret))
  return { id: `${idPrefix}${name}`, isOf: (hash) => timingSafeEqual(shown, Buffer.from(hash)) }
}

const REST = /^([0-9a-z]{26})_([A-Za-z0-9_-]{43})$/

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}
