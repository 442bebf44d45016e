// Parses a time as people write it: in a query, a body or an option of the command line.
//
// ISO 8601: without a zone it is UTC, and a date alone is its midnight. Milliseconds since 1970, as Grafana sends them.
// Relative times: `now`, and ages such as `-15m`, `now-2h` or `7d`.
import { Millis } from './ids.ts'

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|z|[+-]\d{2}:?\d{2})?)?$/
const EPOCH_MS = /^\d{12,14}$/
const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const
const AGE = /^(?:now-|-)?(\d{1,9})([smhdw])$/

/** The forms that are accepted besides ISO 8601, as a pattern for JSON schemas. */
export const RELATIVE_PATTERN = '^(now|(now-|-)?\\d{1,9}[smhdw]|\\d{12,14})$'
/** Completes error messages about an invalid time. */
export const INSTANT_EXPECTED = 'a time such as 2026-03-01T08:30:00Z, `now`, or an age such as -15m, -2h, -7d'

/** Undefined for text that is not a time, including 30 February. */
export function parseInstant(text: string, now: Millis): Millis | undefined {
  const trimmed = text.trim()
  if (trimmed === 'now') return now
  const [, count, unit] = AGE.exec(trimmed) ?? []
  // The pattern allows no other units.
  if (count !== undefined) return Millis(now - Number(count) * UNITS_MS[unit as keyof typeof UNITS_MS])
  if (EPOCH_MS.test(trimmed)) return Millis(Number(trimmed))
  return parseIso(trimmed)
}

function parseIso(text: string): Millis | undefined {
  // The `+` of a zone arrives as a blank if it was not percent-encoded.
  const found = ISO.exec(text.replace(/ (?=\d{2}:?\d{2}$)(?<=:\d{2}.* )/, '+'))
  if (found === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found
    .slice(1, 7)
    .map((part) => Number(part ?? 0))
  // `Date.UTC` would read the year 50 as 1950.
  const date = new Date(0).setUTCFullYear(year, month - 1, day)
  const isReal = new Date(date).getUTCMonth() === month - 1 && new Date(date).getUTCDate() === day
  // Second 60 is a leap second. It counts as the first second of the next minute.
  if (!isReal || hour > 23 || minute > 59 || second > 60) return undefined
  const offset = offsetMinutes(found[8])
  if (offset === undefined) return undefined
  const fraction = Math.floor(Number(`0.${found[7] ?? '0'}`) * 1000)
  return Millis(date + ((hour * 60 + minute - offset) * 60 + second) * 1000 + fraction)
}

function offsetMinutes(zone: string | undefined): number | undefined {
  if (zone === undefined || zone === 'Z' || zone === 'z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(-2))
  if (hours > 23 || minutes > 59) return undefined
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}
