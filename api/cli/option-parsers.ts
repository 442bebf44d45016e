// What is typed on a command line, read into what the API takes.
import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import type { JsonObject } from '../../schemas/json.ts'
import { EXIT, Failure } from './failure.ts'

/** For an option that must be a whole number. */
export function wholeNumber(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`expected a whole number from ${min} to ${max}`)
    return value
  }
}

/** For an option that may be given several times. */
export function collect(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), text]
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** An ISO 8601 instant as it is, or how long ago: 90s, 15m, 2h, 7d. */
export function instant(text: string, now: number = Date.now()): string {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  const unitMs = UNITS_MS[unit]
  if (count !== undefined && unitMs !== undefined) return new Date(now - Number(count) * unitMs).toISOString()
  if (/^\d{4}-\d{2}-\d{2}/.test(text)) return text
  throw new InvalidArgumentError(
    'expected an instant such as 2026-03-01T08:30:00Z, or how long ago: 90s, 15m, 2h, 7d',
  )
}

/** JSON as it stands, `@file`, or `-` for standard input. */
export function jsonObject(text: string): JsonObject {
  const source = text === '-' ? 0 : text.startsWith('@') ? text.slice(1) : undefined
  const json = source === undefined ? text : readText(source)
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    throw new InvalidArgumentError(
      `expected a JSON object such as '{"speed": 1}', @file or -: ${error instanceof Error ? error.message : ''}`,
    )
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InvalidArgumentError('expected a JSON object such as \'{"speed": 1}\'')
  // Parsed from JSON, and just shown to be an object.
  return value as JsonObject
}

/** A path, or 0 for standard input. */
export function readText(source: string | number): string {
  try {
    return readFileSync(source, 'utf8')
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Failure(EXIT.usage, `${source === 0 ? 'standard input' : source} cannot be read: ${why}`)
  }
}

/** For `name=value`: a value is JSON if it reads as such, and text otherwise. */
export function parameter(text: string, before: JsonObject | undefined): JsonObject {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('expected name=value')
  const value = text.slice(at + 1)
  return { ...before, [text.slice(0, at)]: jsonOr(value) }
}

function jsonOr(text: string): JsonObject[string] {
  try {
    // Any JSON is a value.
    return JSON.parse(text) as JsonObject[string]
  } catch {
    // Then it is text.
    return text
  }
}
