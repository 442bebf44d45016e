// Times as people read them. A place in time is kept as milliseconds; the service's clock counts, not the browser's.
import { signal } from '@preact/signals'
import { locale } from './words.ts'

/** How far the service's clock is ahead of the browser's. */
let clockAheadMs = 0
/** The zone of shown times; undefined is the browser's. */
export const timeZone = signal<string | undefined>(undefined)

export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** The service's time, renewed each second: ages that read it count on by themselves. */
export const now = signal(Date.now())

/** Learns the service's time from something that it sent just now. */
export function noteClock(serverMs: number): void {
  const ahead = serverMs - Date.now()
  // Two seconds are the way of the message and the second that a header is rounded to, not the clock.
  if (!Number.isFinite(ahead) || Math.abs(ahead - clockAheadMs) <= 2000) return
  clockAheadMs = ahead
  now.value = serviceMs(Date.now())
}

/** A time of the browser's clock as the service's clock has it. */
export const serviceMs = (browserMs: number): number => browserMs + clockAheadMs

/** Begins to count. */
export function countSeconds(): void {
  setInterval(() => {
    if (!document.hidden) now.value = serviceMs(Date.now())
  }, 1000)
}

export function instant(ms: number, options: Intl.DateTimeFormatOptions = {}): string {
  const zone = timeZone.value
  const all = { dateStyle: 'medium', timeStyle: 'medium', ...options } as const
  const { dateStyle, timeStyle, ...others } = all
  const hasParts = Object.keys(options).some((name) => !['dateStyle', 'timeStyle'].includes(name))
  const shown = hasParts ? others : { dateStyle, timeStyle }
  return new Intl.DateTimeFormat(locale(), {
    ...shown,
    ...(zone === undefined ? {} : { timeZone: zone }),
  }).format(ms)
}

/** "14:03:05". */
export const clockTime = (ms: number): string => instant(ms, { timeStyle: 'medium', dateStyle: undefined })

/** The whole time with milliseconds and zone, for tooltips and for copying. */
export function exactInstant(ms: number): string {
  return new Date(ms).toISOString()
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
] as const
type Unit = (typeof UNITS)[number]

/** "12 s", "4 min", "1 h 30 min": the greatest unit that fits, and the next one if something is left. */
export function duration(ms: number): string {
  // If none fits, seconds: the last one.
  const found = UNITS.findIndex(([, length]) => ms >= length)
  const [[unit, size], next] = UNITS.slice(found) as [Unit, Unit?]
  const left = next === undefined ? 0 : Math.trunc((ms % size) / next[1])
  const whole = inUnit(Math.trunc(ms / size), unit)
  return next === undefined || left === 0 ? whole : `${whole} ${inUnit(left, next[0])}`
}

function inUnit(count: number, unit: Unit[0]): string {
  const format = { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 0 } as const
  return new Intl.NumberFormat(locale(), format).format(count)
}

/** "4 min ago". */
export function ago(ms: number): string {
  const passed = Math.max(0, now.value - ms)
  const [unit, size] = UNITS.find(([, length]) => passed >= length) ?? ['second', 1000]
  const format = new Intl.RelativeTimeFormat(locale(), { numeric: 'always', style: 'short' })
  return format.format(-Math.trunc(passed / size), unit)
}
