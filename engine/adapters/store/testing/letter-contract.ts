// The part of the contract about dead letters.
import { describe, expect, test } from 'vitest'
import { type DeviceId, Micros, Millis } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { DeadLetter, Save, Store } from '../../../ports/store.ts'

/** What the contract makes its examples with. */
interface Makes {
  readonly DeviceIdOf: (text: string) => DeviceId
  readonly letter: (id: string, deviceId?: string) => DeadLetter
  readonly save: (changed: readonly [], over: Partial<Save>) => Save
}

export function letterContract(
  storeOf: () => Store,
  restart: () => Promise<void>,
  { DeviceIdOf, letter, save }: Makes,
): void {
  describe('dead letters', () => {
    test('are listed newest first, by page and by device', async () => {
      const letters = Array.from({ length: 10 }, (_, i) => letter(`dl_${i}`, i % 2 ? 'odd' : 'even'))
      await storeOf().save(save([], { deadLetters: letters }))
      await restart()
      const page = await storeOf().deadLetters({ offset: 1, limit: 3 })
      expect(page.total).toBe(10)
      expect(page.letters.map((l) => l.id)).toEqual(['dl_8', 'dl_7', 'dl_6'])
      expect(page.letters[0]).toMatchObject({ ...letters[8], payload: expect.anything() })
      expect([...(page.letters[0]?.payload ?? [])]).toEqual([1, 2, 255])
      const odd = await storeOf().deadLetters({ offset: 0, limit: 2, deviceId: DeviceIdOf('odd') })
      expect([odd.total, odd.letters.map((l) => l.id)]).toEqual([5, ['dl_9', 'dl_7']])
      expect((await storeOf().deadLetters({ offset: 50, limit: 3 })).letters).toEqual([])
    })

    test('are found by id, reason and time, counted by reason, and removed', async () => {
      const made = (n: number, reason: string, deviceId: string) => ({
        ...letter(`dl_${n}`, deviceId),
        ...{ reason, receivedAt: Micros(n * 1_000_000) },
      })
      const letters = [made(1, 'A', 'x'), made(2, 'B', 'x'), made(3, 'A', 'y'), made(4, 'A', 'y')]
      await storeOf().save(save([], { deadLetters: letters }))
      const idsOf = async (filter: object) => {
        const found = await storeOf().deadLetters({ offset: 0, limit: 9, ...filter })
        return [found.total, ...found.letters.map(({ id }) => id)]
      }
      const [x, y] = [DeviceIdOf('x'), DeviceIdOf('y')]
      expect(await idsOf({ reason: 'A' })).toEqual([3, 'dl_4', 'dl_3', 'dl_1'])
      expect(await idsOf({ reason: 'A', offset: 1, limit: 1 })).toEqual([3, 'dl_3'])
      expect(await idsOf({ reason: 'A', before: Millis(4_000), deviceId: y })).toEqual([1, 'dl_3'])
      expect(await storeOf().deadLetterReasons({})).toEqual([
        { reason: 'A', count: 3, devices: 2, oldestAt: 1_000_000, newestAt: 4_000_000 },
        { reason: 'B', count: 1, devices: 1, oldestAt: 2_000_000, newestAt: 2_000_000 },
      ])
      expect((await storeOf().deadLetterReasons({ deviceId: y })).map(({ count }) => count)).toEqual([2])
      expect(await storeOf().deadLetter('dl_3')).toMatchObject({ id: 'dl_3', deviceId: 'y' })
      const gone = [
        { id: 'dl_3', deviceId: y },
        { id: 'dl_2', deviceId: x },
        { id: 'dl_9', deviceId: x },
      ]
      await storeOf().save(save([], { lettersRemoved: gone }))
      for (const again of [async () => {}, restart]) {
        await again()
        expect(await idsOf({})).toEqual([2, 'dl_4', 'dl_1'])
        expect(await idsOf({ deviceId: y })).toEqual([1, 'dl_4'])
        expect(await storeOf().deadLetter('dl_3')).toBeUndefined()
      }
    })

    test('are bounded: the oldest go first', async () => {
      const extra = 1_500
      const letters = Array.from({ length: LIMITS.deadLettersMax + extra }, (_, i) =>
        letter(`dl_${i}`, `d${i % 20}`),
      )
      for (let i = 0; i < letters.length; i += 2_000)
        await storeOf().save(save([], { deadLetters: letters.slice(i, i + 2_000) }))
      const check = async () => {
        const last = await storeOf().deadLetters({ offset: LIMITS.deadLettersMax - 1, limit: 5 })
        expect([last.total, last.letters.map((l) => l.id)]).toEqual([LIMITS.deadLettersMax, [`dl_${extra}`]])
      }
      for (const again of [check, restart, check]) await again()
    })

    test('are bounded for each device, so that none drops those of others', async () => {
      const most = LIMITS.deadLettersPerDeviceMax
      const sent = Array.from({ length: most + 250 }, (_, i) => letter(`dl_${i}`, i ? 'noisy' : 'quiet'))
      await storeOf().save(save([], { deadLetters: sent }))
      await restart()
      const { letters, total } = await storeOf().deadLetters({ offset: most - 1, limit: 5 })
      expect([total, ...letters.map((l) => l.id)]).toEqual([most + 1, 'dl_250', 'dl_0'])
    })
  })
}
