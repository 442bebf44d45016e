import { number } from '../words/words.ts'

/** Text in the unit that leaves at most three digits. */
export function byteCount(size: number): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const
  const step = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, size)) / 3)))
  return number(size / 1000 ** step, {
    style: 'unit',
    unit: units[step] ?? 'byte',
    // The short form of English has no plural.
    unitDisplay: step === 0 ? 'long' : 'short',
    maximumSignificantDigits: 3,
  })
}
