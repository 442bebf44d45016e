// The texts of fields of local time. They have no zone; they are of the one that all other times of the page are shown in.
import { timeZone } from './time.ts'

const PARTS: Intl.DateTimeFormatOptions = {
  ...{ year: 'numeric', month: '2-digit', day: '2-digit' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
}

/** "2026-03-01T14:03:05". */
export function localText(ms: number): string {
  const zone = timeZone.value
  const format = new Intl.DateTimeFormat('en', {
    ...PARTS,
    ...(zone === undefined ? {} : { timeZone: zone }),
  })
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]))
  const [day, time] = [
    ['month', 'day'],
    ['hour', 'minute', 'second'],
  ] as const
  const year = parts.get('year')?.padStart(4, '0')
  const monthAndDay = day.map((name) => parts.get(name)).join('-')
  return `${year}-${monthAndDay}T${time.map((name) => parts.get(name)).join(':')}`
}

/** The instant of such a text, NaN if it is none. A time that the clock skips is as much later. */
export function localMs(text: string): number {
  const asUtc = utcMs(text)
  if (Number.isNaN(asUtc)) return Number.NaN
  // The clock may have been changed between the two.
  return asUtc - aheadMs(asUtc - aheadMs(asUtc))
}

/** How far local time is ahead of UTC at an instant. */
const aheadMs = (ms: number) => utcMs(localText(ms)) - Math.floor(ms / 1000) * 1000

/** The fields take years of five and six digits, too, which are written with a sign in an instant. */
const utcMs = (text: string) =>
  Date.parse(`${text.replace(/^\d{5,6}(?=-)/, (year) => `+${year.padStart(6, '0')}`)}Z`)
