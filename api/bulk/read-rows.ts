// Reads the body of a bulk registration row by row, as it arrives, into bodies of single registrations.
//
// - Nothing is registered before the whole body has been read, so an error in the body as a whole refuses all of it.
// - A refused body is still read to its end, because clients read the answer only after sending everything.

import { LIMITS } from '../../engine/limits.ts'
import { BODY_LIMITS } from '../../schemas/body-limits.ts'
import { BULK_TYPES } from '../../schemas/bulk.ts'
import { isObject } from '../../schemas/json.ts'
import { parseJsonText } from '../http/json-body.ts'
import { API_LIMITS } from '../limits.ts'
import { type Refusal, refused } from '../refusal.ts'
import { CsvReader } from './csv.ts'
import { refuseColumns, toBody } from './csv-devices.ts'

/** A row: a body to be validated, or the reason why the row is invalid. */
export type Row =
  | { readonly kind: 'row'; readonly row: number; readonly body: object }
  | { readonly kind: 'unread'; readonly row: number; readonly refusal: Refusal }

interface Rows {
  readonly kind: 'rows'
  readonly rows: readonly Row[]
}

interface RowReader {
  /** Resolves with a refusal if the body as a whole cannot be read. */
  push(text: string): Refusal | undefined
  end(): Refusal | undefined
}

/** `type` is the value of Content-Type. */
export async function readRows(bytes: AsyncIterable<Uint8Array>, type: string): Promise<Rows | Refusal> {
  const rows: Row[] = []
  const reader = readerOf(mediaOf(type), rows)
  // The decoder skips a byte order mark.
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let size = 0
  let refusal: Refusal | undefined
  try {
    for await (const chunk of bytes) {
      size += chunk.length
      if (size > API_LIMITS.bulkBytesMax) refusal ??= tooLarge({ limit: API_LIMITS.bulkBytesMax })
      refusal ??= reader.push(decoder.decode(chunk, { stream: true }))
      if (rows.length > LIMITS.bulkRowsMax)
        refusal ??= tooLarge({
          limit: LIMITS.bulkRowsMax,
          message: `more than ${LIMITS.bulkRowsMax} devices`,
        })
    }
    refusal ??= reader.push(decoder.decode()) ?? reader.end()
  } catch (error) {
    refusal ??= toRefusal(error)
  }
  if (refusal !== undefined) return refusal
  if (rows.length > LIMITS.bulkRowsMax)
    return tooLarge({ limit: LIMITS.bulkRowsMax, message: `more than ${LIMITS.bulkRowsMax} devices` })
  return rows.length === 0
    ? refused('VALIDATION_FAILED', { message: 'there is no device in the body' })
    : { kind: 'rows', rows }
}

const mediaOf = (type: string) => type.split(';', 1)[0]?.trim().toLowerCase()

function readerOf(media: string | undefined, rows: Row[]): RowReader {
  if (media === BULK_TYPES.csv) return csvRows(rows)
  return media === 'application/json' ? jsonArray(rows) : jsonRows(rows)
}

const tooLarge = (detail: Refusal['detail']) => refused('PAYLOAD_TOO_LARGE', detail)

/** Translates an error of the decoder, or of a connection that the sender closed. */
function toRefusal(error: unknown): Refusal {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
    return refused('BAD_REQUEST', { message: 'the body is not valid UTF-8' })
  if (code === 'ECONNRESET') return refused('BAD_REQUEST', { message: 'the body ended early' })
  throw error
}

function jsonRows(rows: Row[]): RowReader {
  let rest = ''
  const take = (line: string) => {
    if (line.trim() === '') return
    rows.push(toRow(parseJsonText(line), rows.length + 1))
  }
  return {
    push(text) {
      const [first = '', ...lines] = text.split('\n')
      rest += first
      for (const line of lines) {
        take(rest)
        rest = line
      }
      return rest.length > API_LIMITS.bulkRowCharsMax
        ? tooLarge({ limit: API_LIMITS.bulkRowCharsMax, message: `line ${rows.length + 1} is too long` })
        : undefined
    },
    end() {
      take(rest)
      return undefined
    },
  }
}

function toRow(body: unknown, row: number): Row {
  if (isObject(body)) return { kind: 'row', row, body }
  return { kind: 'unread', row, refusal: refused('BAD_REQUEST', { message: 'the row is not a JSON object' }) }
}

/** An array has to be parsed as a whole, so its limit is tighter than that of lines. */
function jsonArray(rows: Row[]): RowReader {
  let whole = ''
  return {
    push(text) {
      whole += text
      return whole.length > BODY_LIMITS.bulkJsonBytesMax
        ? tooLarge({
            limit: BODY_LIMITS.bulkJsonBytesMax,
            message: 'send this many devices as lines or as CSV',
          })
        : undefined
    },
    end() {
      const found = parseJsonText(whole)
      if (!Array.isArray(found)) return refused('BAD_REQUEST', { message: 'the body is not a JSON array' })
      // One more than there may be, by which the reader of the body sees that there are too many.
      for (const body of found.slice(0, LIMITS.bulkRowsMax + 1)) rows.push(toRow(body, rows.length + 1))
      return undefined
    },
  }
}

function csvRows(rows: Row[]): RowReader {
  const csv = new CsvReader()
  let columns: readonly string[] | undefined
  const take = (records: readonly (readonly string[])[]): Refusal | undefined => {
    for (const record of records) {
      if (columns === undefined) {
        columns = record.map((column) => column.trim())
        const unfit = refuseColumns(columns)
        if (unfit !== undefined) return unfit
        continue
      }
      const row = rows.length + 1
      const converted = toBody(columns, record)
      rows.push(
        converted.kind === 'refused'
          ? { kind: 'unread', row, refusal: converted }
          : { kind: 'row', row, body: converted.body },
      )
    }
    return csv.problem === undefined
      ? undefined
      : refused('BAD_REQUEST', { message: `row ${rows.length + 1}: ${csv.problem}` })
  }
  return { push: (text) => take(csv.push(text)), end: () => take(csv.end()) }
}
