// The leaves of a device's latest telemetry, by their dotted names.
import type { JsonObject } from '../../../../schemas/json.ts'
import { number } from '../words/words.ts'
import { plainText } from './plain-text.ts'

/** Deeper documents are shown as text. */
const DEPTH_MAX = 6

export function flatValues(
  data: JsonObject,
  prefix = '',
  depth = 0,
): readonly (readonly [string, unknown])[] {
  return Object.entries(data).flatMap(([name, value]): readonly (readonly [string, unknown])[] => {
    const path = prefix === '' ? name : `${prefix}.${name}`
    const isBranch = typeof value === 'object' && value !== null && !Array.isArray(value)
    // An object that is not an array is one of JSON.
    return isBranch && depth < DEPTH_MAX ? flatValues(value as JsonObject, path, depth + 1) : [[path, value]]
  })
}

const TEXT_MAX = 200

/** A value that a device reported, as one line. */
export function shownValue(value: unknown): string {
  if (typeof value === 'number') return number(value)
  if (value === null || value === undefined) return '–'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return plainText(text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text)
}
