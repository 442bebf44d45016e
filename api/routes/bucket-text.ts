// Buckets as bytes of a JSON array. An answer may have a hundred thousand of them, so they are written without an object
// for each, what series have in common is written once, and other requests get their turn in between.
import { setImmediate } from 'node:timers/promises'
import { type FilledBucket, fillBuckets } from '../../engine/domain/telemetry/fill.ts'
import type { Bucket } from '../../engine/domain/telemetry/summary.ts'
import { Millis, toIso } from '../../schemas/ids.ts'
import type { Aggregate } from '../../schemas/vocabulary.ts'
import type { SeriesRange } from './telemetry-query.ts'

/** Number of buckets written at a time, which takes a few milliseconds. */
const BUCKETS_AT_ONCE = 5_000

/** Bytes of JSON, one piece after the other. */
export type Pieces = readonly Uint8Array[]

/** Writes the buckets of one series. */
export type BucketWriter = (buckets: readonly Bucket[]) => Promise<Pieces>

/** Shared by all series of an answer. */
export function bucketWriter({ starts, fill, aggregates }: SeriesRange): BucketWriter {
  if (fill === undefined)
    return (buckets) => {
      const all = buckets.map((bucket) => ({ time: bucket.time, values: bucket }))
      return write(all, aggregates, (bucket) => headOf(bucket.time))
    }
  let heads: readonly string[] | undefined
  let empty: Pieces | undefined
  return async (buckets) => {
    if (buckets.length === 0 && empty !== undefined) return empty
    heads ??= starts.map((start) => headOf(Millis(start * 1000)))
    const known = heads
    const filled = fillBuckets(buckets, { starts, fill, aggregates })
    const pieces = await write(filled, aggregates, (_, index) => known[index] ?? '')
    if (buckets.length === 0) empty = pieces
    return pieces
  }
}

const headOf = (time: Millis) => `{"time":"${toIso(time)}"`

async function write(
  all: readonly FilledBucket[],
  aggregates: readonly Aggregate[],
  headAt: (bucket: FilledBucket, index: number) => string,
): Promise<Pieces> {
  const pieces: Uint8Array[] = []
  let written = '['
  let [values, text]: [FilledBucket['values'] | undefined, string] = [undefined, '']
  for (const [index, bucket] of all.entries()) {
    if (bucket.values !== values) {
      values = bucket.values
      text = valuesText(values, aggregates)
    }
    written += `${index === 0 ? '' : ','}${headAt(bucket, index)}${text}}`
    if (index % BUCKETS_AT_ONCE !== BUCKETS_AT_ONCE - 1) continue
    pieces.push(toBytes(written))
    written = ''
    await setImmediate()
  }
  return [...pieces, toBytes(`${written}]`)]
}

/** Times and numbers are plain letters, so that one byte stands for each. */
const toBytes = (text: string) => Buffer.from(text, 'latin1')

function valuesText(values: FilledBucket['values'], aggregates: readonly Aggregate[]): string {
  let text = ''
  for (const aggregate of aggregates) text += `,"${aggregate}":${numberText(values[aggregate])}`
  return text
}

/** [RFC 8259] JSON has no infinite numbers: a sum that overflows is null, like a value that is missing. */
function numberText(value: number | null | undefined): string {
  return value === null || value === undefined || !Number.isFinite(value) ? 'null' : String(value)
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
