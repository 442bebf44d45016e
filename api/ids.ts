// Identifiers made by the service: a prefix and a lower-case ULID, which sorts by time and carries it.
import { randomFillSync } from 'node:crypto'
import { base32, BASE32_DIGITS as DIGITS } from '../engine/domain/base32.ts'
import type { Clock } from '../engine/ports/clock.ts'
import { Millis } from '../schemas/ids.ts'

const TIME_CHARS = 10
const RANDOM_CHARS = 16
const POOL_BYTES = RANDOM_CHARS * 256

export interface Ids {
  /** A new id, such as `dev_01jd0c3k9x7m2v5t8r4q6w1z0y`. `at` is the time it carries, now if left out. */
  next(prefix: string, at?: Millis): string
}

export function createIds(clock: Clock): Ids {
  const pool = new Uint8Array(POOL_BYTES)
  let used = POOL_BYTES
  const random = () => {
    if (used === POOL_BYTES) {
      randomFillSync(pool)
      used = 0
    }
    let text = ''
    for (const end = used + RANDOM_CHARS; used < end; used++) text += DIGITS.charAt((pool[used] ?? 0) & 31)
    return text
  }
  let latest = { at: Number.NaN, text: '' }
  const time = (at: Millis) => {
    // Ids made in the same millisecond share the text of their time.
    if (at !== latest.at) latest = { at, text: base32(at, TIME_CHARS) }
    return latest.text
  }
  return { next: (prefix, at = clock.now()) => `${prefix}${time(at)}${random()}` }
}

/** An id of the usual form, made from 26 given bytes instead of the time and random values. The time it seems to carry is
 *  meaningless. */
export function idOfBytes(prefix: string, bytes: Uint8Array): string {
  const digits = Array.from(bytes.subarray(0, TIME_CHARS + RANDOM_CHARS), (byte, i) =>
    // A ULID has 128 bits, so its first digit is 7 at most.
    DIGITS.charAt(byte & (i === 0 ? 7 : 31)),
  )
  return prefix + digits.join('')
}

/** The time that an id carries. Undefined for text that is not such an id. */
export function timeOfId(id: string, prefix: string): Millis | undefined {
  if (id.length !== prefix.length + TIME_CHARS + RANDOM_CHARS || !id.startsWith(prefix)) return undefined
  let at = 0
  for (const char of id.slice(prefix.length, prefix.length + TIME_CHARS)) {
    const digit = DIGITS.indexOf(char)
    if (digit < 0) return undefined
    at = at * 32 + digit
  }
  return Millis(at)
}
