// Reads an ISO 8601 instant from a query or body. Without a zone it is UTC; a date alone is its midnight.
import { Millis } from '../../schemas/ids.ts'
import { invalid, type Refusal } from '../refusal.ts'

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|z|[+-]\d{2}:?\d{2})?)?$/

/** Undefined for text that is no such instant, 30 February included. */
export function parseInstant(text: string): Millis | undefined {
  // A `+` of the zone that was not percent-encoded arrives as a blank.
  const found = ISO.exec(text.trim().replace(/ (?=\d{2}:?\d{2}$)(?<=:\d{2}.* )/, '+'))
  if (found === null) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found
    .slice(1, 7)
    .map((part) => Number(part ?? 0))
  const date = Date.UTC(year, month - 1, day)
  const isReal = new Date(date).getUTCMonth() === month - 1 && new Date(date).getUTCDate() === day
  // 60 is a leap second: it counts as the first of the next minute.
  if (!isReal || hour > 23 || minute > 59 || second > 60) return undefined
  const offset = offsetMinutes(found[8])
  if (offset === undefined) return undefined
  const fraction = Math.floor(Number(`0.${found[7] ?? '0'}`) * 1000)
  return Millis(date + ((hour * 60 + minute - offset) * 60 + second) * 1000 + fraction)
}

export interface Span {
  readonly kind: 'span'
  readonly from: Millis | undefined
  readonly to: Millis | undefined
}

/** `from` and `to` of a query or body: either may be left out. */
export function parseSpan(
  query: { readonly from?: string; readonly to?: string },
  where: 'query' | 'body' = 'query',
): Span | Refusal {
  const noInstant = (path: string) =>
    invalid(path, { code: 'WRONG_FORMAT', message: 'must be an ISO 8601 instant', in: where })
  const from = query.from === undefined ? undefined : parseInstant(query.from)
  const to = query.to === undefined ? undefined : parseInstant(query.to)
  if (query.to !== undefined && to === undefined) return noInstant('/to')
  if (query.from !== undefined && from === undefined) return noInstant('/from')
  if (from !== undefined && to !== undefined && from >= to)
    return invalid('/from', { code: 'OUT_OF_RANGE', message: 'must be before `to`', in: where })
  return { kind: 'span', from, to }
}

function offsetMinutes(zone: string | undefined): number | undefined {
  if (zone === undefined || zone === 'Z' || zone === 'z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(-2))
  if (hours > 23 || minutes > 59) return undefined
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}
