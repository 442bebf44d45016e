import { expect, test } from 'vitest'
import { Millis, Partition } from '../../../schemas/ids.ts'
import { MemoryStore } from '../../adapters/store/testing/memory.ts'
import { partitionOf } from '../../domain/partition.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { Positions } from '../../ports/log.ts'
import type { Checkpoint } from '../../ports/store.ts'
import { SimTime } from '../../testing/time.ts'
import { emptyCounts } from '../shard/counts.ts'
import { openProposal } from '../shard/proposal.ts'
import type { WorkResult } from '../shard/protocol.ts'
import { idOf, START } from '../shard/testing/items.ts'
import { Checkpointer } from './checkpointer.ts'

const P = Partition(0)
const CLAIMS = [{ partition: P, epoch: 0 }]
const upTo = (seq: number): Positions => [seq, ...new Array<number>(LIMITS.partitions - 1).fill(0)]

/** The result of a task that handed everything out. */
const resultOf = (seq: number, vitals: WorkResult['vitals'] = []): WorkResult => ({
  proposal: openProposal(() => undefined).proposal(),
  answers: [],
  blocks: [],
  covered: Float64Array.from(upTo(seq)),
  isAllOut: true,
  blocksSince: Millis(0),
  isSweepCut: false,
  vitals,
  counts: emptyCounts(),
  devices: 0,
  alerts: undefined,
})
const vitalsOf = (text: string) => [{ deviceId: idOf('a'), bytes: Buffer.from(text) }]

class Bench {
  readonly time = new SimTime(START)
  readonly saved: Checkpoint[] = []
  readonly trimmed: number[] = []
  readonly fatal: Fault[] = []
  faults: Fault[] = []
  readonly checkpointer: Checkpointer
  readonly #store = new MemoryStore({ partitionOf })

  constructor() {
    const store = this.#store
    const { schedule } = this.time.newIncarnation()
    const ports = {
      partitions: [P],
      claims: CLAIMS,
      clock: this.time,
      schedule,
      log: { trim: async (positions: Positions) => void this.trimmed.push(positions[P] ?? 0) },
      store: {
        inserted: () => store.inserted(),
        checkpoint: async (checkpoint: Checkpoint) => {
          const fault = this.faults.shift()
          if (fault !== undefined) throw fault
          await store.checkpoint(checkpoint)
          this.saved.push(checkpoint)
        },
      },
    }
    const events = { done: () => {}, signal: () => {}, fatal: (fault: Fault) => void this.fatal.push(fault) }
    this.checkpointer = new Checkpointer(ports, events)
  }

  take(result: WorkResult, inserted: Promise<boolean> = Promise.resolve(true)): void {
    this.checkpointer.take(result, inserted, Array.from(result.covered))
  }

  /** The state of a request, updated when it is answered. */
  request(): { readonly state: string } {
    const request = { state: 'open' }
    this.checkpointer.request().then(
      () => {
        request.state = 'answered'
      },
      () => {
        request.state = 'refused'
      },
    )
    return request
  }
}

test('a checkpoint is due every few seconds, and when it can answer a request', async () => {
  const { checkpointer, time } = new Bench()
  expect(checkpointer.isDue(upTo(0), upTo(0))).toBe(false)
  await time.advance(LIMITS.checkpointEveryMs)
  expect(checkpointer.isDue(upTo(0), upTo(0))).toBe(true)
  const asked = new Bench().checkpointer
  void asked.request()
  // The target is what was applied at the first look. Rows must reach that, not what is applied later.
  expect([asked.isDue(upTo(3), upTo(2)), asked.isDue(upTo(9), upTo(3))]).toEqual([false, true])
})

test('nothing is promised before the rows are stored, and only one checkpoint is under way at a time', async () => {
  const bench = new Bench()
  let store = (_: boolean) => {}
  const request = bench.request()
  bench.checkpointer.isDue(upTo(2), upTo(2))
  bench.take(
    resultOf(2, vitalsOf('v')),
    new Promise((resolve) => {
      store = resolve
    }),
  )
  await bench.time.advance(60_000)
  expect([bench.saved, bench.checkpointer.isDue(upTo(2), upTo(2)), request.state]).toEqual([
    [],
    false,
    'open',
  ])
  store(true)
  await bench.time.advance(0)
  expect(bench.saved).toEqual([
    { claims: CLAIMS, inserted: [{ partition: P, seq: 2 }], vitals: vitalsOf('v') },
  ])
  expect([request.state, bench.trimmed]).toEqual(['answered', [2]])
})

test('rows that were given up lead to no checkpoint', async () => {
  const bench = new Bench()
  bench.take(resultOf(2), Promise.resolve(false))
  await bench.time.advance(10_000)
  expect(bench.saved).toEqual([])
})

test('a request is not answered by a checkpoint that does not reach it', async () => {
  const bench = new Bench()
  const request = bench.request()
  bench.checkpointer.isDue(upTo(5), upTo(3))
  bench.take(resultOf(3))
  await bench.time.advance(0)
  expect([bench.saved.length, request.state]).toEqual([1, 'open'])
  bench.take(resultOf(5))
  await bench.time.advance(0)
  expect(request.state).toBe('answered')
})

test('a failing save is given up after some attempts, and its vitals go with the next checkpoint', async () => {
  const bench = new Bench()
  bench.faults = Array.from(
    { length: LIMITS.attemptsMax },
    () => new Fault('STORE_UNAVAILABLE', { retryable: true }),
  )
  bench.take(resultOf(2, vitalsOf('old')))
  await bench.time.advance(10_000)
  expect([bench.saved, bench.checkpointer.isDue(upTo(2), upTo(2))]).toEqual([[], true])
  bench.take(resultOf(3))
  await bench.time.advance(0)
  expect(bench.saved).toEqual([
    { claims: CLAIMS, inserted: [{ partition: P, seq: 3 }], vitals: vitalsOf('old') },
  ])
})

test('a checkpoint of a lost shard is not saved, and its requests wait for the next incarnation', async () => {
  const bench = new Bench()
  let store = (_: boolean) => {}
  const request = bench.request()
  bench.checkpointer.isDue(upTo(2), upTo(2))
  bench.take(
    resultOf(2, vitalsOf('gone')),
    new Promise((resolve) => {
      store = resolve
    }),
  )
  await bench.checkpointer.abandon()
  store(true)
  await bench.time.advance(1_000)
  expect([bench.saved, request.state]).toEqual([[], 'open'])
  bench.take(resultOf(2, vitalsOf('new')))
  await bench.time.advance(0)
  expect([bench.saved.map(({ vitals }) => vitals), request.state]).toEqual([[vitalsOf('new')], 'answered'])
})

test('what is saved is not written again', async () => {
  const bench = new Bench()
  for (let i = 0; i < 3; i++) {
    bench.take(resultOf(2))
    await bench.time.advance(0)
  }
  expect(bench.saved.length).toBe(1)
})

test('a store that is dead ends the process, and closing rejects open requests', async () => {
  const bench = new Bench()
  bench.faults = [new Fault('STORE_UNAVAILABLE', { retryable: false })]
  const request = bench.request()
  bench.checkpointer.isDue(upTo(2), upTo(2))
  bench.take(resultOf(2))
  await bench.time.advance(10_000)
  expect([bench.fatal.length, request.state]).toEqual([1, 'open'])
  bench.checkpointer.close()
  await bench.time.advance(0)
  expect([request.state, bench.request().state]).toEqual(['refused', 'open'])
})
