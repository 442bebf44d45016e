// The last hour of a metric as a short line: one value for each five minutes, and gaps where nothing was reported.
export const SPARK_BUCKETS = 12
export const SPARK_BUCKET_MS = 300_000

export interface SparkBucket {
  readonly time: string
  readonly avg?: number | null | undefined
}

/** The last value is that of the five minutes in which `nowMs` is. */
export function sparkValues(buckets: readonly SparkBucket[], nowMs: number): readonly (number | null)[] {
  const last = Math.floor(nowMs / SPARK_BUCKET_MS)
  const values = new Array<number | null>(SPARK_BUCKETS).fill(null)
  for (const { time, avg } of buckets) {
    const place = SPARK_BUCKETS - 1 - (last - Math.floor(Date.parse(time) / SPARK_BUCKET_MS))
    if (place >= 0 && place < SPARK_BUCKETS) values[place] = avg ?? null
  }
  return values
}
