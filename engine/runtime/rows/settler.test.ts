import { expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { MemoryStore } from '../../adapters/store/testing/memory.ts'
import { partitionOf } from '../../domain/partition.ts'
import { type LateHour, NO_SAVE, type Save } from '../../ports/store.ts'
import { SimTime } from '../../testing/time.ts'
import { idOf } from '../shard/testing/items.ts'
import { Settler } from './settler.ts'

const HOUR_MS = 3_600_000
const TEN = Millis(Date.UTC(2026, 0, 5, 10))
const a = idOf('a')
const late = (hour: number): LateHour => ({ deviceId: a, hour: (TEN + hour * HOUR_MS) / 1000 })
const ALL = { from: 0, to: Number.MAX_SAFE_INTEGER }
const saveOf = (hours: readonly LateHour[]): Save => ({ ...NO_SAVE, late: hours })

/** A settler at some minutes past eleven. */
class Bench {
  readonly time = new SimTime(Millis(TEN + HOUR_MS + 400_000))
  readonly steps: string[] = []
  isUp = true
  horizon = Millis(0)
  flushes: () => Promise<void> = async () => {}
  isLeading = true
  computes: () => Promise<void> = async () => {}
  store = new MemoryStore({ partitionOf })
  settler = this.#open()

  restart(): void {
    this.store = this.store.crash()
    this.settler = this.#open()
  }

  #open(): Settler {
    const { store } = this
    const named = {
      late: (hours: readonly LateHour[]) => hours.map(({ hour }) => (hour * 1000 - TEN) / HOUR_MS),
    }
    return new Settler({
      clock: this.time,
      store: {
        getFact: (name) => store.getFact(name),
        putFact: async (name, value) => {
          if (name === 'rollup_horizon') this.steps.push(`announce ${(Number(value) - TEN) / HOUR_MS}`)
          await store.putFact(name, value)
        },
        lateHours: () => store.lateHours(),
        lateHoursOf: (deviceId) => store.lateHoursOf(deviceId),
        clearLate: async (hours) => {
          this.steps.push(`take ${named.late(hours)}`)
          await store.clearLate(hours)
        },
      },
      telemetry: {
        isUp: () => this.isUp,
        horizon: () => this.horizon,
        settle: async (upTo, hours) => {
          this.steps.push(`settle ${(upTo - TEN) / HOUR_MS} and ${named.late(hours)}`)
          await this.computes()
          this.horizon = upTo
        },
      },
      flush: async () => {
        this.steps.push('flush')
        await this.flushes()
      },
      claims: () => [],
      isLeading: () => this.isLeading,
    })
  }
}

test('a horizon is announced, then all rows received before are stored, then rollups are computed', async () => {
  const bench = new Bench()
  let flushed = () => {}
  bench.flushes = () =>
    new Promise((resolve) => {
      flushed = resolve
    })
  const round = bench.settler.settle()
  await bench.time.advance(0)
  expect([bench.steps, bench.settler.horizon()]).toEqual([['announce 1', 'flush'], TEN + HOUR_MS])
  // A second round does not start in between.
  await bench.settler.settle()
  flushed()
  await round
  expect(bench.steps).toEqual(['announce 1', 'flush', 'settle 1 and '])
})

test('an hour is settled some minutes after its end, once', async () => {
  const bench = new Bench()
  bench.horizon = TEN
  bench.time.set(-200_000)
  await bench.settler.settle()
  expect(bench.steps).toEqual([])
  bench.time.set(200_000)
  await bench.settler.settle()
  await bench.settler.settle()
  expect(bench.steps).toEqual(['announce 1', 'flush', 'settle 1 and '])
})

test('late hours are computed again and then no longer late, except those marked meanwhile', async () => {
  const bench = new Bench()
  bench.horizon = Millis(TEN + HOUR_MS)
  await bench.store.save(saveOf([late(-1), late(0)]))
  bench.computes = async () => {
    expect([...bench.settler.lateHours([a], ALL)].sort()).toEqual([late(-1).hour, late(0).hour])
    await bench.store.save(saveOf([late(0)]))
  }
  await bench.settler.settle()
  expect(bench.settler.lateHours([a], ALL)).toEqual([late(0).hour])
  expect(bench.steps.slice(1)).toEqual(['take -1,0', 'flush', 'settle 1 and -1,0'])
})

test('hours that were taken but not computed are still late, and the next leader computes them', async () => {
  const bench = new Bench()
  bench.horizon = Millis(TEN + HOUR_MS)
  await bench.store.save(saveOf([late(0)]))
  bench.flushes = async () => {
    bench.isLeading = false
  }
  await bench.settler.settle()
  bench.restart()
  expect([bench.settler.lateHours([a], ALL), bench.store.lateHours()]).toEqual([[late(0).hour], []])
  bench.flushes = async () => {}
  await bench.settler.settle()
  expect(bench.steps).toEqual(['announce 1', 'take 0', 'flush'])
  bench.isLeading = true
  await bench.store.save(saveOf([late(-1)]))
  await bench.settler.settle()
  expect(bench.steps.slice(3)).toEqual(['take -1', 'flush', 'settle 1 and 0,-1'])
  expect(bench.settler.lateHours([a], ALL)).toEqual([])
})

test('a failed round is repeated, and nothing is forgotten across a restart', async () => {
  const bench = new Bench()
  await bench.store.save(saveOf([late(-3)]))
  bench.computes = async () => {
    throw new Error('away')
  }
  await expect(bench.settler.settle()).rejects.toThrow('away')
  bench.restart()
  // An announced horizon counts even before it is computed.
  expect([bench.settler.horizon(), bench.settler.lateHours([a], ALL)]).toEqual([
    TEN + HOUR_MS,
    [late(-3).hour],
  ])
  bench.computes = async () => {}
  bench.steps.length = 0
  await bench.settler.settle()
  expect(bench.steps).toEqual(['flush', 'settle 1 and -3'])
})

test('a horizon announced with a wrong clock does not survive a restart with the right one', async () => {
  const bench = new Bench()
  const in2059 = Date.UTC(2059, 11, 31, 23)
  await bench.store.putFact('rollup_horizon', `${in2059}`)
  bench.restart()
  expect(bench.settler.horizon()).toBe(bench.horizon)
  await bench.settler.settle()
  expect(bench.store.getFact('rollup_horizon')).toBe(`${TEN + HOUR_MS}`)
})

test('a mark that spans hours counts for all of them, even while it is taken, and is computed as one mark', async () => {
  const bench = new Bench()
  bench.horizon = Millis(TEN + HOUR_MS)
  const until = late(0).hour
  await bench.store.save(saveOf([late(-1), { ...late(-4), until }]))
  const hours = [-4, -3, -2, -1].map((n) => late(n).hour)
  expect(bench.settler.lateHours(undefined, ALL)).toEqual(hours)
  bench.flushes = async () => {
    bench.isLeading = false
  }
  await bench.settler.settle()
  bench.restart()
  expect(bench.store.lateHours()).toEqual([])
  expect(bench.settler.lateHours([a], ALL)).toEqual(hours)
  expect(bench.settler.lateHours([a], { from: TEN - 2 * HOUR_MS - 1, to: TEN - HOUR_MS })).toEqual(
    hours.slice(1, 3),
  )
  bench.flushes = async () => {}
  bench.isLeading = true
  await bench.settler.settle()
  expect(bench.settler.lateHours([a], ALL)).toEqual([])
})

test('while ClickHouse is down nothing is announced', async () => {
  const bench = new Bench()
  bench.isUp = false
  await bench.settler.settle()
  expect(bench.steps).toEqual([])
})
