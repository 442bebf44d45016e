// The time range of charts, as it stands in the address: `from=-1h` moves with the clock, `from` and `to` as instants do not.
import { INTERVAL_SECONDS, INTERVALS, type Interval } from '../../../../schemas/vocabulary.ts'

export type TimeRange =
  | { readonly kind: 'live'; readonly spanMs: number }
  | { readonly kind: 'fixed'; readonly fromMs: number; readonly toMs: number }

export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

const MINUTE = 60_000
const UNITS = { m: MINUTE, h: 60 * MINUTE, d: 24 * 60 * MINUTE } as const
export const PRESETS = ['15m', '1h', '24h', '7d', '30d'] as const
const SPAN_MS_MIN = 1000
const SPAN_MS_MAX = 400 * UNITS.d
/** The service gives no more buckets of one metric than these. */
const BUCKETS_MAX = 11_000
const BUCKETS_PER_PIXEL = 2

export const LAST_HOUR: TimeRange = { kind: 'live', spanMs: UNITS.h }

/** What cannot be read is the last hour. */
export function readRange(from: string, to: string): TimeRange {
  const spanMs = from.startsWith('-') ? presetMs(from.slice(1)) : undefined
  if (spanMs !== undefined) return { kind: 'live', spanMs }
  const fromMs = Date.parse(from)
  const toMs = Date.parse(to)
  const isSpan = toMs - fromMs >= SPAN_MS_MIN && toMs - fromMs <= SPAN_MS_MAX
  return isSpan ? { kind: 'fixed', fromMs, toMs } : LAST_HOUR
}

/** The texts of `from` and `to`; the default leaves both out. */
export function writeRange(range: TimeRange): { readonly from: string; readonly to: string } {
  if (range.kind === 'live')
    return { from: range.spanMs === UNITS.h ? '' : `-${presetText(range.spanMs)}`, to: '' }
  return { from: new Date(range.fromMs).toISOString(), to: new Date(range.toMs).toISOString() }
}

export function spanOf(range: TimeRange, nowMs: number): Span {
  return range.kind === 'fixed' ? range : { fromMs: nowMs - range.spanMs, toMs: nowMs }
}

/** A fixed range of at least a second. */
export function fixedRange(fromMs: number, toMs: number): TimeRange {
  const from = Math.round(Math.min(fromMs, toMs))
  const to = Math.max(Math.round(Math.max(fromMs, toMs)), from + SPAN_MS_MIN)
  return { kind: 'fixed', fromMs: Math.max(from, to - SPAN_MS_MAX), toMs: to }
}

/** Moves by a share of its length, or grows and shrinks around its middle. */
export function moved({ fromMs, toMs }: Span, by: number): TimeRange {
  const step = (toMs - fromMs) * by
  return fixedRange(fromMs + step, toMs + step)
}
export function scaled({ fromMs, toMs }: Span, by: number): TimeRange {
  const middle = (fromMs + toMs) / 2
  const half = Math.max(((toMs - fromMs) * by) / 2, SPAN_MS_MIN / 2)
  return fixedRange(middle - half, middle + half)
}

const AROUND_MS = [1, 6, 24, 7 * 24, 30 * 24, 120 * 24, 400 * 24].map((hours) => hours * UNITS.h)
/** The time around a span is at least so many times as long. */
const AROUND_TIMES = 4

/** The longer time in which a span lies, up to now at most. It moves in quarters, so that a span that is moved within it
 *  leaves it where it is. */
export function aroundSpan({ fromMs, toMs }: Span, nowMs: number): Span {
  const lengthMs = AROUND_MS.find((ms) => ms >= (toMs - fromMs) * AROUND_TIMES) ?? SPAN_MS_MAX
  const step = lengthMs / AROUND_TIMES
  const end = Math.max(toMs, Math.min(nowMs, Math.ceil(toMs / step) * step))
  return { fromMs: Math.min(fromMs, end - lengthMs), toMs: end }
}

/** The finest interval that gives no more buckets than the chart can show and the service gives. */
export function intervalFor({ fromMs, toMs }: Span, widthPx: number): Interval {
  const most = Math.min(BUCKETS_MAX, Math.max(1, widthPx) * BUCKETS_PER_PIXEL)
  const fits = (interval: Interval) => (toMs - fromMs) / (INTERVAL_SECONDS[interval] * 1000) <= most
  return INTERVALS.find(fits) ?? '1d'
}

export function presetMs(text: string): number | undefined {
  const [, count = '', unit = ''] = /^(\d{1,4})([mhd])$/.exec(text) ?? []
  const ms = Number(count) * (UNITS[unit as keyof typeof UNITS] ?? Number.NaN)
  return ms >= SPAN_MS_MIN && ms <= SPAN_MS_MAX ? ms : undefined
}

function presetText(ms: number): string {
  const named = PRESETS.find((preset) => presetMs(preset) === ms)
  if (named !== undefined) return named
  const [unit, size] = Object.entries(UNITS).findLast(([, length]) => ms % length === 0) ?? ['m', MINUTE]
  return `${Math.max(1, Math.round(ms / size))}${unit}`
}
