// Queries one hour of one series in buckets of a minute from a large table, through REST.

import { openDataDir } from '../../engine/adapters/data-dir/data-dir.ts'
import { Histogram, type Percentiles } from '../../engine/edge/histogram.ts'
import { METRICS } from '../load/payloads.ts'
import { registerOnly } from '../load/register-only.ts'
import type { HistoryQuery, Rest } from '../load/rest.ts'
import { deviceIds, withService } from '../load/session.ts'
import { xorshift } from '../load/walk.ts'
import { ticks } from '../measure/deadline.ts'
import { NoiseMeter } from '../measure/noise.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { withTelemetry } from '../targets/clickhouse.ts'
import { fillPoints } from '../targets/fill.ts'

const SECONDS_PER_SERIES = 12_500
const HOUR_MS = 3_600_000
const WARM_UP = 50

export const history: Scenario = {
  name: 'history',
  about: 'history query p50/p99 over 10 M and 100 M points',
  async run(bench) {
    for (const devices of bench.quick ? [10] : [100, 1_000]) {
      await bench.withDir((dataDir) => measure(bench, dataDir, devices))
    }
  },
}

async function measure(bench: Bench, dataDir: string, count: number): Promise<void> {
  const ids = deviceIds(count)
  const points = count * METRICS.length * SECONDS_PER_SERIES
  const scenario = `history, ${toDigits(points / 1e6)} M points`
  bench.say(scenario)
  await registerOnly(dataDir, ids)
  const endMs = Date.now()
  const filledAt = ticks()
  const owned = await openDataDir(dataDir)
  await withTelemetry(owned.telemetry, (open) =>
    fillPoints(open, { devices: ids, metrics: METRICS, seconds: SECONDS_PER_SERIES, endMs }),
  ).finally(() => owned.release())
  bench.say(`filled in ${toDigits((ticks() - filledAt) / 1000)} s`)
  await withService({ dataDir, durability: 'power' }, async ({ rest }) => {
    const random = xorshift(5)
    const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)]
    const query = (from: number, to: number): HistoryQuery => ({
      deviceId: pick(ids) ?? '',
      metric: pick(METRICS) ?? '',
      from: new Date(from),
      to: new Date(to),
      interval: '1m',
    })
    const noise = new NoiseMeter()
    const last = await timeQueries(bench, rest, () => query(endMs - HOUR_MS, endMs))
    const earlier = await timeQueries(bench, rest, () => {
      const from = endMs - HOUR_MS * (1 + random() * 2)
      return query(from, from + HOUR_MS)
    })
    addFigures(bench, { scenario, last, earlier, isLarge: points >= 1e8, noise: noise.note() })
  })
}

async function timeQueries(bench: Bench, rest: Rest, next: () => HistoryQuery): Promise<Percentiles> {
  const latency = new Histogram()
  const queries = bench.quick ? 200 : 1_000
  for (let k = 0; k < WARM_UP + queries; k++) {
    const query = next()
    const startedAt = ticks()
    const count = await rest.countOf(query)
    if (k >= WARM_UP) latency.record((ticks() - startedAt) * 1000)
    // Every hour has 3 600 points, or one or two fewer at either end of the series.
    if (count < 3_590 || count > 3_601)
      throw new Error(`${query.deviceId} ${query.metric}: ${count} points in an hour`)
  }
  return latency.percentiles()
}

interface TimedReads {
  readonly scenario: string
  readonly last: Percentiles
  readonly earlier: Percentiles
  readonly isLarge: boolean
  readonly noise: string
}

function addFigures(bench: Bench, { scenario, last, earlier, isLarge, noise }: TimedReads): void {
  const target = isLarge ? { target: { kind: 'at_most', value: 20 } as const } : {}
  for (const [name, { p50, p99, max }] of [
    ['last hour at 1m, p99', last],
    ['an earlier hour at 1m, p99', earlier],
  ] as const) {
    bench.add({
      scenario,
      name,
      value: p99 / 1000,
      unit: 'ms',
      ...target,
      note: `p50 ${toDigits(p50 / 1000)}, max ${toDigits(max / 1000)} ms; one query at a time, without ingest${noise}`,
    })
  }
}
