import { expect, test } from 'vitest'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type { Block } from '../../ports/telemetry.ts'
import { SimTime } from '../../testing/time.ts'
import { START } from '../shard/testing/items.ts'
import { Inserter } from './inserter.ts'

const block = (token: string): Block => ({ kind: 'points', bytes: new Uint8Array(1), rows: 1, token })
const later = new Fault('TELEMETRY_UNAVAILABLE', { retryable: true })
const never = new Fault('TELEMETRY_REFUSED', { retryable: false })

function setUp() {
  const time = new SimTime(START)
  /** Outcomes of the next inserts; later ones succeed. */
  const fates: (Fault | Error)[] = []
  const tried: string[] = []
  const told: string[] = []
  const inserter = new Inserter({
    telemetry: {
      async insert({ token }) {
        tried.push(token)
        const fate = fates.shift()
        if (fate !== undefined) throw fate
      },
    },
    schedule: time.newIncarnation().schedule,
    ticks: () => time.ticks(),
    signal: ({ kind, block: { token } }) => told.push(`${kind} ${token}`),
  })
  return { time, fates, tried, told, inserter }
}

test('blocks are inserted one by one, in order, and tried until they are stored', async () => {
  const { time, fates, tried, inserter } = setUp()
  fates.push(later, new Error('anything'))
  let isStored = false
  void inserter.insert([block('a'), block('b')]).then((stored) => {
    isStored = stored
  })
  await time.advance(100)
  expect([tried, isStored, inserter.waiting]).toEqual([['a'], false, 2])
  await time.advance(10_000)
  expect([tried, isStored, inserter.waiting]).toEqual([['a', 'a', 'a', 'b'], true, 0])
})

test('a block that is refused for good holds up nothing', async () => {
  const { time, fates, told, inserter } = setUp()
  fates.push(never)
  const stored = inserter.insert([block('a'), block('b')])
  await time.advance(0)
  expect([await stored, told]).toEqual([true, ['insert_refused a', 'inserted b']])
})

test('it is full with so many waiting, and gives them up when it is closed', async () => {
  const { time, fates, inserter } = setUp()
  for (let i = 0; i < 100; i++) fates.push(later)
  const stored = inserter.insert(Array.from({ length: LIMITS.blocksWaitingMax }, (_, i) => block(`b${i}`)))
  await time.advance(1)
  expect(inserter.isFull()).toBe(true)
  inserter.close()
  await time.advance(10_000)
  expect([await stored, inserter.isFull()]).toEqual([false, false])
})
