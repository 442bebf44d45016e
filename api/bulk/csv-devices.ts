// Converts devices to rows of CSV and back, so that an export can be registered again.
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { DEVICE_COLUMNS, REPORT_COLUMNS } from '../../schemas/bulk.ts'
import { toIso } from '../../schemas/ids.ts'
import { isObject, type Json, type JsonObject } from '../../schemas/json.ts'
import { parseJsonText } from '../http/json-body.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'
import { csvLine, unescapeFormula } from './csv.ts'

const METADATA = 'metadata.'
const KNOWN_COLUMNS: ReadonlySet<string> = new Set([...DEVICE_COLUMNS, ...REPORT_COLUMNS])
/** Deeper objects would be refused in each row, and building them takes time that is quadratic in the depth. */
const LEVELS_MAX = BODY_LIMITS.metadataDepthMax
const UNSAFE: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Returns undefined if a header with these columns is valid. */
export function refuseColumns(columns: readonly string[]): Refusal | undefined {
  const unknown = columns.filter((column) => !isKnown(column))
  const deep = columns.filter((column) => levelsOf(column) > LEVELS_MAX)
  // Removes each column when it is seen for the first time.
  const unseen = new Set(columns)
  const duplicates = columns.filter((column) => !unseen.delete(column))
  const missing = ['name', 'type'].filter((column) => !columns.includes(column))
  const errors = [
    ...unknown.map((column) => toError(column, 'UNKNOWN_COLUMN', 'is not known')),
    ...deep.map((column) => toError(column, 'TOO_DEEP', `is nested deeper than ${LEVELS_MAX} levels`)),
    ...duplicates.map((column) => toError(column, 'DUPLICATE', 'is given twice')),
    ...missing.map((column) => toError(column, 'REQUIRED', 'is required')),
  ].slice(0, 20)
  const [first] = errors
  if (first === undefined) return undefined
  const message = `columns: ${errors.map(({ path, message: why }) => `${path.slice(1)} ${why}`).join('; ')}; known are ${DEVICE_COLUMNS.join(', ')} and metadata.<name>`
  return refused('VALIDATION_FAILED', { message, errors })
}

const toError = (column: string, code: string, message: string) => ({
  path: `/${column.slice(0, 64)}`,
  in: 'body',
  code,
  message,
})

function isKnown(column: string): boolean {
  if (!column.startsWith(METADATA)) return KNOWN_COLUMNS.has(column)
  return column
    .slice(METADATA.length)
    .split('.')
    .every((name) => name !== '' && !UNSAFE.has(name))
}

const levelsOf = (column: string) => (column.startsWith(METADATA) ? column.split('.').length - 1 : 0)

/** Converts a row to a body of POST /devices. Empty fields are left out. */
export function toBody(
  columns: readonly string[],
  record: readonly string[],
): { readonly kind: 'body'; readonly body: JsonObject } | Refusal {
  if (record.length !== columns.length)
    return refused('VALIDATION_FAILED', {
      message: `there are ${record.length} fields for ${columns.length} columns`,
    })
  const body: Record<string, Json> = {}
  const texts: (readonly [path: string, text: string])[] = []
  for (const [i, column] of columns.entries()) {
    const text = unescapeFormula(record[i] ?? '')
    if (text === '') continue
    if (column.startsWith(METADATA)) texts.push([column.slice(METADATA.length), text])
    else if (column === 'metadata') {
      const metadata = parseJsonText(text)
      if (!isObject(metadata))
        return invalid('/metadata', { code: 'WRONG_TYPE', message: 'must be a JSON object' })
      body[column] = metadata
    } else body[column] = parseField(column, text)
  }
  if (texts.length > 0) {
    // The object belongs only to this row, so it may be changed.
    const metadata = (body['metadata'] ?? {}) as Record<string, Json>
    for (const [path, text] of texts) {
      if (!setNested(metadata, path.split('.'), text))
        return invalid(`/metadata/${path}`, { code: 'DUPLICATE', message: 'is given twice' })
    }
    body['metadata'] = metadata
  }
  return { kind: 'body', body }
}

function setNested(
  metadata: Record<string, Json>,
  [name = '', ...rest]: readonly string[],
  text: string,
): boolean {
  if (rest.length === 0) {
    if (Object.hasOwn(metadata, name)) return false
    metadata[name] = text
    return true
  }
  if (!Object.hasOwn(metadata, name)) metadata[name] = {}
  const inner = metadata[name]
  // This object also belongs only to this row.
  return isObject(inner) && setNested(inner as Record<string, Json>, rest, text)
}

function parseField(column: string, text: string): Json {
  if (column === 'tags') return parseTags(text)
  // The schema refuses text that is not a number.
  return column === 'heartbeat_timeout_sec' && /^\d+$/.test(text.trim()) ? Number(text) : text
}

/** Tags are separated by `;`, with optional blanks around it. A backslash makes the next character part of the tag. */
function parseTags(text: string): readonly string[] {
  const tags: string[][] = [[]]
  for (const token of text.match(/\\.|[^\\]/gs) ?? [])
    if (token === ';') tags.push([])
    else tags.at(-1)?.push(token)
  const isText = (token: string) => token.trim() !== ''
  return tags
    .map((tokens) => tokens.slice(Math.max(tokens.findIndex(isText), 0), tokens.findLastIndex(isText) + 1))
    .filter((tokens) => tokens.length > 0)
    .map((tokens) => tokens.map((token) => token.slice(-1)).join(''))
}

/** Blanks at either end have to be escaped, because parsing would remove them. */
function escapedTag(tag: string): string {
  return tag.replace(/[\\;]|^\s|\s$/g, '\\$&')
}

export const CSV_HEADER = csvLine([...DEVICE_COLUMNS, ...REPORT_COLUMNS])

export function toCsv(device: DeviceRecord): string {
  return csvLine([
    device.id,
    device.name,
    device.type,
    device.description ?? '',
    device.group ?? '',
    device.tags.map(escapedTag).join(';'),
    Object.keys(device.metadata).length === 0 ? '' : JSON.stringify(device.metadata),
    device.parentId ?? '',
    device.heartbeatTimeoutSec === undefined ? '' : String(device.heartbeatTimeoutSec),
    device.status,
    device.firmwareVersion ?? '',
    toIso(device.createdAt),
    toIso(device.updatedAt),
  ])
}
