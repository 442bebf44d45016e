// Decides which part of a query is read from rollups (where they are settled) and which from raw points.
//
//        from                                             to
//         |--raw--|======= rollup =======|----- raw -----|
//              aligned        late hours: raw         horizon

import type { Aggregate } from '../../../../schemas/vocabulary.ts'
import type { Grid } from '../../../domain/telemetry/grid.ts'
import { LIMITS } from '../../../limits.ts'
import type { SeriesQuery } from '../../../ports/telemetry.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** Reading a second table costs as much as reading some thousand more rows of the first. */
const ROLLUP_MS_MIN = 2 * HOUR_MS
/** Aggregates that rollups hold. All others are computed from raw points, to be exact. */
const ROLLED: ReadonlySet<Aggregate> = new Set(['avg', 'min', 'max', 'count', 'last', 'sum'])

/** The times in [from, to), in milliseconds. */
export interface Range {
  readonly from: number
  readonly to: number
}

export interface Plan {
  readonly rollup:
    | { readonly table: 'rollup_1m' | 'rollup_1h'; readonly ranges: readonly Range[] }
    | undefined
  readonly raw: readonly Range[]
}

type PlanQuery = Pick<SeriesQuery, 'from' | 'to' | 'grid' | 'aggregates' | 'lateHours'>

/** The ranges of the plan cover [from, to) without overlap. */
export function plan({ from, to, grid, aggregates, lateHours }: PlanQuery, horizon: number): Plan {
  const whole = from < to ? [{ from, to }] : []
  const unit = aggregates.every((aggregate) => ROLLED.has(aggregate)) ? unitOf(grid) : undefined
  if (unit === undefined) return { rollup: undefined, raw: whole }
  const settled = { from: Math.ceil(from / unit) * unit, to: Math.floor(Math.min(to, horizon) / unit) * unit }
  if (settled.to - settled.from < ROLLUP_MS_MIN) return { rollup: undefined, raw: whole }
  const late = [...new Set(lateHours)]
    .map((hour) => hour * 1000)
    .filter((start) => start + HOUR_MS > settled.from && start < settled.to)
    .sort((a, b) => a - b)
  const fresh: Range[] = []
  const raw: Range[] = from < settled.from ? [{ from, to: settled.from }] : []
  let at = settled.from
  for (const start of late) {
    if (start > at) fresh.push({ from: at, to: start })
    const end = Math.min(start + HOUR_MS, settled.to)
    raw.push({ from: Math.max(start, at), to: end })
    at = end
  }
  if (at < settled.to) fresh.push({ from: at, to: settled.to })
  if (settled.to < to) raw.push({ from: settled.to, to })
  const joined = join(raw)
  if (joined.length > LIMITS.telemetryRawRangesMax) return { rollup: undefined, raw: whole }
  return { rollup: { table: unit === HOUR_MS ? 'rollup_1h' : 'rollup_1m', ranges: fresh }, raw: joined }
}

/** The widest rollup whose buckets lie within those of the grid. Some time zones are half an hour off. */
function unitOf(grid: Grid): number | undefined {
  const fits = (unit: number) =>
    grid.every(({ from, step }) => (from * 1000) % unit === 0 && (step * 1000) % unit === 0)
  return [HOUR_MS, MINUTE_MS].find(fits)
}

function join(ranges: readonly Range[]): readonly Range[] {
  const joined: Range[] = []
  for (const range of ranges) {
    const last = joined.at(-1)
    if (last?.to === range.from) joined[joined.length - 1] = { from: last.from, to: range.to }
    else joined.push(range)
  }
  return joined
}
