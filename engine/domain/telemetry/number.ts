// Reads JSON numbers from bytes, bit for bit like `JSON.parse`. Digits are gathered into a whole number, exact below
// 2^53, and scaled by one power of ten, exact up to 10^22. One correctly rounded operation on two exact numbers is
// correctly rounded (Clinger). Everything else goes through `Number`.
import { Buffer } from 'node:buffer'

const EXACT_MAX = 2 ** 53
// Literals are exact; computed powers might not be.
const POWERS = Float64Array.of(
  1,
  1e1,
  1e2,
  1e3,
  1e4,
  1e5,
  1e6,
  1e7,
  1e8,
  1e9,
  1e10,
  1e11,
  1e12,
  1e13,
  1e14,
  1e15,
  1e16,
  1e17,
  1e18,
  1e19,
  1e20,
  1e21,
  1e22,
)
const MINUS = 0x2d
const PLUS = 0x2b
const DOT = 0x2e
const ZERO = 0x30

/** Writes the number that starts at `from` to `into[place]`. Returns the index after it, or -1 if there is no finite
 *  number. */
export function readNumber(bytes: Uint8Array, from: number, into: Float64Array, place: number): number {
  let at = from
  let digit = (bytes[at] ?? 0) - ZERO
  const negative = digit === MINUS - ZERO
  if (negative) digit = (bytes[++at] ?? 0) - ZERO
  if (!(digit >= 0 && digit <= 9)) return -1
  let whole = digit
  const first = digit
  digit = (bytes[++at] ?? 0) - ZERO
  // No digit may follow a leading zero; the caller refuses one.
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
  // A sum that stayed below 2^53 was exact at every step.
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

/** Reads a number, whose text is valid, the slow way. */
function readLong(bytes: Uint8Array, from: number, to: number, into: Float64Array, place: number): number {
  if (to < 0) return -1
  const value = Number(Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1'))
  if (!Number.isFinite(value)) return -1
  into[place] = value
  return to
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= 0x39
}
