// What every store promises to those who write to it by turns; each adapter's test runs it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Partition } from '../../../../schemas/ids.ts'
import type { Store } from '../../../ports/store.ts'
import { DeviceIdOf, type StoreContract, save } from './contract.ts'

export function writersContract({ name, open, restart }: StoreContract): void {
  describe(`writers of the store: ${name}`, () => {
    let store: Store
    beforeEach(async () => {
      store = await open()
    })
    afterEach(async () => {
      await store.close()
    })

    test('each process that opens the store has a number that none before it had', async () => {
      const numbers = [store.writer]
      for (let i = 0; i < 3; i++) {
        store = await restart(store)
        numbers.push(store.writer)
      }
      expect(new Set(numbers).size).toBe(numbers.length)
    })

    test('a leader that was replaced changes no fact and takes no late hour', async () => {
      const claims = (epoch: number) => [{ partition: Partition(0), epoch }]
      const hours = [{ deviceId: DeviceIdOf('d1'), hour: 3_600 }]
      await store.claim(claims(1))
      await store.putFact('taken', 'one', claims(1))
      await store.save(save([], { late: hours }))
      await store.claim(claims(2))
      const fenced = { code: 'STORE_FENCED', retryable: false }
      await expect(store.putFact('taken', 'stale', claims(1))).rejects.toMatchObject(fenced)
      await expect(store.clearLate(hours, claims(1))).rejects.toMatchObject(fenced)
      expect([store.getFact('taken'), store.lateHours()]).toEqual(['one', hours])
      await store.putFact('taken', 'two', claims(2))
      await store.clearLate(hours, claims(2))
      expect([store.getFact('taken'), store.lateHours()]).toEqual(['two', []])
    })
  })
}
