// Measures the bytes on disk per point, with all columns.
import { BlockMaker } from '../load/blocks.ts'
import { METRICS } from '../load/payloads.ts'
import { deviceIds } from '../load/session.ts'
import { makeSeries, type SeriesKind, xorshift } from '../load/walk.ts'
import { toDigits } from '../measure/report.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { type OpenTelemetry, withTelemetry } from '../targets/clickhouse.ts'

const BLOCK_ROWS = 30_000
/** Versions are made like those of shards, from the position of the entry in the log and the index within the entry. */
const VERSIONS_PER_ENTRY = 65_536
const SIZE = `SELECT sum(bytes_on_disk), sum(rows), count() FROM system.parts
WHERE active AND table = 'points' AND database = currentDatabase() FORMAT TSV`

interface Case {
  readonly name: string
  readonly values: SeriesKind
  /** Timestamps of the device's clock are regular, and receive times have jitter. */
  readonly clock: 'steady' | 'received'
  readonly bytesMax?: number
}

const CASES: readonly Case[] = [
  { name: 'steps of 0.1, device time every second', values: 'walk', clock: 'steady', bytesMax: 2 },
  { name: 'steps of 0.1, receive time', values: 'walk', clock: 'received' },
  { name: 'random values, device time every second', values: 'random', clock: 'steady' },
]

export const disk: Scenario = {
  name: 'disk',
  about: 'bytes on disk per point, realistic and random series',
  async run(bench) {
    for (const series of CASES) {
      bench.say(series.name)
      await bench.withDir((dir) => withTelemetry(dir, (filled) => measure(bench, filled, series)))
    }
  },
}

async function measure(bench: Bench, { telemetry, clickhouse }: OpenTelemetry, series: Case): Promise<void> {
  const seconds = bench.quick ? 600 : 3_600
  const maker = new BlockMaker(METRICS)
  const random = xorshift(99)
  const startMs = Math.floor(Date.now() / 1000) * 1000 - seconds * 1000
  const devices = deviceIds(200).map((id, at) => ({
    id,
    phaseMs: Math.floor(random() * 1000),
    series: METRICS.map((_, k) => makeSeries(series.values, at * METRICS.length + k)),
  }))
  for (let second = 0; second < seconds; second++) {
    devices.forEach(({ id, phaseMs, series: values }, at) => {
      const dueMicros = (startMs + second * 1000 + phaseMs) * 1000
      const receivedAt = dueMicros + Math.floor(random() * 5_000)
      maker.add({
        deviceId: id,
        at: series.clock === 'steady' ? dueMicros : receivedAt,
        receivedAt,
        version: second * VERSIONS_PER_ENTRY + Math.floor(at / 64),
        values: values.map((next) => next()),
      })
    })
    if (maker.rows >= BLOCK_ROWS) await telemetry.insert(maker.take())
  }
  if (maker.rows > 0) await telemetry.insert(maker.take())
  const asInserted = await clickhouse.query(SIZE)
  await clickhouse.query('OPTIMIZE TABLE points FINAL')
  const [bytes = 0, rows = 0] = (await clickhouse.query(SIZE)).split('\t').map(Number)
  const [loose = 0, , parts = 0] = asInserted.split('\t').map(Number)
  bench.add({
    scenario: 'disk',
    name: series.name,
    value: bytes / rows,
    unit: 'bytes/point',
    ...(series.bytesMax === undefined ? {} : { target: { kind: 'at_most', value: series.bytesMax } }),
    note: `${toDigits(rows)} points, merged; ${toDigits(loose / rows)} before merging, in ${toDigits(parts)} parts`,
  })
}
