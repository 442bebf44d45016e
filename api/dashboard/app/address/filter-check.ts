// What is wrong with the terms of a filter. A term that cannot be understood fits no device: it never widens the result.
import { nearestName } from '../../../../schemas/nearest-name.ts'
import { DEVICE_STATUSES } from '../../../../schemas/vocabulary.ts'
import { FILTER_KEYS, type FilterKey, isFilterKey, type Term } from './filter.ts'

const YES_OR_NO = ['yes', 'no'] as const
const ALERT_WORDS = ['any', 'none', 'warning', 'critical'] as const
const IS_WORDS = ['attention', 'held', 'child'] as const

/** Keys whose values are words of a closed list. */
const WORDS: Partial<Readonly<Record<FilterKey, readonly string[]>>> = {
  status: DEVICE_STATUSES,
  conn: YES_OR_NO,
  flapping: YES_OR_NO,
  sync: YES_OR_NO,
  alert: ALERT_WORDS,
  is: IS_WORDS,
}

const wordsOf = (key: FilterKey): readonly string[] | undefined => WORDS[key]

export type TermProblem =
  /** The nearest key, if one is near. */
  | { readonly kind: 'unknown-key'; readonly nearest: string | undefined }
  | { readonly kind: 'unknown-word'; readonly value: string; readonly nearest: string | undefined }
  | { readonly kind: 'no-duration'; readonly value: string }
  | { readonly kind: 'no-number'; readonly value: string }
  | { readonly kind: 'wrong-operator' }

/** `metrics` are those that are loaded as columns. */
export function problemOf(term: Term, metrics: readonly string[] = []): TermProblem | undefined {
  const { name, operator, values } = term
  if (name === undefined) return undefined
  if (metrics.includes(name)) {
    if (operator === undefined) return { kind: 'wrong-operator' }
    const value = values.find((text) => numberOf(text) === undefined)
    return value === undefined ? undefined : { kind: 'no-number', value }
  }
  if (!isFilterKey(name))
    return { kind: 'unknown-key', nearest: nearestName(name, [...FILTER_KEYS, ...metrics]) }
  return problemOfKey(name, term)
}

function problemOfKey(key: FilterKey, { operator, values }: Term): TermProblem | undefined {
  if (key === 'seen' || key === 'since') {
    if (key === 'seen' && values.every((value) => value === 'never')) return undefined
    const value = values.find((text) => durationMs(text) === undefined)
    if (value !== undefined) return { kind: 'no-duration', value }
    return operator === '<' || operator === '>' || values.length === 0
      ? undefined
      : { kind: 'wrong-operator' }
  }
  if ((operator === '<' || operator === '>') && key !== 'fw') return { kind: 'wrong-operator' }
  const words = wordsOf(key)
  const value = words === undefined ? undefined : values.find((text) => !words.includes(text.toLowerCase()))
  if (value === undefined || words === undefined) return undefined
  return { kind: 'unknown-word', value, nearest: nearestName(value, words) }
}

const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** `90s`, `10m`, `1.5h`, `2d`, `1w`. */
export function durationMs(text: string): number | undefined {
  const found = /^(\d{1,9}(?:\.\d{1,3})?)([smhdw])$/.exec(text.toLowerCase())
  const unit = UNITS[found?.[2] ?? '']
  return found === null || unit === undefined ? undefined : Number(found[1]) * unit
}

export function numberOf(text: string): number | undefined {
  return /^-?\d{1,15}(\.\d{1,9})?$/.test(text) ? Number(text) : undefined
}
