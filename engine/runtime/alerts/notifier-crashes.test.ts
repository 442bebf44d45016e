// The process ends at any moment while alerts are being sent.
import { beforeEach, expect, test } from 'vitest'
import { AlertId } from '../../../schemas/ids.ts'
import type { Notice } from '../../domain/alert/notice.ts'
import { answered, NotifierWorld, OK } from './testing/notifier-world.ts'

const SEC = 1_000
const MINUTE = 60 * SEC

let world: NotifierWorld

beforeEach(async () => {
  world = new NotifierWorld()
  await world.open()
})

const fired = (id: string, more: Partial<Notice> = {}) => world.at({ alertId: AlertId(id), ...more })
const resolved = (id: string, more: Partial<Notice> = {}) =>
  world.at({ alertId: AlertId(id), event: 'resolved', revision: 2, ...more })

test('whenever it crashes, every alert is told in order, and repeated messages have the same id', async () => {
  for (let seed = 0; seed < 20; seed++) {
    world = new NotifierWorld({ pollMs: 40 })
    await world.open()
    await world.channel('ch_1')
    const dice = randomFrom(seed)
    world.answer = () => {
      const roll = dice()
      if (roll < 0.15) return answered(500)
      return roll < 0.4 ? new Promise((resolve) => setImmediate(() => resolve(OK))) : OK
    }
    const ids = Array.from({ length: 30 }, (_, i) => `alt_${i}`)
    for (const id of ids) {
      await world.notice([fired(id)])
      if (dice() < 0.5) await world.advance(Math.floor(dice() * 200))
      if (dice() < 0.3) await world.crash()
      if (dice() < 0.2) world.failingSaves = 2
      await world.advance(Math.floor(dice() * 100))
      await world.notice([resolved(id)])
      if (dice() < 0.2) await world.crash()
    }
    world.answer = () => OK
    await world.advance(30 * SEC)
    const told = world.told()
    for (const id of ids) {
      expect({ seed, id, isEndTold: told.includes(`${id} resolved`) }).toEqual({
        seed,
        id,
        isEndTold: true,
      })
      expect({ seed, id, last: told.filter((each) => each.startsWith(`${id} `)).at(-1) }).toEqual({
        ...{ seed, id },
        last: `${id} resolved`,
      })
    }
    const idsOf = new Map<string, Set<string>>()
    for (const { id, type, alertIds } of world.received) {
      const key = `${alertIds.join()} ${type}`
      idsOf.set(key, (idsOf.get(key) ?? new Set()).add(id))
    }
    expect([...idsOf.values()].every(({ size }) => size === 1)).toBe(true)
  }
})

test('a crash with 1 000 queued alerts loses none and repeats at most those in flight', async () => {
  await world.channel('ch_1', { groupWaitSec: 10 })
  const storm = Array.from({ length: 1_000 }, (_, i) => fired(`alt_${i}`))
  await world.notice(storm)
  await world.advance(SEC)
  await world.crash()
  await world.advance(10 * SEC)
  await world.crash()
  await world.advance(3 * MINUTE)
  const totals = new Map(world.received.map(({ id, total }) => [id, total]))
  expect([...totals.values()].reduce((sum, total) => sum + total, 0)).toBe(1_000)
  expect(world.received.length - totals.size).toBeLessThanOrEqual(32)
})

test('a crash during the wait for a retry keeps the time of the retry', async () => {
  await world.channel('ch_1')
  world.answer = () => (world.received.length < 3 ? answered(500) : OK)
  await world.notice([fired('alt_1')])
  await world.advance(5 * SEC)
  await world.crash()
  await world.advance(MINUTE)
  const [first] = world.received
  expect(world.received.map(({ at }) => Math.round((at - (first?.at ?? 0)) / SEC))).toEqual([0, 1, 11])
})

test('what was sent in the last minute before a crash counts for the rate and for the digests', async () => {
  await world.channel('ch_1', { ratePerMinute: 2 })
  for (const more of ['a', 'b', 'c']) {
    await world.notice([1, 2, 3].map((n) => fired(`alt_${more}${n}`)))
    await world.advance(5 * SEC)
    await world.crash()
  }
  expect(world.received.map(({ type, total }) => [type, total])).toEqual([
    ['alert.fired', 1],
    ['alert.fired', 1],
    ['alert.digest', 1],
  ])
  await world.advance(MINUTE)
  expect(world.received.slice(3).map(({ type, total }) => [type, total])).toEqual([['alert.digest', 6]])
})

// A shard's save that failed may have been carried out. It is retried and brings back notices that were taken meanwhile.

test('a notice that comes back after a crash is not told again together with others', async () => {
  await world.channel('ch_1', { groupWaitSec: 2 })
  const earlier = fired('alt_1', { groupBy: 'rule' })
  await world.advance(SEC)
  const later = fired('alt_2', { groupBy: 'rule' })
  await world.notice([later])
  await world.advance(5 * SEC)
  await world.notice([earlier, later])
  await world.crash()
  await world.advance(MINUTE)
  expect(world.received.map(({ alertIds }) => alertIds)).toEqual([['alt_2'], ['alt_1']])
})

test('a whole episode that comes back after a crash is not told again', async () => {
  await world.channel('ch_1', { groupWaitSec: 2 })
  const episode = [fired('alt_1', { groupBy: 'rule' }), resolved('alt_1', { groupBy: 'rule' })]
  await world.notice(episode)
  await world.advance(5 * SEC)
  await world.notice(episode)
  await world.crash()
  await world.advance(MINUTE)
  expect(world.told()).toEqual(['alt_1 resolved'])
})

test('news of an alert after a crash is told', async () => {
  await world.channel('ch_1')
  await world.notice([fired('alt_1')])
  await world.advance(SEC)
  await world.crash()
  await world.notice([fired('alt_1', { event: 'repeat', revision: 2 }), fired('alt_2')])
  await world.advance(SEC)
  await world.crash()
  await world.notice([resolved('alt_1', { revision: 3 })])
  await world.advance(MINUTE)
  expect(world.told()).toEqual(['alt_1 fired', 'alt_1 repeat', 'alt_2 fired', 'alt_1 resolved'])
})

/** Random numbers from 0 to 1, the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed * 2_654_435_761 + 1
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) | 0
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32
  }
}
