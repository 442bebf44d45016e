import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MemoryRates } from '../../engine/adapters/rates/testing/memory.ts'
import { Fault } from '../../engine/ports/fault.ts'
import type { RateUse, SharedRates } from '../../engine/ports/rates.ts'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { API_LIMITS } from '../limits.ts'
import { RateLimit } from './rate-limit.ts'
import { RateShares } from './rate-shares.ts'

const PER_SEC = 20
const EVERY = API_LIMITS.rateShareEveryMs
const settled = () => new Promise((resolve) => setImmediate(resolve))

function open(nodeCount: number, toRates = (rates: SharedRates) => rates) {
  const time = new StandingTime(0)
  const rates = toRates(new MemoryRates(time))
  const nodes = Array.from({ length: nodeCount }, () => {
    const limit = new RateLimit('user', PER_SEC)
    const shares = new RateShares({ rates, clock: time, schedule: time })
    /** Whether one more request is admitted. */
    const ask = (key = 'a') => {
      const isTaken = limit.take(key, time.ticks()) > 0
      if (isTaken) shares.report(limit, key, 1)
      return isTaken
    }
    return { ask }
  })
  const pass = async (ms: number) => {
    time.at += ms
    await settled()
  }
  /** Sends that many requests to all nodes. Returns how many were admitted. */
  const flood = (count: number) => {
    const asked = nodes.flatMap(({ ask }) => Array.from({ length: count }, () => ask()))
    return asked.filter((isTaken) => isTaken).length
  }
  return { time, nodes, pass, flood }
}

describe('a limit that nodes share', () => {
  test('lets through in the long run what one node may, however many there are', async () => {
    const { flood, pass } = open(4)
    let taken = 0
    for (let ms = 0; ms < 60_000; ms += EVERY) {
      taken += flood(3)
      await pass(EVERY)
    }
    expect(taken).toBeLessThanOrEqual(60 * PER_SEC + 4 * PER_SEC)
    expect(taken).toBeGreaterThan(55 * PER_SEC)
  })

  test('makes a burst at all nodes be paid off before another one is admitted', async () => {
    const { flood, pass } = open(5)
    let taken = 0
    // Each pause is long enough for a node to forget what only it knows.
    for (let ms = 0; ms < 60_000; ms += 2_500) {
      taken += flood(PER_SEC)
      await pass(EVERY)
      await pass(2_500 - EVERY)
    }
    expect(taken).toBeLessThanOrEqual(60 * PER_SEC + 5 * PER_SEC)
  })

  test('refuses nobody who stays below it', async () => {
    const pauses = fc.array(fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 200 })), {
      maxLength: 60,
    })
    await fc.assert(
      fc.asyncProperty(pauses, async (steps) => {
        const { nodes, pass } = open(3)
        for (const [node, more] of steps) {
          expect(nodes[node]?.ask()).toBe(true)
          await pass(1_000 / PER_SEC + more)
        }
      }),
      { numRuns: 30 },
    )
  })

  test('judges exactly like a single node if the others get no requests', async () => {
    const { nodes, pass, time } = open(1)
    const alone = new RateLimit('user', PER_SEC)
    for (let i = 0; i < 400; i++) {
      expect(nodes[0]?.ask()).toBe(alone.take('a', time.ticks()) > 0)
      await pass((i * 7) % 90)
    }
  })

  test('holds at each node separately while nodes cannot communicate, and jointly afterwards', async () => {
    const link = { isUp: false }
    const { flood, pass } = open(2, (rates) => ({
      take: async (taken) => {
        if (!link.isUp) throw new Fault('STORE_UNAVAILABLE', { retryable: true })
        return await rates.take(taken)
      },
    }))
    const run = async () => {
      let taken = 0
      for (let ms = 0; ms < 10_000; ms += EVERY) {
        taken += flood(3)
        await pass(EVERY)
      }
      return taken
    }
    const apart = await run()
    expect(apart).toBeLessThanOrEqual(2 * 11 * PER_SEC)
    expect(apart).toBeGreaterThan(2 * 9 * PER_SEC)
    link.isUp = true
    expect(await run()).toBeLessThanOrEqual(12 * PER_SEC)
  })

  test('is shared in one call at a time, for a bounded number of callers', async () => {
    const calls: (readonly RateUse[])[] = []
    const answer: (() => void)[] = []
    const { nodes, pass } = open(1, () => ({
      take: async (taken) => {
        calls.push(taken)
        await new Promise<void>((resolve) => answer.push(resolve))
        return taken.map(() => 0)
      },
    }))
    for (let i = 0; i < API_LIMITS.rateSharesAtOnceMax + 7; i++) nodes[0]?.ask(`k${i}`)
    nodes[0]?.ask('k3')
    await pass(EVERY)
    await pass(10 * EVERY)
    expect(calls.map((call) => call.length)).toEqual([API_LIMITS.rateSharesAtOnceMax])
    expect(calls[0]?.[3]).toEqual({ key: 'user k3', stepMs: 1_000 / PER_SEC, count: 2, ageMs: EVERY })
    answer.shift()?.()
    await settled()
    await pass(EVERY)
    expect(calls.map((call) => call.length)).toEqual([API_LIMITS.rateSharesAtOnceMax, 7])
    answer.shift()?.()
    await settled()
    await pass(10 * EVERY)
    expect(calls).toHaveLength(2)
  })
})
