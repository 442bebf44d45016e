// Fills the table of points by SQL, because sending a hundred million points through the broker would take half an hour.
import { Millis } from '../../schemas/ids.ts'
import { until } from '../measure/deadline.ts'
import type { OpenTelemetry } from './clickhouse.ts'

const DEVICES_PER_INSERT = 50
const HOUR_MS = 3_600_000
const MERGE_MS = 300_000

export interface Fill {
  readonly devices: readonly string[]
  readonly metrics: readonly string[]
  /** The number of points in a series, one per second. The last one is just before `endMs`. */
  readonly seconds: number
  readonly endMs: number
}

/** Fills the table, computes the rollups of every full hour as the service does, and waits for merges to end. */
export async function fillPoints({ telemetry, clickhouse }: OpenTelemetry, fill: Fill): Promise<void> {
  for (let from = 0; from < fill.devices.length; from += DEVICES_PER_INSERT) {
    await clickhouse.query(
      insertOf({ ...fill, devices: fill.devices.slice(from, from + DEVICES_PER_INSERT) }),
    )
  }
  await telemetry.settle(Millis(Math.floor(fill.endMs / HOUR_MS) * HOUR_MS), [])
  await until('merges at rest', { deadlineMs: MERGE_MS, everyMs: 200 }, async () =>
    (await clickhouse.query('SELECT count() FROM system.merges FORMAT TSV')) === '0' ? true : undefined,
  )
}

// Slow waves with noise, at a sensor's precision. Each device reports at its own offset within the second.
function insertOf({ devices, metrics, seconds, endMs }: Fill): string {
  const startMs = endMs - seconds * 1000
  return `INSERT INTO points (device_id, metric, ts, value, version, received)
    SELECT device, metric, fromUnixTimestamp64Milli(at, 'UTC'),
      round(50 + 20 * sin(second / 900 + cityHash64(device, metric) % 100) + rand(second) % 10 / 10, 1),
      65536 * (second + 1), toDateTime(intDiv(at, 1000), 'UTC')
    FROM (
      SELECT device, metric, second, toInt64(${startMs} + second * 1000 + cityHash64(device) % 1000) AS at
      FROM (SELECT arrayJoin(${list(devices)}) AS device) AS d
      CROSS JOIN (SELECT arrayJoin(${list(metrics)}) AS metric) AS m
      CROSS JOIN (SELECT number AS second FROM numbers(${seconds})) AS s
    )`
}

// Device ids and metric names of the bench contain no quotes.
function list(names: readonly string[]): string {
  return `[${names.map((name) => `'${name}'`).join(',')}]`
}
