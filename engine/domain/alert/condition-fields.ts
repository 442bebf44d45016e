// What a field of a condition may be.
import type { FieldError } from '../../../schemas/problem.ts'
import { LIMITS } from '../../limits.ts'

export type Mistake = Pick<FieldError, 'code' | 'message'>
export type Check = (value: unknown) => Mistake | undefined
export interface Field {
  readonly check: Check
  readonly isNeeded?: true
}
export type Fields = Readonly<Record<string, Field>>

export const metric: Check = text(LIMITS.metricNameBytesMax)
export const number: Check = (value) =>
  typeof value === 'number' && Number.isFinite(value) ? undefined : wrongType('a number')

export function needed(check: Check): Field {
  return { check, isNeeded: true }
}

export function text(charsMax: number): Check {
  return (value) => {
    if (typeof value !== 'string') return wrongType('a text')
    if (value === '') return { code: 'TOO_SHORT', message: 'must not be empty' }
    if (value.length > charsMax)
      return { code: 'TOO_LONG', message: `must have at most ${charsMax} characters` }
    return undefined
  }
}

export function scalar(value: unknown): Mistake | undefined {
  if (typeof value === 'string') return text(LIMITS.ruleMessageCharsMax)(value)
  return typeof value === 'boolean' ? undefined : number(value)
}

export function flag(value: unknown): Mistake | undefined {
  return typeof value === 'boolean' ? undefined : wrongType('true or false')
}

export function oneOf(words: readonly string[]): Check {
  return (value) =>
    typeof value === 'string' && words.includes(value)
      ? undefined
      : { code: 'NOT_ALLOWED', message: `must be one of ${words.join(', ')}` }
}

export function listOf(words: readonly string[]): Check {
  const isWord = oneOf(words)
  return (value) => {
    if (!Array.isArray(value)) return wrongType('a list')
    if (value.length === 0) return { code: 'TOO_FEW', message: 'must not be empty' }
    if (value.length > words.length) return { code: 'TOO_MANY', message: 'has words more than once' }
    return value.map(isWord).find((mistake) => mistake !== undefined)
  }
}

/** A word, or a list with this word alone. */
export function oneOrListOfOne(words: readonly string[]): Check {
  const isWord = oneOf(words)
  return (value) => isWord(Array.isArray(value) && value.length === 1 ? value[0] : value)
}

export function between(min: number, max: number): Check {
  return (value) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) return wrongType('a number')
    return value >= min && value <= max
      ? undefined
      : { code: 'OUT_OF_RANGE', message: `must be from ${min} to ${max}` }
  }
}

export function whole(min: number, max: number): Check {
  const isBetween = between(min, max)
  return (value) => isBetween(value) ?? (Number.isInteger(value) ? undefined : wrongType('a whole number'))
}

export function wrongType(what: string): Mistake {
  return { code: 'WRONG_TYPE', message: `must be ${what}` }
}
