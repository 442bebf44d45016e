// Buckets as bytes of a JSON array. An answer may have a hundred thousand of them, so they are written without an object
// for each, what series have in common is written once, and other requests get their turn in between.
import { setImmediate } from 'node:timers/promises'
import { type FilledBucket, type FillOptions, fillBuckets } from '../../engine/domain/telemetry/fill.ts'
import type { Bucket } from '../../engine/domain/telemetry/summary.ts'
import { type Millis, toIso } from '../../schemas/ids.ts'
import type { Aggregate } from '../../schemas/vocabulary.ts'
import type { SeriesRange } from './telemetry-query.ts'

/** Number of buckets written at a time, which takes a millisecond or two, and what is collected as garbage then. */
const BUCKETS_AT_ONCE = 250
/** Bytes copied at a time: new memory costs as much as what is written to it. */
const BYTES_AT_ONCE = 1_000_000

/** Bytes of JSON, one piece after the other. */
export type Pieces = readonly Uint8Array[]

/** Writes the buckets of one series. */
export type BucketWriter = (buckets: readonly Bucket[]) => Promise<Pieces>

/** A bucket as it is written. An infinite number, like one that is missing, is null in JSON [RFC 8259]. */
type Row = { time?: string } & { [A in Aggregate]?: number | null }

/** Shared by all series of an answer. */
export function bucketWriter(asked: SeriesRange): BucketWriter {
  const times = new Map<Millis, string>()
  const timeOf = (time: Millis): string => {
    const known = times.get(time) ?? toIso(time)
    times.set(time, known)
    return known
  }
  return asked.fill === undefined
    ? measuredWriter(asked, timeOf)
    : filledWriter({ ...asked, fill: asked.fill }, timeOf)
}

/** Its rows are used again and again: `JSON.stringify` writes numbers faster than anything else, and new objects would
 *  cost as much as the numbers. */
function measuredWriter(
  { aggregates }: Pick<SeriesRange, 'aggregates'>,
  timeOf: (time: Millis) => string,
): BucketWriter {
  const rows: Row[] = []
  const write = (buckets: readonly Bucket[]) => {
    for (const [index, bucket] of buckets.entries()) {
      rows[index] ??= { time: '' }
      rows[index].time = timeOf(bucket.time)
      copy(bucket, rows[index], aggregates)
    }
    return JSON.stringify(rows.slice(0, buckets.length)).slice(1, -1)
  }
  return (buckets) => inPieces(buckets, write)
}

/** Buckets without points are alike, and so are series that have none: their text is made once. */
function filledWriter(options: FillOptions, timeOf: (time: Millis) => string): BucketWriter {
  const row: Row = {}
  let [values, text]: [FilledBucket['values'] | undefined, string] = [undefined, '']
  const write = (buckets: readonly FilledBucket[]) => {
    let written = ''
    for (const bucket of buckets) {
      if (bucket.values !== values) {
        values = bucket.values
        copy(values, row, options.aggregates)
        text = JSON.stringify(row).slice(1)
      }
      written += `${written === '' ? '' : ','}{"time":"${timeOf(bucket.time)}",${text}`
    }
    return written
  }
  let empty: Pieces | undefined
  return async (buckets) => {
    if (buckets.length === 0 && empty !== undefined) return empty
    const pieces = await inPieces(fillBuckets(buckets, options), write)
    if (buckets.length === 0) empty = pieces
    return pieces
  }
}

function copy(values: FilledBucket['values'], row: Row, aggregates: readonly Aggregate[]): void {
  for (const aggregate of aggregates) row[aggregate] = values[aggregate] ?? null
}

/** An array of all of these. `write` returns the JSON of some, with commas between them. */
async function inPieces<T>(all: readonly T[], write: (some: readonly T[]) => string): Promise<Pieces> {
  const pieces: Uint8Array[] = []
  for (let from = 0; from < all.length; from += BUCKETS_AT_ONCE) {
    if (from > 0) await setImmediate()
    pieces.push(toBytes(`${from === 0 ? '[' : ','}${write(all.slice(from, from + BUCKETS_AT_ONCE))}`))
  }
  return [...pieces, toBytes(all.length === 0 ? '[]' : ']')]
}

/** Times and numbers are plain letters, so that one byte stands for each. */
const toBytes = (text: string) => Buffer.from(text, 'latin1')

/** All pieces as one. */
export async function joined(pieces: Pieces): Promise<Uint8Array> {
  const all = Buffer.allocUnsafe(pieces.reduce((sum, { length }) => sum + length, 0))
  let [at, copied] = [0, 0]
  for (const piece of pieces) {
    if (copied >= BYTES_AT_ONCE) {
      await setImmediate()
      copied = 0
    }
    all.set(piece, at)
    at += piece.length
    copied += piece.length
  }
  return all
}

/** The JSON of an object with one more member, whose value is JSON already. */
export function withMember(object: object, name: string, value: Pieces): Pieces {
  const head = JSON.stringify(object).slice(0, -1)
  return [
    Buffer.from(`${head}${head === '{' ? '' : ','}${JSON.stringify(name)}:`),
    ...value,
    Buffer.from('}'),
  ]
}

/** The JSON of an array of values that are JSON already. */
export function listOf(values: readonly Pieces[]): Pieces {
  const between = values.flatMap((value, index) => [Buffer.from(index === 0 ? '[' : ','), ...value])
  return values.length === 0 ? [Buffer.from('[]')] : [...between, Buffer.from(']')]
}
