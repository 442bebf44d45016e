import { plainText } from '../../../parts/plain-text.ts'
import { number } from '../../../words/words.ts'

const CHARS_MAX = 200

/** A reported value as one line. */
export function valueText(value: unknown): string {
  if (typeof value === 'number') return number(value, { maximumFractionDigits: 3 })
  if (value === null || value === undefined) return '–'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return plainText(text.length > CHARS_MAX ? `${text.slice(0, CHARS_MAX)}…` : text)
}
