// The contract that every telemetry adapter's test runs. All tests share one instance, and each has devices and days of
// its own.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Micros, Millis } from '../../../../schemas/ids.ts'
import {
  AGGREGATES_DEFAULT,
  INTERVAL_SECONDS,
  INTERVALS,
  type Interval,
} from '../../../../schemas/vocabulary.ts'
import { gridOf } from '../../../domain/telemetry/grid.ts'
import type { Bucket } from '../../../domain/telemetry/summary.ts'
import type { Fault } from '../../../ports/fault.ts'
import type { Telemetry } from '../../../ports/telemetry.ts'
import { ASKS, bucketsOf, HISTORY } from './history.ts'
import { DeviceIdOf, historyBlock, METRIC_NAMES, type Message, pointsBlock, textsBlock } from './telemetry.ts'

export interface TelemetryContract {
  readonly name: string
  /** Opens an empty instance. */
  open(): Promise<Telemetry>
  /** Opens the same instance after its process ended without closing it. */
  restart(telemetry: Telemetry): Promise<Telemetry>
  readonly runs: number
}

const SECOND = 1_000_000
const HOUR = 3_600 * SECOND
const DAY = 24 * HOUR
interface Ask {
  readonly device: string
  readonly metric: string
  /** Microseconds, like all times in this file. */
  readonly from: number
  readonly to: number
  readonly interval: Interval
  readonly lateHours?: readonly number[]
}

