// What every store promises of documents and of the leader's queue; each adapter's test runs it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Partition } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { Store } from '../../../ports/store.ts'
import { device, type StoreContract, save } from './contract.ts'

const bytes = (n: number) => Uint8Array.of(n)
const rule = (id: string, n: number | undefined) => ({
  collection: 'rules',
  id,
  bytes: n === undefined ? undefined : bytes(n),
})
const notice = (key: string, n = 0) => ({ key, bytes: bytes(n) })

export function documentsContract({ name, open, restart }: StoreContract): void {
  describe(`documents and notices of the store: ${name}`, () => {
    let store: Store
    beforeEach(async () => {
      store = await open()
    })
    afterEach(async () => {
      await store.close()
    })
    const rules = async () =>
      (await store.documents.list('rules')).map(({ id, bytes: found }) => [id, ...found])
    const keys = async (max = 100) => (await store.notices(max)).map(({ key }) => key)

    test('a document is read as it was saved last, until it is removed, also after a restart', async () => {
      await store.save(save([], { documents: [rule('b', 1), rule('a', 2), rule('c', 3)] }))
      await store.save(save([], { documents: [rule('b', 4), rule('c', undefined)] }))
      const look = async () => {
        expect(await rules()).toEqual([
          ['a', 2],
          ['b', 4],
        ])
        expect([...((await store.documents.read('rules', 'b')) ?? [])]).toEqual([4])
        expect(await store.documents.read('rules', 'c')).toBeUndefined()
        expect(await store.documents.list('rule')).toEqual([])
      }
      await look()
      store = await restart(store)
      await look()
    })

    test('every written document is told, and nothing after the listening has ended', async () => {
      const heard: (string | undefined)[] = []
      const stop = store.documents.onWritten((collection, id) => {
        heard.push(`${collection}/${id}`)
        return undefined
      })
      await store.save(save([], { documents: [rule('a', 1), rule('b', undefined)] }))
      stop()
      await store.save(save([], { documents: [rule('c', 1)] }))
      expect(heard).toEqual(['rules/a', 'rules/b'])
    })

    test('notices come in the order of their keys, each once, until they are removed', async () => {
      await store.save(save([device('d1')], { notices: [notice('2'), notice('10', 7)] }))
      await store.save(save([], { notices: [notice('10', 8), notice('1')] }))
      store = await restart(store)
      expect(await keys()).toEqual(['1', '10', '2'])
      expect(await keys(2)).toEqual(['1', '10'])
      expect((await store.notices(3)).map((each) => [...each.bytes])).toEqual([[0], [7], [0]])
      expect(store.noticeCounts()).toEqual({ waiting: 3, dropped: 0 })
      await store.save(save([], { noticesRemoved: ['10', '3'], documents: [rule('a', 1)] }))
      expect(await keys()).toEqual(['1', '2'])
      expect(store.noticeCounts()).toEqual({ waiting: 2, dropped: 0 })
      expect(await rules()).toEqual([['a', 1]])
    })

    test('a full queue refuses further notices, counts them, and takes some again once it has room', async () => {
      const all = Array.from({ length: LIMITS.noticesMax }, (_, i) =>
        notice(`n${String(i).padStart(6, '0')}`),
      )
      await store.save(save([], { notices: all }))
      await store.save(save([device('d1')], { notices: [notice('x'), notice('y')] }))
      expect(store.noticeCounts()).toEqual({ waiting: LIMITS.noticesMax, dropped: 2 })
      expect(store.devices.summary(device('d1').id)).toBeDefined()
      await store.save(save([], { noticesRemoved: ['n000000'] }))
      await store.save(save([], { notices: [notice('z')] }))
      expect(store.noticeCounts()).toEqual({ waiting: LIMITS.noticesMax, dropped: 2 })
      expect((await store.notices(1)).map(({ key }) => key)).toEqual(['n000001'])
    })

    test('a save by an owner whose claim is outdated writes no document and no notice', async () => {
      const leading = { partition: Partition(0), epoch: 1 }
      await store.claim([leading])
      await store.claim([{ ...leading, epoch: 2 }])
      const outdated = save([], { claims: [leading], documents: [rule('a', 1)], notices: [notice('1')] })
      await expect(store.save(outdated)).rejects.toMatchObject({ code: 'STORE_FENCED' })
      expect([await rules(), await keys()]).toEqual([[], []])
    })
  })
}
