// Writes buckets as the bytes of a JSON array. An answer may have a hundred thousand of them, so no object is created for
// each, text that series have in common is written once, and other requests get a turn in between.
import { setImmediate } from 'node:timers/promises'
import { type FilledBucket, type FillOptions, fillBuckets } from '../../engine/domain/telemetry/fill.ts'
import type { Bucket } from '../../engine/domain/telemetry/summary.ts'
import { type Millis, toIso } from '../../schemas/ids.ts'
import type { Aggregate } from '../../schemas/vocabulary.ts'
import type { SeriesRange } from './telemetry-query.ts'

/** Buckets written at a time. This takes a millisecond or two, including the garbage collection it causes. */
const BUCKETS_AT_ONCE = 250
/** Bytes copied at a time. Allocating memory costs as much as filling it. */
const BYTES_AT_ONCE = 1_000_000

/** JSON as consecutive pieces of bytes. */
export type Pieces = readonly Uint8Array[]

export type BucketWriter = (buckets: readonly Bucket[]) => Promise<Pieces>

/** A bucket as it is serialised. JSON has no infinite numbers [RFC 8259], so they become null, like missing ones. */
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

/** Reuses its row objects: nothing writes numbers faster than `JSON.stringify`, but new objects would cost as much as the
 *  numbers themselves. */
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

/** Empty buckets are all alike, and so are empty series, so their text is built once. */
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

/** An array of all items. `write` returns the JSON of some of them, separated by commas. */
async function inPieces<T>(all: readonly T[], write: (some: readonly T[]) => string): Promise<Pieces> {
  const pieces: Uint8Array[] = []
  for (let from = 0; from < all.length; from += BUCKETS_AT_ONCE) {
    if (from > 0) await setImmediate()
    pieces.push(toBytes(`${from === 0 ? '[' : ','}${write(all.slice(from, from + BUCKETS_AT_ONCE))}`))
  }
  return [...pieces, toBytes(all.length === 0 ? '[]' : ']')]
}

/** Times and numbers are ASCII, so each character is one byte. */
const toBytes = (text: string) => Buffer.from(text, 'latin1')

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

/** The JSON of an object with one more member, whose value is already JSON. */
export function withMember(object: object, name: string, value: Pieces): Pieces {
  const head = JSON.stringify(object).slice(0, -1)
  return [
    Buffer.from(`${head}${head === '{' ? '' : ','}${JSON.stringify(name)}:`),
    ...value,
    Buffer.from('}'),
  ]
}

/** The JSON of an array of values that are already JSON. */
export function listOf(values: readonly Pieces[]): Pieces {
  const between = values.flatMap((value, index) => [Buffer.from(index === 0 ? '[' : ','), ...value])
  return values.length === 0 ? [Buffer.from('[]')] : [...between, Buffer.from(']')]
}
