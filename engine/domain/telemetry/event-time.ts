// Reads the time that a report or a log line states. `new Date(text)` is not used, because it reads "1" as 2001 and
// 30 February as 2 March.
import { Buffer } from 'node:buffer'
import type { Micros } from '../../../schemas/ids.ts'
import type { Json } from '../../../schemas/json.ts'
import { LIMITS } from '../../limits.ts'
import { isDigit } from './number.ts'

/** Long enough for every sensible time, even one with superfluous digits. */
export const TIME_CHARS_MAX = 64

const DAY_SEC = 86_400
const PLUS = 0x2b
const COMMA = 0x2c
const MINUS = 0x2d
const DOT = 0x2e
const COLON = 0x3a

/** Returns the stated time in microseconds since 1970: ISO 8601, or a number of milliseconds. NaN for anything else. */
export function parseStatedTime(stated: Json): number {
  if (typeof stated === 'number') return Math.round(stated * 1000)
  if (typeof stated !== 'string' || stated.length > TIME_CHARS_MAX) return Number.NaN
  const bytes = Buffer.from(stated)
  return parseTime(bytes, 0, bytes.length)
}

/** Parses ISO 8601 in the ASCII bytes [from, to), with the forms of a time that REST takes: a time without a zone is UTC,
 *  a zone may lack its colon, and seconds may be left out. Returns microseconds since 1970, or NaN for anything else. */
export function parseTime(bytes: Uint8Array, from: number, to: number): number {
  const year = digits(bytes, from, 2, to) * 100 + digits(bytes, from + 2, 2, to)
  const month = digits(bytes, from + 5, 2, to)
  const day = digits(bytes, from + 8, 2, to)
  const hour = digits(bytes, from + 11, 2, to)
  const minute = digits(bytes, from + 14, 2, to)
  const hasSeconds = from + 16 < to && bytes[from + 16] === COLON
  const second = hasSeconds ? digits(bytes, from + 17, 2, to) : 0
  if (!isSeparated(bytes, from)) return Number.NaN
  if (!(month >= 1 && month <= 12 && day >= 1 && day <= daysOf(year, month))) return Number.NaN
  if (!(hour <= 23 && minute <= 59 && second <= 60)) return Number.NaN

  let at = from + (hasSeconds ? 19 : 16)
  let micros = 0
  if (hasSeconds && at < to && (bytes[at] === DOT || bytes[at] === COMMA)) {
    const start = ++at
    for (let unit = 100_000; at < to && isDigit(bytes[at] ?? 0); unit /= 10, at++)
      // Digits after the microsecond are dropped.
      if (unit >= 1) micros += ((bytes[at] ?? 0) - 0x30) * unit
    if (at === start) return Number.NaN
  }
  const zone = zoneSeconds(bytes, at, to)
  const seconds = dayNumber(year, month, day) * DAY_SEC + hour * 3600 + minute * 60 + second - zone
  // A leap second can only be at the end of a UTC day. It counts as the first second of the next day.
  if (second === 60 && seconds % DAY_SEC !== 0) return Number.NaN
  return seconds * 1_000_000 + micros
}

/** True for a time that cannot be right: one from before the device's clock was set, or further ahead than clocks
 *  drift. */
export function isFarOff(at: number, receivedAt: Micros): boolean {
  return at < LIMITS.timestampMin * 1000 || at > receivedAt + LIMITS.timestampAheadMsMax * 1000
}

function isSeparated(bytes: Uint8Array, from: number): boolean {
  const between = bytes[from + 10]
  return (
    bytes[from + 4] === MINUS &&
    bytes[from + 7] === MINUS &&
    (between === 0x54 || between === 0x74 || between === 0x20) &&
    bytes[from + 13] === COLON
  )
}

function zoneSeconds(bytes: Uint8Array, at: number, to: number): number {
  if (at === to) return 0
  const sign = bytes[at]
  if (at + 1 === to && (sign === 0x5a || sign === 0x7a)) return 0
  if (sign !== PLUS && sign !== MINUS) return Number.NaN
  const colons = bytes[at + 3] === COLON ? 1 : 0
  if (at + 5 + colons !== to) return Number.NaN
  const hours = digits(bytes, at + 1, 2, to)
  const minutes = digits(bytes, at + 3 + colons, 2, to)
  if (!(hours <= 23 && minutes <= 59)) return Number.NaN
  return (sign === MINUS ? -1 : 1) * (hours * 3600 + minutes * 60)
}

function digits(bytes: Uint8Array, from: number, count: number, to: number): number {
  if (from + count > to) return Number.NaN
  let value = 0
  for (let at = from; at < from + count; at++) {
    const byte = bytes[at] ?? 0
    if (!isDigit(byte)) return Number.NaN
    value = value * 10 + byte - 0x30
  }
  return value
}

function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** Returns days since 1970-01-01 in the proleptic Gregorian calendar. Years start in March here, so that 29 February is
 *  the last day of its year. */
function dayNumber(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  return y * 365 + Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400) + dayOfYear - 719_468
}
