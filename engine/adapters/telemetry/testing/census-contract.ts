// The part of the contract about counts of the fleet, which every telemetry adapter's test runs.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Millis } from '../../../../schemas/ids.ts'
import { Census, encodeCensus } from '../../../domain/fleet/census.ts'
import type { Telemetry } from '../../../ports/telemetry.ts'

const MINUTE_MS = 60_000
/** A recent time, because ClickHouse drops old rows by its own clock. */
const AT = Math.floor(Date.now() / 3_600_000) * 3_600_000 - 3_600_000

export function censusContract({
  name,
  open,
}: {
  readonly name: string
  readonly open: () => Promise<Telemetry>
}): void {
  describe(`counts of the fleet: ${name}`, () => {
    let telemetry: Telemetry
    beforeAll(async () => {
      telemetry = await open()
      for (const [minute, status] of [
        [0, 'online'],
        [1, 'offline'],
        [6, 'online'],
      ] as const) {
        const census = new Census()
        census.add('a', status)
        census.add("a/it's", 'online')
        census.add('ab', 'error')
        census.add(undefined, 'maintenance')
        const at = Millis(AT + minute * MINUTE_MS)
        const block = encodeCensus(census.rows(10), at)
        if (block === undefined) throw new Error('no block')
        // Twice, as by two leaders.
        for (let leaders = 0; leaders < 2; leaders++) await telemetry.insert({ kind: 'census', ...block })
      }
    })
    afterAll(async () => {
      await telemetry.close()
    })

    const trend = async (
      widthMs: number,
      within: readonly (readonly string[])[],
      to = AT + 10 * MINUTE_MS,
    ) => {
      const moments = await telemetry.trend({ from: Millis(AT), to: Millis(to), widthMs, within })
      return moments.map(({ at, counts }) => [
        (at - AT) / MINUTE_MS,
        Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
      ])
    }

    test('a bucket has its last count, and one without a count is left out', async () => {
      expect(await trend(5 * MINUTE_MS, [])).toEqual([
        [0, { online: 1, offline: 1, error: 1, maintenance: 1 }],
        [5, { online: 2, error: 1, maintenance: 1 }],
      ])
      expect((await trend(MINUTE_MS, [])).map(([minute]) => minute)).toEqual([0, 1, 6])
      expect((await trend(MINUTE_MS, [], AT + MINUTE_MS)).map(([minute]) => minute)).toEqual([0])
    })

    test('only devices of all the given subtrees are counted', async () => {
      expect(await trend(10 * MINUTE_MS, [['a']])).toEqual([[0, { online: 2 }]])
      expect(await trend(10 * MINUTE_MS, [['a', 'ab'], ["a/it's"]])).toEqual([[0, { online: 1 }]])
      expect(await trend(10 * MINUTE_MS, [['nobody']])).toEqual([])
    })
  })
}
