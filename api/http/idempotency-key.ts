// The header that makes repeating a request safe.
import { createHash } from 'node:crypto'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import type { UserId } from '../../schemas/ids.ts'
import { type Refusal, refused } from './answer.ts'

export type IdempotencyKey =
  | { readonly kind: 'read'; readonly key: string | undefined }
  | { readonly kind: 'unreadable'; readonly refusal: Refusal }

const VISIBLE = /^[\x21-\x7e]+$/

/** One user's keys are not another's: the key that counts holds the user's id. */
export function parseIdempotencyKey(header: string | undefined, user: UserId): IdempotencyKey {
  if (header === undefined) return { kind: 'read', key: undefined }
  const max = BODY_LIMITS.idempotencyKeyCharsMax
  if (VISIBLE.test(header) && header.length <= max) return { kind: 'read', key: `${user} ${header}` }
  const message = `Idempotency-Key must be 1 to ${max} visible characters without blanks`
  return { kind: 'unreadable', refusal: refused('BAD_REQUEST', { message }) }
}

const ID_CHARS = 26

/** The same key always makes the same id. */
export function idOfKey(prefix: string, key: string): string {
  return `${prefix}${createHash('sha256').update(key).digest('hex').slice(0, ID_CHARS)}`
}
