// The part of the contract about series, pages of points and exports: all aggregates in any grid, for several devices
// and metrics, settled or not.
import type { Readable } from 'node:stream'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DeviceId, Micros, Millis } from '../../../../schemas/ids.ts'
import type { ExportFormat } from '../../../../schemas/vocabulary.ts'
import { gridOf } from '../../../domain/telemetry/grid.ts'
import type { Point, PointPlace, Series, Telemetry } from '../../../ports/telemetry.ts'
import {
  ASK,
  type Ask,
  DAY,
  HOUR,
  POINTS,
  SECOND,
  START,
  type StoredPoint,
  seriesOf,
} from './series-oracle.ts'
import { DeviceIdOf, pointsBlock, textsBlock } from './telemetry.ts'

export function seriesContract({
  name,
  open,
  runs,
  parquet,
}: {
  readonly name: string
  open(): Promise<Telemetry>
  readonly runs: number
  readonly parquet: boolean
}): void {
  describe(`series, points and files: ${name}`, () => {
    let telemetry: Telemetry
    let used = 0

    beforeAll(async () => {
      telemetry = await open()
    })
    afterAll(async () => {
      await telemetry.close()
    })

    /** Settles up to a time, including these points if earlier tests have settled their hours. */
    const settle = (upTo: number, points: readonly StoredPoint[], prefix = '') =>
      telemetry.settle(
        Millis(upTo / 1000),
        points.map(({ device, at }) => ({ deviceId: DeviceIdOf(prefix + device), hour: hourOf(START + at) })),
      )
    const hourOf = (at: number) => Math.floor(at / HOUR) * 3_600
    const seriesQuery = (ask: Ask, prefix = '') => {
      const span = { from: Millis((START + ask.from) / 1000), to: Millis((START + ask.to) / 1000) }
      return {
        deviceIds: ask.devices.map((device) => DeviceIdOf(prefix + device)),
        by: ask.by,
        metrics: ask.metrics,
        ...span,
        grid: gridOf({ interval: ask.interval, zone: ask.zone, ...span }),
        aggregates: ask.aggregates,
        lateHours: [],
      }
    }
    const insert = (points: readonly StoredPoint[], prefix = '') =>
      telemetry.insert(
        pointsBlock(
          points.map(({ device, metric, at, v }, version) => ({
            device: prefix + device,
            at: START + at,
            receivedAt: START + 3 * DAY,
            version,
            values: { [metric]: v },
          })),
        ),
      )
    const textOf = async (file: Promise<Readable>) => Buffer.concat(await (await file).toArray()).toString()

    test('all aggregates of all kinds of buckets match their points', async () => {
      await fc.assert(
        fc.asyncProperty(
          POINTS,
          fc.array(ASK, { minLength: 3, maxLength: 3 }),
          fc.nat(48),
          async (all, asks, hours) => {
            const prefix = `p${used++}`
            const points = [
              ...new Map(all.map((point) => [`${point.device} ${point.metric} ${point.at}`, point])).values(),
            ]
            await insert(points, prefix)
            const isLate = hours % 4 === 0
            await settle(START + hours * HOUR, isLate ? [] : points, prefix)
            const lateHours = isLate ? points.map(({ at }) => hourOf(START + at)) : []
            for (const ask of asks) {
              const got = await telemetry.series({ ...seriesQuery(ask, prefix), lateHours })
              const want = seriesOf(points, ask)
              const plain = (series: Series) => ({
                ...series,
                deviceId: series.deviceId?.slice(prefix.length),
                buckets: series.buckets.map(({ time, ...values }) => values),
              })
              expect(rounded(got.map(plain))).toEqual(
                rounded(
                  want.map((series) =>
                    plain({ ...series, deviceId: series.deviceId && DeviceIdOf(prefix + series.deviceId) }),
                  ),
                ),
              )
              for (const { buckets } of got) {
                const times = buckets.map(({ time }) => time)
                expect(times).toEqual([...new Set(times)].sort((a, b) => a - b))
              }
            }
          },
        ),
        { numRuns: runs, interruptAfterTimeLimit: 80_000, markInterruptAsFailure: true },
      )
    }, 90_000)

    test('days of a time zone begin at its midnights, also when clocks change, settled or not', async () => {
      const points = [0, 22, 46, 47].map((hour) => ({ device: 'z', metric: 'v', at: hour * HOUR, v: hour }))
      await insert(points)
      const ask = {
        devices: ['z'],
        by: 'device',
        metrics: ['v'],
        from: 0,
        to: 2 * DAY,
        interval: '1d',
      } as const
      for (const settledTo of [0, 2 * DAY]) {
        await settle(START + settledTo, points)
        const query = seriesQuery({ ...ask, zone: 'Europe/Berlin', aggregates: ['count', 'first'] })
        const [series] = await telemetry.series({ ...query, aggregates: ['count', 'sum'] })
        const [detailed] = await telemetry.series(query)
        expect(series?.buckets).toEqual([
          { time: Date.UTC(2026, 9, 23, 22), count: 1, sum: 0 },
          { time: Date.UTC(2026, 9, 24, 22), count: 2, sum: 68 },
          { time: Date.UTC(2026, 9, 25, 23), count: 1, sum: 47 },
        ])
        expect(detailed?.buckets.map(({ first }) => first)).toEqual([0, 22, 47])
      }
    })

    const span = { from: Millis(START / 1000), to: Millis((START + DAY) / 1000) }
    const mixed = async (device: string) => {
      await telemetry.insert(
        pointsBlock([
          { device, at: START + 1, version: 1, values: { m: 1.5, n: 7 } },
          { device, at: START + 3, version: 2, values: { m: 2 } },
        ]),
      )
      const texts = [
        { device, at: START + 1, version: 1, values: { m: 'one' } },
        { device, at: START + 2, version: 2, values: { m: '=1+1', n: 'a"b,c\nd' } },
      ]
      await telemetry.insert(textsBlock(texts))
      // The same points again, and then with other values.
      await telemetry.insert(textsBlock(texts))
      await telemetry.insert(pointsBlock([{ device, at: START + 3, version: 9, values: { m: 3 } }]))
      return DeviceIdOf(device)
    }

    test('pages of points have numbers and texts in order of time, each once', async () => {
      const deviceId = await mixed('pages')
      const whole = [
        { at: START + 1, value: 1.5 },
        { at: START + 1, value: 'one' },
        { at: START + 2, value: '=1+1' },
        { at: START + 3, value: 3 },
      ]
      expect(await telemetry.points({ deviceId, metric: 'm', ...span, limit: 9 })).toEqual(whole)
      for (const limit of [1, 2, 3]) expect(await pages(telemetry, deviceId, limit)).toEqual(whole)
      const later = { ...span, from: Millis(span.to - 1) }
      expect(await telemetry.points({ deviceId, metric: 'm', ...later, limit: 9 })).toEqual([])
    })

    test('a file of points has a row per point, with CSV quotes and without formulas', async () => {
      const query = { deviceIds: [await mixed('files')], metrics: ['m', 'n'], ...span }
      const file = await textOf(telemetry.export({ kind: 'points', query, format: 'csv' }))
      const rows = file.replace('a"", "b', '').split(/\n(?="files")/)
      expect(rows[0]).toBe('"device_id","metric","time","value","text"')
      const at = '2026-10-24T00:00:00.00000'
      expect(file).toContain(`"files","n","${at}2Z",,"a""b,c\nd"\n`)
      expect(
        rows
          .map((row) => row.trim())
          .filter((row) => row.startsWith('"files","m"'))
          .sort(),
      ).toEqual([
        `"files","m","${at}1Z",,"one"`,
        `"files","m","${at}1Z",1.5,`,
        `"files","m","${at}2Z",,"'=1+1"`,
        `"files","m","${at}3Z",3,`,
      ])
      const lines = await textOf(telemetry.export({ kind: 'points', query, format: 'ndjson' }))
      const first = { device_id: 'files', metric: 'm', time: `${at}1Z`, value: 1.5, text: null }
      expect(
        lines
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line)),
      ).toContainEqual(first)
    })

    test('a text that a spreadsheet would run as a formula has a quote in front, and no other one has', async () => {
      const formulas = ['=1', '+1', '-1', '@a', '\t1', '\r1', '\n1', '＝1', '＋1', '－1', '＠a']
      const plain = ['ｆ1', 'a=1', '1', ' =1']
      const values = Object.fromEntries([...formulas, ...plain].map((text, i) => [`f${i}`, text]))
      await telemetry.insert(textsBlock([{ device: 'formulas', at: START + 1, version: 1, values }]))
      const query = { deviceIds: [DeviceIdOf('formulas')], metrics: Object.keys(values), ...span }
      const file = await textOf(telemetry.export({ kind: 'points', query, format: 'csv' }))
      for (const text of formulas) expect(file).toContain(`,"'${text}"`)
      for (const text of plain) expect(file).toContain(`,"${text}"`)
    })

    test('a file of buckets has the same values as the query', async () => {
      await insert(
        [0, 1, 61].map((second) => ({ device: 'bf', metric: 'v', at: second * SECOND, v: second })),
      )
      const ask = { devices: ['bf'], metrics: ['v'], from: 0, to: HOUR, interval: '1m' } as const
      const file = (by: 'device' | 'group', format: ExportFormat) => {
        const query = seriesQuery({ ...ask, by, aggregates: ['avg', 'count', 'p50'] })
        return textOf(telemetry.export({ kind: 'series', query, format }))
      }
      expect(await file('device', 'csv')).toBe(
        '"device_id","metric","time","avg","count","p50"\n' +
          '"bf","v","2026-10-24T00:00:00.000000Z",0.5,2,0.5\n"bf","v","2026-10-24T00:01:00.000000Z",61,1,61\n',
      )
      const [line = ''] = (await file('group', 'ndjson')).split('\n')
      const time = '2026-10-24T00:00:00.000000Z'
      expect(JSON.parse(line)).toEqual({ metric: 'v', time, avg: 0.5, count: 2, p50: 0.5 })
    })

    test('a file without rows has only its head', async () => {
      const query = { deviceIds: [DeviceIdOf('nobody')], metrics: ['m'], ...span }
      const text = (format: ExportFormat) => textOf(telemetry.export({ kind: 'points', query, format }))
      expect(await text('csv')).toBe('"device_id","metric","time","value","text"\n')
      expect(await text('ndjson')).toBe('')
      if (parquet) expect((await text('parquet')).slice(0, 4)).toBe('PAR1')
    })
  })
}

async function pages(telemetry: Telemetry, deviceId: DeviceId, limit: number): Promise<readonly Point[]> {
  const all: Point[] = []
  const span = { from: Millis(START / 1000), to: Millis((START + DAY) / 1000) }
  for (let after: PointPlace | undefined; ; ) {
    const page = await telemetry.points({ deviceId, metric: 'm', ...span, after, limit })
    all.push(...page)
    const last = page.at(-1)
    if (last === undefined) return all
    after = { at: Micros(last.at), isText: typeof last.value === 'string' }
  }
}

/** ClickHouse computes deviations and quantiles in another order, so the last digits differ. */
const rounded = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, item) =>
    typeof item === 'number' ? Math.round(item * 1e6) / 1e6 + 0 : item,
  )