export function telemetryContract({ name, open, restart, runs }: TelemetryContract): void {
  describe(`telemetry: ${name}`, () => {
    let telemetry: Telemetry
    let days = Date.UTC(2025, 0, 1) * 1000

    beforeAll(async () => {
      telemetry = await open()
    })
    afterAll(async () => {
      await telemetry.close()
    })

    /** The start of a day that no other test uses, later than all earlier ones. */
    const newDay = () => {
      days += 3 * DAY
      return days
    }
    const ask = async ({ device, metric, from, to, interval, lateHours = [] }: Ask) => {
      const span = { from: Millis(from / 1000), to: Millis(to / 1000) }
      const [series] = await telemetry.series({
        deviceIds: [DeviceIdOf(device)],
        by: 'device',
        metrics: [metric],
        ...span,
        grid: gridOf({ interval, ...span }),
        aggregates: AGGREGATES_DEFAULT,
        lateHours,
      })
      return series?.buckets ?? []
    }
    const settle = (upTo: number, late: readonly { device: string; hour: number; until?: number }[] = []) =>
      telemetry.settle(
        Millis(upTo / 1000),
        late.map(({ device, ...mark }) => ({ deviceId: DeviceIdOf(device), ...mark })),
      )

    test('nothing is settled at first', () => {
      expect(telemetry.horizon()).toBe(0)
      expect(telemetry.isUp()).toBe(true)
    })

    test('a bucket has the average, extremes, count and last value of its points', async () => {
      const day = newDay()
      const values = [3, 1, 8, 4]
      const messages = values.map((v, i) => ({
        device: 'a',
        at: day + i * 10 * SECOND,
        version: i,
        values: { v },
      }))
      await telemetry.insert(pointsBlock([...messages].reverse()))
      const span = { device: 'a', metric: 'v', from: day, to: day + HOUR }
      expect(await ask({ ...span, interval: '1m' })).toEqual([
        { time: day / 1000, avg: 4, min: 1, max: 8, count: 4, last: 4 },
      ])
      expect(
        (await ask({ ...span, interval: '10s' })).map(({ time, last }) => [time * 1000 - day, last]),
      ).toEqual([
        [0, 3],
        [10 * SECOND, 1],
        [20 * SECOND, 8],
        [30 * SECOND, 4],
      ])
    })

    test('forgotten devices leave nothing behind, rollups and history included, and others keep all of it', async () => {
      const day = newDay()
      const of = (device: string) => ({ device, at: day, version: 1, values: { v: 1 } })
      await telemetry.insert(pointsBlock([of('gone'), of('kept')]))
      const row = (device: string) =>
        ({
          deviceId: DeviceIdOf(device),
          kind: 'status',
          at: Micros(Date.now() * 1000),
          version: 1,
          body: {},
        }) as const
      await telemetry.insert(historyBlock([row('gone'), row('kept')]))
      await settle(day + DAY)
      await telemetry.forget([DeviceIdOf('gone')])
      await telemetry.forget([])
      for (const [device, count] of [
        ['gone', 0],
        ['kept', 1],
      ] as const) {
        expect(await telemetry.countPoints(DeviceIdOf(device))).toBe(count)
        const buckets = await ask({ device, metric: 'v', from: day, to: day + HOUR, interval: '1h' })
        expect(buckets).toHaveLength(count)
        const found = { deviceId: DeviceIdOf(device), kinds: ['status'] } as const
        expect(await telemetry.countHistory(found)).toBe(count)
      }
      await telemetry.insert(pointsBlock([{ ...of('gone'), at: day + SECOND, version: 2 }]))
      expect(await telemetry.countPoints(DeviceIdOf('gone'))).toBe(1)
    })

    test('buckets begin at multiples of their interval in UTC and contain only points in [from, to)', async () => {
      const day = newDay()
      const at = [-1, 0, 59 * SECOND, HOUR - 1, HOUR, DAY - 1, DAY]
      await telemetry.insert(
        pointsBlock(at.map((t, i) => ({ device: 'b', at: day + t, version: i, values: { v: 2 ** i } }))),
      )
      for (const interval of INTERVALS) {
        const buckets = await ask({ device: 'b', metric: 'v', from: day, to: day + DAY, interval })
        expect(buckets.map(({ time }) => time % (INTERVAL_SECONDS[interval] * 1000))).toEqual(
          buckets.map(() => 0),
        )
        expect(buckets.reduce((sum, { avg = 0, count = 0 }) => sum + avg * count, 0)).toBe(
          2 + 4 + 8 + 16 + 32,
        )
      }
      const within = { device: 'b', metric: 'v', from: day + SECOND, to: day + HOUR }
      expect(await ask({ ...within, interval: '1d' })).toEqual([
        { time: day / 1000, avg: 6, min: 4, max: 8, count: 2, last: 8 },
      ])
      expect(await ask({ ...within, to: within.from, interval: '1m' })).toEqual([])
    })

    test('an unknown device or metric has no buckets', async () => {
      const day = newDay()
      await telemetry.insert(pointsBlock([{ device: 'c', at: day, version: 1, values: { v: 1 } }]))
      const span = { from: day, to: day + DAY, interval: '1h' } as const
      expect(await ask({ device: 'c', metric: 'V', ...span })).toEqual([])
      expect(await ask({ device: 'C', metric: 'v', ...span })).toEqual([])
    })

    test('a point that is sent again, however cut into blocks, is one point', async () => {
      const day = newDay()
      const messages = Array.from({ length: 20 }, (_, i) => ({
        device: 'd',
        at: day + i * SECOND,
        version: i,
        values: { v: i, w: -i },
      }))
      const block = pointsBlock(messages)
      await telemetry.insert(block)
      const span = { device: 'd', metric: 'v', from: day, to: day + DAY, interval: '1h' } as const
      const before = await ask(span)
      await telemetry.insert(block)
      await telemetry.insert(pointsBlock(messages.slice(5, 15)))
      await telemetry.insert(pointsBlock(messages.slice(12)))
      expect(await ask(span)).toEqual(before)
      expect(await telemetry.countPoints(DeviceIdOf('d'))).toBe(40)
    })

    test('the value with the greater version wins at the same time, in whatever order they arrive', async () => {
      const day = newDay()
      const point = (at: number, version: number, v: number) => ({
        device: 'e',
        at: day + at,
        version,
        values: { v },
      })
      await telemetry.insert(pointsBlock([point(0, 1, 10), point(1, 4, 40)]))
      await telemetry.insert(pointsBlock([point(0, 2, 20), point(1, 3, 30)]))
      const [bucket] = await ask({ device: 'e', metric: 'v', from: day, to: day + DAY, interval: '1d' })
      expect(bucket).toEqual({ time: day / 1000, avg: 30, min: 20, max: 40, count: 2, last: 40 })
      expect(await telemetry.countPoints(DeviceIdOf('e'))).toBe(2)
    })

    test('texts are stored and are not counted as points', async () => {
      const day = newDay()
      const texts = textsBlock([{ device: 'f', at: day, version: 1, values: { mode: "it's\n", empty: '' } }])
      await telemetry.insert(texts)
      await telemetry.insert(texts)
      expect(await telemetry.countPoints(DeviceIdOf('f'))).toBe(0)
    })

    test('a malformed block is refused for good', async () => {
      const good = pointsBlock([{ device: 'h', at: newDay(), version: 1, values: { v: 1 } }])
      for (const bytes of [
        new Uint8Array(),
        Uint8Array.of(1, 2, 3),
        good.bytes.subarray(0, good.bytes.length - 3),
      ]) {
        const inserted = telemetry.insert({ ...good, bytes })
        const fault: Fault = await inserted.then(
          () => expect.fail('it was taken'),
          (cause) => cause,
        )
        expect([fault.code, fault.retryable], fault.message).toEqual(['TELEMETRY_REFUSED', false])
      }
      expect(await telemetry.countPoints(DeviceIdOf('h'))).toBe(0)
    })

    test('names of metrics may contain any characters', async () => {
      const day = newDay()
      const values = Object.fromEntries(METRIC_NAMES.map((metric, i) => [metric, i]))
      await telemetry.insert(pointsBlock([{ device: 'i', at: day, version: 1, values }]))
      for (const [i, metric] of METRIC_NAMES.entries()) {
        const buckets = await ask({ device: 'i', metric, from: day, to: day + DAY, interval: '1m' })
        expect([metric, buckets.map(({ last }) => last)]).toEqual([metric, [i]])
      }
      await settle(day + DAY)
      for (const [i, metric] of METRIC_NAMES.entries()) {
        const buckets = await ask({ device: 'i', metric, from: day, to: day + DAY, interval: '1h' })
        expect([metric, buckets.map(({ last }) => last)]).toEqual([metric, [i]])
      }
    })

    test('the largest possible values have an average', async () => {
      const day = newDay()
      const values = [Number.MAX_VALUE, Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE]
      const series = { large: values.slice(0, 2), mixed: values, tenth: [0.1, 0.1, 0.1] }
      const messages = Object.entries(series).flatMap(([metric, all]) =>
        all.map((v, i) => ({ device: 'k', at: day + i, version: i, values: { [metric]: v } })),
      )
      await telemetry.insert(pointsBlock(messages))
      for (const metric of Object.keys(series)) {
        const [bucket] = await ask({ device: 'k', metric, from: day, to: day + DAY, interval: '1d' })
        expect(bucket?.avg).toBeGreaterThanOrEqual(bucket?.min ?? Number.NaN)
        expect(bucket?.avg).toBeLessThanOrEqual(bucket?.max ?? Number.NaN)
      }
    })

    test('settling moves the horizon by whole hours and never back, and the horizon survives a restart', async () => {
      const day = newDay()
      await settle(day + HOUR + 5)
      expect(telemetry.horizon() * 1000).toBe(day + HOUR)
      await settle(day)
      expect(telemetry.horizon() * 1000).toBe(day + HOUR)
      telemetry = await restart(telemetry)
      expect(telemetry.horizon() * 1000).toBe(day + HOUR)
    })

    test('the last value of many settled buckets is the latest one', async () => {
      const day = newDay()
      const minutes = Array.from({ length: 40 }, (_, i) => (i * 7) % 40)
      for (const at of [minutes.slice(0, 20), minutes.slice(20)]) {
        await telemetry.insert(
          pointsBlock(
            at.map((m) => ({ device: 'm', at: day + m * 60 * SECOND, version: m, values: { v: m } })),
          ),
        )
      }
      await settle(day + HOUR)
      const span = { device: 'm', metric: 'v', from: day - DAY, to: day + DAY }
      expect((await ask({ ...span, interval: '5m' })).map(({ last }) => last)).toEqual([
        4, 9, 14, 19, 24, 29, 34, 39,
      ])
      expect((await ask({ ...span, interval: '1h' })).map(({ last }) => last)).toEqual([39])
    })

    test('a late point counts at once in queries that name its hour, and in all once the hour is settled', async () => {
      const day = newDay()
      const point = (at: number, v: number) => ({ device: 'l', at: day + at, version: at, values: { v } })
      await telemetry.insert(pointsBlock([point(0, 1), point(HOUR, 2)]))
      await settle(day + 2 * HOUR)
      await telemetry.insert(pointsBlock([point(60 * SECOND, 5)]))
      const late = [{ device: 'l', hour: day / SECOND }]
      const span = { device: 'l', metric: 'v', from: day - DAY, to: day + DAY } as const
      const counts = (buckets: readonly Bucket[]) => buckets.map(({ count }) => count)
      const named = { ...span, lateHours: late.map(({ hour }) => hour) }
      expect(counts(await ask({ ...named, interval: '1h' }))).toEqual([2, 1])
      expect(counts(await ask({ ...named, interval: '1m' }))).toEqual([1, 1, 1])
      await settle(day + 2 * HOUR, late)
      expect(counts(await ask({ ...span, interval: '1h' }))).toEqual([2, 1])
      expect(counts(await ask({ ...span, interval: '1m' }))).toEqual([1, 1, 1])
      await settle(day + 2 * HOUR, late)
      expect(counts(await ask({ ...span, interval: '1d' }))).toEqual([3])
      // A mark that spans several hours counts for each of them, up to the horizon.
      await telemetry.insert(pointsBlock([point(61 * SECOND, 6), point(HOUR + 61 * SECOND, 7)]))
      const wide = { device: 'l', hour: day / SECOND, until: (day + 5 * HOUR) / SECOND }
      await settle(day + 2 * HOUR, [wide])
      expect(counts(await ask({ ...span, interval: '1h' }))).toEqual([3, 2])
      // An hour in two marks counts once.
      await settle(day + 2 * HOUR, [...late, wide])
      expect(counts(await ask({ ...span, interval: '1h' }))).toEqual([3, 2])
    })

    test('marks of late hours that overlap count each point once', async () => {
      const day = newDay()
      const values = Array.from({ length: 6 }, (_, hour) => ({
        ...{ device: 'o', at: day + hour * HOUR, version: hour, values: { v: 1 } },
      }))
      await telemetry.insert(pointsBlock(values))
      await settle(day + 6 * HOUR)
      const mark = (from: number, until?: number) => ({
        ...{ device: 'o', hour: (day + from * HOUR) / SECOND },
        ...(until !== undefined && { until: (day + until * HOUR) / SECOND }),
      })
      await settle(day + 6 * HOUR, [mark(1), mark(0, 3), mark(2, 5), mark(2), mark(4), mark(5), mark(5, 6)])
      const span = { device: 'o', metric: 'v', from: day, to: day + DAY } as const
      for (const interval of ['1m', '1h'] as const)
        expect((await ask({ ...span, interval })).map(({ count }) => count)).toEqual([1, 1, 1, 1, 1, 1])
    })

    test('points that return after their hour was settled count once it is settled again', async () => {
      const day = newDay()
      const point = (at: number, v: number) => ({ device: 'n', at: day + at, version: at, values: { v } })
      await telemetry.insert(pointsBlock([point(0, 1), point(HOUR, 2), point(2 * HOUR, 3)]))
      await settle(day + 2 * HOUR)
      await telemetry.insert(pointsBlock([point(1, 5), point(HOUR + 1, 7), point(2 * HOUR + 1, 9)]))
      const span = { device: 'n', metric: 'v', from: day - DAY, to: day + DAY } as const
      await telemetry.resettle(Millis(day / 1000), Millis((day + DAY) / 1000))
      expect(telemetry.horizon() * 1000).toBe(day + 2 * HOUR)
      for (const interval of ['1m', '1h'] as const)
        expect((await ask({ ...span, interval })).map(({ count, last }) => [count, last])).toEqual([
          [2, 5],
          [2, 7],
          [2, 9],
        ])
    })

    test('replayed, late and unordered points give exact buckets, whenever they are settled', async () => {
      let run = 0
      await fc.assert(
        fc.asyncProperty(HISTORY, ASKS, async (history, asks) => {
          const day = newDay()
          const device = `p${run++}`
          const stored = new Map<string, { at: number; metric: string; version: number; v: number }>()
          const late = new Set<number>()
          let version = 0
          for (const step of history) {
            if (step.kind === 'settle') {
              const hours = step.late ? [...late] : []
              await settle(
                day + step.hour * HOUR,
                hours.map((hour) => ({ device, hour })),
              )
              for (const hour of hours) late.delete(hour)
              continue
            }
            const messages = step.points.map(({ at, metric, v }): Message => {
              const point = { at: day + at, metric, version: version++, v }
              stored.set(`${metric} ${point.at}`, point)
              const hour = Math.floor(point.at / HOUR) * 3_600
              if (hour * 1000 < telemetry.horizon()) late.add(hour)
              return {
                device,
                at: point.at,
                receivedAt: day + DAY,
                version: point.version,
                values: { [metric]: v },
              }
            })
            await telemetry.insert(pointsBlock(messages))
            if (step.again)
              await telemetry.insert(pointsBlock(messages.slice(Math.floor(messages.length / 2))))
          }
          for (const { from, length, metric, interval } of asks) {
            const asked = { from: day + from * 1000, to: day + (from + length) * 1000, metric, interval }
            const points = [...stored.values()].filter((point) => point.metric === metric)
            expect(await ask({ device, ...asked, lateHours: [...late] })).toEqual(bucketsOf(points, asked))
          }
          expect(await telemetry.countPoints(DeviceIdOf(device))).toBe(stored.size)
        }),
        // A busy machine takes longer. The rest of the time is for reporting the history that failed.
        { numRuns: runs, interruptAfterTimeLimit: 80_000, markInterruptAsFailure: true },
      )
    }, 90_000)
  })
}
