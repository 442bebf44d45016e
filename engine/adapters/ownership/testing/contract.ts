// The contract of every table of owners. Each adapter's test runs it.
import { beforeEach, describe, expect, test } from 'vitest'
import { Partition } from '../../../../schemas/ids.ts'
import type { OwnershipTable } from '../../../ports/ownership.ts'

const [P, Q] = [Partition(3), Partition(5)]
const A = { id: 'a', address: 'host-a:1' }
const B = { id: 'b', address: 'host-b:1' }

export interface OwnershipContract {
  readonly name: string
  /** Opens one new table for two nodes. */
  open(): Promise<readonly [OwnershipTable, OwnershipTable]>
}

export function ownershipContract({ name, open }: OwnershipContract): void {
  describe(`ownership: ${name}`, () => {
    let table: OwnershipTable
    let other: OwnershipTable

    beforeEach(async () => {
      const tables = await open()
      table = tables[0]
      other = tables[1]
    })

    test('a new table is empty', async () => {
      expect(await table.read()).toEqual({ nodes: [], owners: [] })
    })

    test('others see an entered node, and its revision changes with each renewal', async () => {
      const first = (await table.renew(A, 0)) ?? 0
      expect(await other.read()).toEqual({ nodes: [{ ...A, revision: first }], owners: [] })
      const second = (await table.renew(A, first)) ?? 0
      expect(second).not.toBe(first)
      expect((await other.read()).nodes).toEqual([{ ...A, revision: second }])
    })

    test('a renewal whose answer was lost may be repeated', async () => {
      const entered = (await table.renew(A, 0)) ?? 0
      const unheard = (await table.renew(A, 0)) ?? 0
      expect(unheard).toBeGreaterThan(entered)
      expect(await table.renew(A, entered)).toBeGreaterThan(unheard)
    })

    test('an expelled node cannot renew, and comes back only by entering again', async () => {
      const revision = (await table.renew(A, 0)) ?? 0
      expect(await other.expel({ ...A, revision })).toBe(true)
      expect((await other.read()).nodes).toEqual([])
      expect(await table.renew(A, revision)).toBeUndefined()
      expect(await table.renew(A, 0)).toBeGreaterThan(revision)
      expect((await other.read()).nodes).toHaveLength(1)
    })

    test('a node that renewed meanwhile is not expelled', async () => {
      const seen = (await table.renew(A, 0)) ?? 0
      const revision = (await table.renew(A, seen)) ?? 0
      expect(await other.expel({ ...A, revision: seen })).toBe(false)
      expect(await table.renew(A, revision)).toBeDefined()
    })

    test('if two nodes claim a partition, one gets it', async () => {
      const epochs = await Promise.all([table.claim(P, A.id, 0), other.claim(P, B.id, 0)])
      expect(epochs.filter((epoch) => epoch !== undefined)).toHaveLength(1)
      const [nodeId, epoch] = epochs[0] === undefined ? [B.id, epochs[1]] : [A.id, epochs[0]]
      expect((await table.read()).owners).toEqual([{ partition: P, nodeId, epoch }])
    })

    test('a partition changes its owner only by its current epoch, and the epoch grows', async () => {
      const first = (await table.claim(P, A.id, 0)) ?? 0
      const foreign = (await table.claim(Q, A.id, 0)) ?? 0
      expect(await other.claim(P, B.id, foreign)).toBeUndefined()
      const second = (await other.claim(P, B.id, first)) ?? 0
      expect(second).toBeGreaterThan(first)
      expect(await table.claim(P, A.id, first)).toBeUndefined()
      expect((await table.read()).owners.find(({ partition }) => partition === P)).toEqual({
        partition: P,
        nodeId: B.id,
        epoch: second,
      })
    })

    test('a released partition has no owner, and its next epoch is greater', async () => {
      const first = (await table.claim(P, A.id, 0)) ?? 0
      await table.release(P, first)
      const [released] = (await other.read()).owners
      expect([released?.partition, released?.nodeId]).toEqual([P, undefined])
      const second = (await other.claim(P, B.id, released?.epoch ?? 0)) ?? 0
      expect(second).toBeGreaterThan(first)
    })

    test('a partition that has a new owner is not released by the old one', async () => {
      const first = (await table.claim(P, A.id, 0)) ?? 0
      const second = (await other.claim(P, B.id, first)) ?? 0
      await table.release(P, first)
      expect((await table.read()).owners).toEqual([{ partition: P, nodeId: B.id, epoch: second }])
    })

    test('a call is heard by the others until they stop listening', async () => {
      let calls = 0
      let heard = () => {}
      const first = new Promise<void>((resolve) => {
        heard = resolve
      })
      const stop = other.onChange(() => {
        calls++
        heard()
      })
      // The subscription may still be on its way.
      await other.read()
      table.announceChange()
      await first
      stop()
      table.announceChange()
      await other.read()
      expect(calls).toBe(1)
    })
  })
}
