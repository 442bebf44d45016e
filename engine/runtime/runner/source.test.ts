import { expect, test } from 'vitest'
import { Micros, Partition } from '../../../schemas/ids.ts'
import { MemoryLog } from '../../adapters/log/testing/memory.ts'
import { LIMITS } from '../../limits.ts'
import type { LogReader, Positions } from '../../ports/log.ts'
import { type Portion, Source } from './source.ts'

const [P, Q, OTHER] = [Partition(0), Partition(1), Partition(2)]
const NOTHING: Positions = new Array<number>(LIMITS.partitions).fill(0)
const ROOM = { isFull: false, isHalfEmpty: true }
const FULL = { isFull: true, isHalfEmpty: false }
const settled = () => new Promise((resolve) => setImmediate(resolve))

class Bench {
  readonly log: MemoryLog
  readonly source: Source
  readonly errors: unknown[] = []
  pokes = 0
  covered = [...NOTHING]

  constructor(log = new MemoryLog()) {
    this.log = log
    this.source = new Source({
      log,
      partitions: [P, Q],
      from: this.covered,
      poke: () => this.pokes++,
      failed: (error) => this.errors.push(error),
    })
  }

  async append(...partitions: readonly Partition[]): Promise<void> {
    await this.log.append(
      partitions.map((partition) => ({ partition, body: new Uint8Array(10) })),
      Micros(1),
    )
  }

  /** Takes the next portion as a runner would. */
  async next(room = ROOM): Promise<string> {
    const portion = this.source.next(this.covered, room) ?? (await this.#pulled(room))
    if (portion === undefined) return 'nothing'
    for (const { partition, seq } of portion.entries)
      if (portion.rows) this.covered[partition] = Math.max(seq, this.covered[partition] ?? 0)
    const entries = portion.entries.map(({ partition, seq }) => `${partition}:${seq}`)
    return `${portion.rows ? 'rows' : 'records'} ${entries.join(' ')}`
  }

  async #pulled(room: typeof ROOM): Promise<Portion | undefined> {
    await settled()
    return this.source.next(this.covered, room)
  }
}

/** A log whose readers do not know at first that there is nothing to read. */
class LateLog extends MemoryLog {
  override reader(...args: Parameters<MemoryLog['reader']>): LogReader {
    const reader = super.reader(...args)
    let isKnown = false
    return {
      pull: async (bytesMax) => {
        if (isKnown) return reader.pull(bytesMax)
        isKnown = true
        return []
      },
      isCaughtUp: () => isKnown && reader.isCaughtUp(),
      close: () => reader.close(),
    }
  }
}

test('entries come in order, first old ones and then live ones, and the source pokes when there are more', async () => {
  const bench = new Bench()
  await bench.append(P, OTHER, Q)
  await bench.append(P)
  expect(bench.source.isCaughtUp()).toBe(false)
  expect([await bench.next(), await bench.next()]).toEqual(['rows 0:1 1:1 0:2', 'nothing'])
  expect(bench.source.isCaughtUp()).toBe(true)
  const { pokes } = bench
  await bench.append(OTHER)
  await settled()
  expect([bench.pokes, bench.source.isCaughtUp()]).toEqual([pokes, true])
  await bench.append(Q)
  expect(bench.source.isCaughtUp()).toBe(false)
  await settled()
  expect([bench.pokes > pokes, await bench.next()]).toEqual([true, 'rows 1:2'])
})

test('a reader that finds out by a pull that there is nothing to read counts as caught up', async () => {
  const bench = new Bench(new LateLog())
  expect(await bench.next()).toBe('nothing')
  expect(bench.source.isCaughtUp()).toBe(true)
  expect(bench.pokes).toBe(1)
})

test('entries that were pulled but are not at hand yet count as unread', async () => {
  const bench = new Bench()
  await bench.append(P)
  // The pull has taken the entry already, but resolves a few steps later.
  expect(bench.source.next(bench.covered, ROOM)).toBeUndefined()
  expect(bench.source.isCaughtUp()).toBe(false)
  expect(await bench.next()).toBe('rows 0:1')
  expect([await bench.next(), bench.source.isCaughtUp()]).toEqual(['nothing', true])
})

