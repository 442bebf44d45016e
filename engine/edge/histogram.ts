// Keeps latencies in a fixed 14 KB: 64 buckets per power of two, so any percentile is exact to 1.6 %.

const SUB_BITS = 6
const BUCKETS = (32 - SUB_BITS) << SUB_BITS
const VALUE_MAX = 2 ** 31 - 1

export interface Percentiles {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

/** Takes whole non-negative numbers up to 2^31-1. The caller chooses the unit; edge/ records microseconds. */
export class Histogram {
  readonly #counts = new Float64Array(BUCKETS)
  #count = 0
  #max = 0

  get count(): number {
    return this.#count
  }

  record(value: number): void {
    const whole = value > 0 ? Math.min(Math.round(value), VALUE_MAX) : 0
    const at = bucketOf(whole)
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
    this.#count++
    if (whole > this.#max) this.#max = whole
  }

  /** Returns the upper edge of the bucket that contains this percentile, but no more than the largest recorded value.
   *  `share` is between 0 and 1. */
  percentile(share: number): number {
    const rank = Math.max(1, Math.ceil(share * this.#count))
    let seen = 0
    for (let at = 0; at < BUCKETS; at++) {
      seen += this.#counts[at] ?? 0
      if (seen >= rank) return Math.min(upperEdge(at), this.#max)
    }
    return this.#max
  }

  percentiles(): Percentiles {
    return {
      count: this.#count,
      p50: this.percentile(0.5),
      p99: this.percentile(0.99),
      p999: this.percentile(0.999),
      max: this.#max,
    }
  }
}

// Below 128 each bucket holds one value. Above, the top seven bits of the value select the bucket.
function bucketOf(value: number): number {
  const shift = Math.max(0, 31 - Math.clz32(value) - SUB_BITS)
  return (shift << SUB_BITS) + (value >>> shift)
}

function upperEdge(bucket: number): number {
  const shift = Math.max(0, (bucket >>> SUB_BITS) - 1)
  const top = bucket - (shift << SUB_BITS)
  return (top + 1) * 2 ** shift - 1
}
