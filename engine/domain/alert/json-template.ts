// A webhook's body as a JSON text with placeholders in its strings. It is read as JSON first and filled in afterwards, so
// no value can change its shape.
import { Buffer } from 'node:buffer'
import type { Json } from '../../../schemas/json.ts'
import { jsonErrorAt } from './json-error.ts'
import {
  fillTemplate,
  isKnown,
  placeholderValue,
  type TemplateValues,
  unknownPlaceholders,
} from './template.ts'

export type JsonTemplate =
  | { readonly kind: 'parsed'; readonly tree: Json }
  | { readonly kind: 'malformed'; readonly position: number }
  /** A placeholder in a key. */
  | { readonly kind: 'in_key'; readonly key: string }
  | { readonly kind: 'unknown'; readonly name: string }

const TEMPLATE_RESULT_BYTES_MAX = 65_536
const VALUE_CHARS_MAX = [1_024, 256, 64, 16]
const NUMBER = /^\{\{\s*([^{}:]*?)\s*:\s*number\s*\}\}$/

export function parseJsonTemplate(text: string): JsonTemplate {
  const position = jsonErrorAt(text)
  if (position !== undefined) return { kind: 'malformed', position }
  // It is JSON: the check above found no error.
  const tree = JSON.parse(text) as Json
  let fault: JsonTemplate | undefined
  JSON.stringify(tree, (key, value: unknown) => {
    if (/\{\{[^{}]*\}\}/.test(key)) fault ??= { kind: 'in_key', key }
    if (typeof value !== 'string') return value
    const number = NUMBER.exec(value)?.[1]
    const name = number === undefined ? unknownPlaceholders(value)[0] : isKnown(number) ? undefined : number
    if (name !== undefined) fault ??= { kind: 'unknown', name }
    return value
  })
  return fault ?? { kind: 'parsed', tree }
}

/** The text to send. If it would be too long, all values are cut shorter. */
export function fillJsonTemplate(tree: Json, values: TemplateValues): string {
  for (const charsMax of VALUE_CHARS_MAX) {
    const text = fillStrings(tree, values, charsMax)
    if (Buffer.byteLength(text) <= TEMPLATE_RESULT_BYTES_MAX) return text
  }
  return fillStrings(tree, values, 1)
}

function fillStrings(tree: Json, values: TemplateValues, charsMax: number): string {
  return JSON.stringify(tree, (_, value: unknown) => {
    if (typeof value !== 'string') return value
    const number = NUMBER.exec(value)?.[1]
    if (number === undefined) return fillTemplate(value, values, charsMax)
    return toNumber(placeholderValue(number, values))
  })
}

function toNumber(value: Json | undefined): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}
