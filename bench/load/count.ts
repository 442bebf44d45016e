// Counts the points that arrived. A run is valid only if every acknowledged point is found.
import { ticks, until } from '../measure/deadline.ts'
import { byLabel } from '../measure/prometheus.ts'
import { COUNTED_METRIC, METRICS } from './payloads.ts'
import type { RunResult } from './protocol.ts'
import type { Rest } from './rest.ts'

const ARRIVAL_MS = 120_000
const POLL_MS = 50
/** Devices checked while waiting, spread over all partitions. */
const WATCHED = 16
const ROWS_METRIC = 'fleet_clickhouse_insert_rows_total'

export interface ExpectedCount {
  readonly id: string
  /** Messages acknowledged since the device was registered. */
  readonly messages: number
}

/** Adds up what the devices sent in these runs. */
export function expectedOf(ids: readonly string[], runs: readonly RunResult[]): readonly ExpectedCount[] {
  return ids.map((id, at) => ({ id, messages: runs.reduce((sum, run) => sum + (run.perDevice[at] ?? 0), 0) }))
}

/** Waits until the service has inserted as many rows as were acknowledged, and queries find the last rows of some devices.
 *  Resolves with that time. Afterwards `countExactly` proves that no row is missing. */
export async function waitForRows(rest: Rest, devices: readonly ExpectedCount[]): Promise<number> {
  const points = METRICS.length * devices.reduce((sum, { messages }) => sum + messages, 0)
  const isMetered = (await rowsInserted(rest)) !== undefined
  const polling = { deadlineMs: ARRIVAL_MS, everyMs: POLL_MS }
  return until(`${points} points stored`, polling, async () => {
    if (isMetered && ((await rowsInserted(rest)) ?? 0) < points) return undefined
    const { expected, found } = await countExactly(rest, devices, WATCHED)
    return found === expected ? ticks() : undefined
  })
}

export interface CountResult {
  readonly devices: number
  readonly expected: number
  /** The difference to `expected` is the number of missing and duplicated points. */
  readonly found: number
}

/** Counts the messages of up to `devicesMax` devices, spread over all, by the points of one metric. */
export async function countExactly(
  rest: Rest,
  devices: readonly ExpectedCount[],
  devicesMax: number,
): Promise<CountResult> {
  const checked = spread(devices, devicesMax)
  const counts = await rest.countPoints(
    checked.map(({ id }) => id),
    {
      metric: COUNTED_METRIC,
      from: new Date(Date.now() - 3 * 3_600_000),
      to: new Date(Date.now() + 600_000),
      interval: '1h',
    },
  )
  const wrong = checked.reduce((sum, { messages }, at) => sum + Math.abs(messages - (counts[at] ?? 0)), 0)
  const expected = checked.reduce((sum, { messages }) => sum + messages, 0)
  return { devices: checked.length, expected, found: expected - wrong }
}

/** Resolves with the number of rows (one per point) that the service reports as inserted, including replays, or with
 *  undefined if it reports none. */
export async function rowsInserted(rest: Rest): Promise<number | undefined> {
  return byLabel(await rest.metrics(), ROWS_METRIC, 'table').get('points')
}

/** Returns at most `count` of the items, evenly spaced. */
export function spread<T>(items: readonly T[], count: number): readonly T[] {
  if (items.length <= count) return items
  const step = items.length / count
  return Array.from({ length: count }, (_, at) => items[Math.floor(at * step)]).filter(
    (item) => item !== undefined,
  )
}
