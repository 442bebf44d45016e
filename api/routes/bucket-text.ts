// Buckets as the text of a JSON array. An answer may have a hundred thousand of them, so they are written without an
// object for each, and other requests get their turn in between.
import { setImmediate } from 'node:timers/promises'
import { type FilledBucket, fillBuckets } from '../../engine/domain/telemetry/fill.ts'
import type { Bucket } from '../../engine/domain/telemetry/summary.ts'
import { toIso } from '../../schemas/ids.ts'
import type { Aggregate } from '../../schemas/vocabulary.ts'
import type { Asked } from './telemetry-query.ts'

/** Number of buckets written at a time, which takes a few milliseconds. */
const BUCKETS_AT_ONCE = 5_000

export async function bucketsText(buckets: readonly Bucket[], asked: Asked): Promise<string> {
  const { starts, fill, aggregates } = asked
  const all: readonly FilledBucket[] =
    fill === undefined
      ? buckets.map((bucket) => ({ time: bucket.time, values: bucket }))
      : fillBuckets(buckets, { starts, fill, aggregates })
  const parts: string[] = []
  let [values, text]: [FilledBucket['values'] | undefined, string] = [undefined, '']
  for (const [index, bucket] of all.entries()) {
    if (index % BUCKETS_AT_ONCE === BUCKETS_AT_ONCE - 1) await setImmediate()
    if (bucket.values !== values) {
      values = bucket.values
      text = valuesText(values, aggregates)
    }
    parts.push(`{"time":"${toIso(bucket.time)}"${text}}`)
  }
  return `[${parts.join(',')}]`
}

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
export function withMember(object: object, name: string, text: string): string {
  const head = JSON.stringify(object).slice(0, -1)
  return `${head}${head === '{' ? '' : ','}${JSON.stringify(name)}:${text}}`
}