test('records go on without rows if there is no room; the rows are read later, and none is missing', async () => {
  const bench = new Bench()
  await bench.append(P)
  expect(await bench.next()).toBe('rows 0:1')
  await bench.append(P)
  expect(await bench.next(FULL)).toBe('records 0:2')
  await bench.append(P, Q)
  expect(await bench.next({ isFull: false, isHalfEmpty: false })).toBe('records 0:3 1:1')
  const read: string[] = []
  for (let i = 0; i < 6; i++) read.push(await bench.next())
  expect(read.filter((line) => line !== 'nothing')).toEqual(['rows 0:2 0:3 1:1'])
  await bench.append(Q)
  expect(await bench.next()).toBe('rows 1:2')
})

test('entries that arrive while rows are read again always get their rows, whichever reader takes them', async () => {
  const bench = new Bench()
  const seen = new Set<string>()
  let appended = 0
  for (let round = 0; round < 300; round++) {
    if (round < 200) {
      await bench.append(P)
      appended++
    }
    const line = await bench.next(round % 50 < 5 ? FULL : ROOM)
    if (line.startsWith('rows')) for (const entry of line.split(' ').slice(1)) seen.add(entry)
  }
  expect(seen.size).toBe(appended)
})

test('partitions gained later are read by a reader of their own, until it has caught up', async () => {
  const bench = new Bench()
  for (let n = 0; n < 3; n++) await bench.append(P, OTHER)
  expect(await bench.next()).toBe('rows 0:1 0:2 0:3')
  const from = [...NOTHING]
  from[OTHER] = 1
  bench.source.join([OTHER], from)
  expect([bench.source.isJoining, bench.source.isCaughtUp()]).toEqual([true, false])
  await bench.append(P)
  expect([await bench.next(), await bench.next()].sort()).toEqual(['rows 0:4', 'rows 2:2 2:3'])
  expect([await bench.next(), bench.source.isJoining]).toEqual(['nothing', false])
  await bench.append(P, Q, OTHER)
  expect(await bench.next()).toBe('rows 0:5 1:1 2:4')
  expect([await bench.next(), bench.source.isCaughtUp()]).toEqual(['nothing', true])
})

test('each entry of partitions gained one after another gets its rows, however much room there is', async () => {
  const bench = new Bench()
  const [seen, appended] = [new Set<string>(), new Map<Partition, number>()]
  for (let round = 0; round < 400; round++) {
    // Joins while rows are left out, and while they are read again.
    if (round === 52) bench.source.join([OTHER], NOTHING)
    if (round === 113) bench.source.join([Partition(3)], NOTHING)
    const partitions = round < 300 ? [P, OTHER, Partition(3)].slice(round % 3) : []
    if (partitions.length > 0) await bench.append(...partitions)
    for (const partition of partitions) appended.set(partition, (appended.get(partition) ?? 0) + 1)
    const line = await bench.next(round % 50 < 12 ? FULL : ROOM)
    if (line.startsWith('rows')) for (const entry of line.split(' ').slice(1)) seen.add(entry)
  }
  expect(seen.size).toBe([...appended.values()].reduce((sum, count) => sum + count, 0))
  expect(bench.source.isCaughtUp()).toBe(true)
})

test('after a large save the next batches are smaller, until a save is small', async () => {
  const bench = new Bench()
  for (let i = 0; i < 60; i++) await bench.append(P)
  const sizes: number[] = []
  for (const recordsOfEach of [0, LIMITS.batchRecordsMax / 4, LIMITS.batchRecordsMax / 4, 0, 0]) {
    for (let i = 0; i < 20; i++) await bench.append(P)
    const before = bench.covered[P] ?? 0
    await bench.next()
    const size = (bench.covered[P] ?? 0) - before
    sizes.push(size)
    const entries = Array.from({ length: size }, () => ({ partition: P, seq: 0, body: new Uint8Array(10) }))
    bench.source.adjustBatchSize(entries, size * recordsOfEach)
  }
  expect(sizes).toEqual([80, 20, 4, 4, 52])
})

test('a failing log is reported and read again at the next look', async () => {
  class BrokenLog extends MemoryLog {
    isBroken = true
    override reader(partitions: readonly Partition[], from: Positions): LogReader {
      const reader = super.reader(partitions, from)
      return {
        pull: async (bytesMax) => {
          if (this.isBroken) throw new Error('broken')
          return reader.pull(bytesMax)
        },
        isCaughtUp: () => reader.isCaughtUp(),
        close: () => reader.close(),
      }
    }
  }
  const log = new BrokenLog()
  const bench = new Bench(log)
  await bench.append(P)
  expect([await bench.next(), bench.errors.length > 0, bench.source.isCaughtUp()]).toEqual([
    'nothing',
    true,
    false,
  ])
  log.isBroken = false
  await settled()
  expect(await bench.next()).toBe('rows 0:1')
})
