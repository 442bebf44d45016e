import { expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { MemoryStore } from '../../adapters/store/memory.ts'
import { type LateHour, NO_SAVE, type Save } from '../../ports/store.ts'
import { SimTime } from '../../sim/time.ts'
import { partitionOf } from '../partition.ts'
import { idOf } from '../shard/frames-harness.ts'
import { Settler } from './settler.ts'

const HOUR_MS = 3_600_000
const TEN = Millis(Date.UTC(2026, 0, 5, 10))
const a = idOf('a')
const late = (hour: number): LateHour => ({ deviceId: a, hour: (TEN + hour * HOUR_MS) / 1000 })
const saveOf = (hours: readonly LateHour[]): Save => ({ ...NO_SAVE, late: hours })

/** It is some minutes past eleven. */
class Bench {
  readonly time = new SimTime(Millis(TEN + HOUR_MS + 400_000))
  readonly steps: string[] = []
  isUp = true
  horizon = Millis(0)
  flushes: () => Promise<void> = async () => {}
  clears: () => Promise<void> = async () => {}
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
    return new Settler(
      {
        clock: this.time,
        store: {
          getFact: (name) => store.getFact(name),
          putFact: async (name, value) => {
            this.steps.push(`announce ${(Number(value) - TEN) / HOUR_MS}`)
            await store.putFact(name, value)
          },
          lateHours: () => store.lateHours(),
          clearLate: async (hours) => {
            this.steps.push(`clear ${named.late(hours)}`)
            await store.clearLate(hours)
            await this.clears()
          },
          save: (save) => store.save(save),
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
      },
      async () => {
        this.steps.push('flush')
        await this.flushes()
      },
    )
  }
}

test('a horizon is announced, then all rows received before are stored, then it is computed', async () => {
  const bench = new Bench()
  let flushed = () => {}
  bench.flushes = () =>
    new Promise((resolve) => {
      flushed = resolve
    })
  const round = bench.settler.settle()
  await bench.time.advance(0)
  expect([bench.steps, bench.settler.horizon()]).toEqual([['announce 1', 'flush'], TEN + HOUR_MS])
  // Another round does not come in between.
  await bench.settler.settle()
  flushed()
  await round
  expect(bench.steps).toEqual(['announce 1', 'flush', 'settle 1 and ', 'clear '])
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
  expect(bench.steps).toEqual(['announce 1', 'flush', 'settle 1 and ', 'clear '])
})

test('late hours are computed again and then are late no more; one marked meanwhile stays', async () => {
  const bench = new Bench()
  bench.horizon = Millis(TEN + HOUR_MS)
  await bench.store.save(saveOf([late(-1), late(0)]))
  bench.settler.mark([late(-1), late(0)])
  bench.computes = async () => {
    await bench.store.save(saveOf([late(0)]))
    bench.settler.mark([late(0)])
  }
  await bench.settler.settle()
  expect(bench.settler.lateHours(a)).toEqual([late(0).hour])
  expect(bench.store.lateHours()).toEqual([late(0)])
  expect(bench.steps.slice(1)).toEqual(['flush', 'settle 1 and -1,0', 'clear -1'])
})

test('a mark saved while earlier ones are cleared outlives a restart', async () => {
  const bench = new Bench()
  bench.horizon = Millis(TEN + HOUR_MS)
  bench.settler.mark([late(0)])
  // It was saved before, and is told only now.
  bench.clears = async () => bench.settler.mark([late(0)])
  await bench.settler.settle()
  expect([bench.settler.lateHours(a), bench.store.lateHours()]).toEqual([[late(0).hour], [late(0)]])
  bench.restart()
  expect(bench.settler.lateHours(a)).toEqual([late(0).hour])
})

test('what fails is tried with the next round, and nothing is forgotten over a restart', async () => {
  const bench = new Bench()
  await bench.store.save(saveOf([late(-3)]))
  bench.settler.mark([late(-3)])
  bench.computes = async () => {
    throw new Error('away')
  }
  await expect(bench.settler.settle()).rejects.toThrow('away')
  bench.restart()
  // What was announced counts, computed or not.
  expect([bench.settler.horizon(), bench.settler.lateHours(a)]).toEqual([TEN + HOUR_MS, [late(-3).hour]])
  bench.computes = async () => {}
  bench.steps.length = 0
  await bench.settler.settle()
  expect(bench.steps).toEqual(['flush', 'settle 1 and -3', 'clear -3'])
})

test('while ClickHouse is away nothing is announced', async () => {
  const bench = new Bench()
  bench.isUp = false
  await bench.settler.settle()
  expect(bench.steps).toEqual([])
})
