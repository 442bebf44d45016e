// The contract of all shared rates. Each adapter's test runs it.
import { describe, expect, test } from 'vitest'
import type { RateUse, SharedRates } from '../../../ports/rates.ts'

export interface RatesContract {
  readonly name: string
  /** Opens the same rates for two nodes. */
  open(): Promise<readonly [SharedRates, SharedRates]>
}

/** Long enough that the duration of the test makes no difference. */
const STEP_MS = 3_600_000

function taken(key: string, count: number, over: Partial<RateUse> = {}): RateUse {
  return { key, stepMs: STEP_MS, count, ageMs: 0, ...over }
}

export function ratesContract({ name, open }: RatesContract): void {
  const steps = async (rates: SharedRates, ...all: readonly RateUse[]) =>
    (await rates.take(all)).map((ms) => Math.round((ms / STEP_MS) * 10) / 10)

  describe(`shared rates: ${name}`, () => {
    test('the amounts that nodes take of a key add up, separately for each key', async () => {
      const [one, other] = await open()
      expect(await steps(one, taken('a', 2))).toEqual([2])
      expect(await steps(other, taken('a', 3))).toEqual([5])
      expect(await steps(one, taken('b c', 1), taken('a', 1), taken('b c', 1))).toEqual([1, 6, 2])
      const same = await Promise.all([one, other].map((rates) => steps(rates, taken('d', 1))))
      expect(same.flat().sort()).toEqual([1, 2])
    })

    test('an amount is paid off from the time at which it was taken', async () => {
      const [one, other] = await open()
      expect(await steps(one, taken('a', 1, { ageMs: STEP_MS / 2 }))).toEqual([0.5])
      expect(await steps(other, taken('a', 1, { ageMs: STEP_MS / 2 }))).toEqual([1.5])
    })

    test('an amount may be given back, and time without use earns no credit', async () => {
      const [one, other] = await open()
      await one.take([taken('a', 2)])
      expect(await steps(other, taken('a', -1))).toEqual([1])
      await other.take([taken('a', -1), taken('b', 1, { ageMs: 10 * STEP_MS })])
      expect(await steps(one, taken('a', 1), taken('b', 1))).toEqual([1, 1])
    })
  })
}
