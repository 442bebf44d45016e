// Buckets of the service as columns of a chart. Series of different devices share one time axis; where a series has nothing
// for longer than its own rhythm, a gap stays a gap.
export interface Bucket {
  readonly time: string
  readonly [aggregate: string]: unknown
}

/** Null is a gap; undefined means that only other series have a value then. */
export type Values = readonly (number | null | undefined)[]

export interface Line {
  readonly name: string
  readonly values: Values
  /** The least and the greatest value of each bucket. */
  readonly band?: { readonly low: Values; readonly high: Values } | undefined
}

export interface Columns {
  /** Milliseconds, ascending. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
}

export interface Source {
  readonly name: string
  readonly buckets: readonly Bucket[]
  /** The aggregate that is drawn. */
  readonly shown: string
  /** Whether the least and the greatest value are drawn around it. */
  readonly hasBand?: boolean
  /** Moves the series in time, to compare it with another period. */
  readonly shiftMs?: number
}

/** So many times its own rhythm may a series be silent before a gap is drawn. */
const SILENCE = 2.5

export function toColumns(sources: readonly Source[], intervalMs: number): Columns {
  const tables = sources.map((source) => tableOf(source, intervalMs))
  const times = [...new Set(tables.flatMap(({ rows }) => [...rows.keys()]))].sort((a, b) => a - b)
  const lines = tables.map(({ source, rows }): Line => {
    const column = (index: 0 | 1 | 2): Values => times.map((time) => rows.get(time)?.[index])
    return {
      name: source.name,
      values: column(0),
      band: source.hasBand === true ? { low: column(1), high: column(2) } : undefined,
    }
  })
  return { times, lines }
}

type Row = readonly [value: number | null, low: number | null, high: number | null]
const GAP: Row = [null, null, null]

function tableOf(source: Source, intervalMs: number): { source: Source; rows: ReadonlyMap<number, Row> } {
  const rows = new Map<number, Row>()
  const points = source.buckets.map((bucket): readonly [number, Row] => {
    const at = Date.parse(bucket.time) + (source.shiftMs ?? 0)
    return [at, [numberOf(bucket[source.shown]), numberOf(bucket['min']), numberOf(bucket['max'])]]
  })
  const silence = SILENCE * Math.max(intervalMs, medianStep(points.map(([at]) => at)))
  let before: number | undefined
  for (const [at, row] of points) {
    if (before !== undefined && at - before > silence) rows.set(before + 1, GAP)
    rows.set(at, row)
    before = at
  }
  return { source, rows }
}

const numberOf = (value: unknown): number | null =>
  typeof value === 'number' ? value : typeof value === 'boolean' ? Number(value) : null

function medianStep(times: readonly number[]): number {
  const steps = times.slice(1).map((time, index) => time - (times[index] ?? time))
  return steps.sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0
}

/** The index of the time that is nearest; -1 if there is none. */
export function nearestIndex(times: readonly number[], at: number): number {
  let low = 0
  let high = times.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if ((times[middle] ?? 0) < at) low = middle + 1
    else high = middle
  }
  const after = times[low]
  const before = times[low - 1]
  return after !== undefined && before !== undefined && at - before < after - at
    ? low - 1
    : low < times.length
      ? low
      : -1
}
