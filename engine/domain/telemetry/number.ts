// Reads JSON numbers from bytes, with the same result as `JSON.parse` to the bit. The digits form a whole number, which is
// exact below 2^53. It is divided by one power of ten, which is exact up to 10^22. A single division of two exact numbers
// is correctly rounded (Clinger). All other numbers go through `Number`.
import { Buffer } from 'node:buffer'

const EXACT_MAX = 2 ** 53
/** 1 to 10^22. They are parsed, because parsing is exact and repeated multiplication might not be. */
const POWERS = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`))
const MINUS = 0x2d
const PLUS = 0x2b
const DOT = 0x2e
const ZERO = 0x30

/** Writes the number that starts at `from` to `into[place]`. Returns the index after it, or -1 if no finite number is
 *  there. */
export function readNumber(bytes: Uint8Array, from: number, into: Float64Array, place: number): number {
  let at = from
  let digit = (bytes[at] ?? 0) - ZERO
  const negative = digit === MINUS - ZERO
  if (negative) digit = (bytes[++at] ?? 0) - ZERO
  if (!(digit >= 0 && digit <= 9)) return -1
  let whole = digit
  const first = digit
  digit = (bytes[++at] ?? 0) - ZERO
  // JSON allows no digit after a leading zero. The number ends there, and the caller refuses what follows.
  if (first !== 0)
    while (digit >= 0 && digit <= 9) {
      whole = whole * 10 + digit
      digit = (bytes[++at] ?? 0) - ZERO
    }
  let scale = 0
  if (digit === DOT - ZERO) {
    const start = at + 1
    digit = (bytes[++at] ?? 0) - ZERO
    while (digit >= 0 && digit <= 9) {
      whole = whole * 10 + digit
      digit = (bytes[++at] ?? 0) - ZERO
    }
    scale = at - start
    if (scale === 0) return -1
  }
  // `e` or `E`, rare in telemetry.
  if (digit === 0x65 - ZERO || digit === 0x45 - ZERO)
    return readLong(bytes, from, exponentEnd(bytes, at), into, place)
  // A whole number that is still below 2^53 was exact at every step.
  if (!(whole < EXACT_MAX) || scale > 22) return readLong(bytes, from, at, into, place)
  const value = scale === 0 ? whole : whole / (POWERS[scale] ?? 1)
  into[place] = negative ? -value : value
  return at
}

function exponentEnd(bytes: Uint8Array, from: number): number {
  let at = from + 1
  if (bytes[at] === MINUS || bytes[at] === PLUS) at++
  const start = at
  while (isDigit(bytes[at] ?? 0)) at++
  return at === start ? -1 : at
}

/** Reads a number with `Number`. Its text must be valid. */
function readLong(bytes: Uint8Array, from: number, to: number, into: Float64Array, place: number): number {
  if (to < 0) return -1
  const value = Number(Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1'))
  if (!Number.isFinite(value)) return -1
  into[place] = value
  return to
}

export function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= 0x39
}
