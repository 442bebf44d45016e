// Options and arguments that several commands share, and the parsers that turn text into what the API expects.

import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import { errorText } from '../../schemas/error-text.ts'
import { Millis, toIso } from '../../schemas/ids.ts'
import { INSTANT_EXPECTED, parseInstant } from '../../schemas/instant-text.ts'
import { type JsonObject, parseJson } from '../../schemas/json.ts'
import { EXIT, Failure } from './failure.ts'

/** A parser for whole numbers between `min` and `max`. */
export function wholeNumber(min: number, max: number) {
  return (text: string): number => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`expected a whole number from ${min} to ${max}`)
    return value
  }
}

/** Collects an option that may be repeated. */
export function collect(text: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), text]
}

/** Parses a time as the API does. Ages are relative to this machine's clock, read once for all pages of a list. */
export function instant(text: string, now: number = Date.now()): string {
  const at = parseInstant(text, Millis(now))
  if (at === undefined) throw new InvalidArgumentError(`expected ${INSTANT_EXPECTED}`)
  return toIso(at)
}

/** Parses the end of a lifetime: a time, or a duration from now such as `90d`. */
export function laterInstant(text: string): string {
  const [, length] = /^\+?(\d{1,9}[smhdw])$/.exec(text.trim()) ?? []
  if (length === undefined) return instant(text)
  const now = Date.now()
  return toIso(Millis(2 * now - Date.parse(instant(length, now))))
}

/** Parses comma-separated words. The option may be repeated. */
export function words<Word extends string>(known: readonly Word[]) {
  return (text: string, before: readonly Word[] = []): readonly Word[] => {
    const found = text.split(',').map((part) => {
      const word = known.find((each) => each === part.trim())
      if (word === undefined) throw new InvalidArgumentError(`Allowed choices are ${known.join(', ')}.`)
      return word
    })
    return [...before, ...found]
  }
}

// Commander also passes a parser the previous value, which `instant` would take for the current time.
export const FROM_OPTION = [
  '--from <when>',
  'start: a time, `now`, or an age such as -15m, -2h, 7d',
  (text: string) => instant(text),
] as const
export const TO_OPTION = [
  '--to <when>',
  'end: likewise (default: now)',
  (text: string) => instant(text),
] as const
export const YES_OPTION = ['--yes', 'do not ask for confirmation'] as const
export const DEVICE_ARGUMENT = ['<device_id>', 'id of the device'] as const

/** Parses a JSON object, which may be given as text, as `@file`, or as `-` for standard input. */
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
  // A JSON value that is neither a scalar nor an array is an object.
  return value as JsonObject
}

/** Reads a file. A `source` of 0 is standard input. */
export function readText(source: string | number): string {
  try {
    // PowerShell and others begin a file with a byte order mark, which JSON does not allow.
    return readFileSync(source, 'utf8').replace(/^\ufeff/, '')
  } catch (error) {
    const why = errorText(error)
    throw new Failure(EXIT.usage, `${source === 0 ? 'standard input' : source} cannot be read: ${why}`)
  }
}

/** Reads a body from a JSON file, or from standard input for `-`. The service validates it and reports errors. */
export function readJsonFile<Body>(file: string): Body {
  const text = readText(file === '-' ? 0 : file)
  try {
    return JSON.parse(text) as Body
  } catch (error) {
    const why = errorText(error)
    throw new Failure(EXIT.usage, `${file} cannot be read as JSON: ${why}`)
  }
}

/** Adds a `name=value` to the previous ones. The value is parsed as JSON if possible, and is text otherwise. */
export function parameter(text: string, before: JsonObject | undefined): JsonObject {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('expected name=value')
  const value = text.slice(at + 1)
  return { ...before, [text.slice(0, at)]: jsonOr(value) }
}

function jsonOr(text: string): JsonObject[string] {
  const value = parseJson(text)
  return value === undefined ? text : value
}
