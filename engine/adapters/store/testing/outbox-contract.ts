// What every store promises of the history it keeps for ClickHouse; each adapter's test runs it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Micros, Partition } from '../../../../schemas/ids.ts'
import type { WrittenRow } from '../../../ports/history.ts'
import type { Store } from '../../../ports/store.ts'
import { DeviceIdOf, device, type StoreContract, save } from './contract.ts'

const ALL = { rowsMax: 1_000_000, bytesMax: 64 * 1024 * 1024 }
const AT = 1_760_000_000_000_000

function row(n: number, over: Partial<WrittenRow> = {}): WrittenRow {
  return {
    deviceId: DeviceIdOf('d1'),
    kind: 'shadow',
    at: Micros(AT + n),
    version: n,
    body: `{"n":${n},"text":"é ' \\\\"}`,
    ...over,
  }
}

export function outboxContract({ name, open, restart }: StoreContract): void {
  describe(`outbox of the store: ${name}`, () => {
    let store: Store
    beforeEach(async () => {
      store = await open({ rowsMax: 100, bytesMax: 1024 * 1024 })
    })
    afterEach(async () => {
      await store.close()
    })
    const rows = async () => (await store.outbox(ALL)).flatMap((batch) => batch.rows)
    const keys = async () => (await store.outbox(ALL)).map(({ key }) => key)
    const put = (...history: readonly WrittenRow[]) => store.save(save([], { history }))

    test('history is there with the records it belongs to, at once and after a restart', async () => {
      const history = [row(1), row(2, { kind: 'status', deviceId: DeviceIdOf('d2'), version: 2 ** 53 - 1 })]
      await store.save(save([device('d1')], { applied: [{ partition: Partition(1), seq: 7 }], history }))
      expect(await rows()).toEqual(history)
      store = await restart(store)
      expect(await rows()).toEqual(history)
      expect([store.applied()[1], store.outboxCounts().rows]).toEqual([7, 2])
    })

    test('the same save again adds nothing', async () => {
      await put(row(1), row(2))
      await put(row(1), row(2))
      expect(await rows()).toEqual([row(1), row(2)])
      expect(store.outboxCounts()).toEqual({ rows: 2, dropped: 0 })
    })

    test('the oldest come first, whatever the order of the saves', async () => {
      for (const n of [3_000, 5, 10 ** 13, 40]) await put(row(n))
      expect((await rows()).map(({ version }) => version)).toEqual([5, 40, 3_000, 10 ** 13])
    })

    test('what is cleared is gone for good, and clearing it again does nothing', async () => {
      for (const n of [1, 2, 3]) await put(row(n), row(n, { kind: 'command' }))
      const cleared = (await keys()).slice(0, 2)
      await store.clearHistory(cleared)
      await store.clearHistory(cleared)
      expect(store.outboxCounts()).toEqual({ rows: 2, dropped: 0 })
      store = await restart(store)
      expect(await rows()).toEqual([row(3), row(3, { kind: 'command' })])
      expect(store.outboxCounts()).toEqual({ rows: 2, dropped: 0 })
    })

    test('no more is handed out than asked for, and always something', async () => {
      const body = JSON.stringify('x'.repeat(10_000))
      for (const n of [1, 2, 3]) await put(row(n, { body }), row(n, { kind: 'command', body }))
      const count = async (rowsMax: number) => (await store.outbox({ ...ALL, rowsMax })).length
      expect(await Promise.all([1, 2, 3, 4, 99].map(count))).toEqual([1, 1, 1, 2, 3])
      expect(await store.outbox({ ...ALL, bytesMax: 1 })).not.toEqual([])
    })

    test('a full outbox gives up the oldest rows and counts them', async () => {
      for (let n = 0; n < 25; n++) await put(...Array.from({ length: 10 }, (_, i) => row(n * 10 + i)))
      const { rows: waiting, dropped } = store.outboxCounts()
      expect(waiting).toBeLessThanOrEqual(100)
      expect(waiting + dropped).toBe(250)
      expect(await rows()).toHaveLength(waiting)
      expect((await rows()).at(-1)).toEqual(row(249))
      expect((await rows())[0]).toEqual(row(dropped))
      store = await restart(store)
      expect(store.outboxCounts().rows).toBe(waiting)
    })

    test('saves of several shards at once all count', async () => {
      await Promise.all(Array.from({ length: 50 }, (_, i) => put(row(i, { deviceId: DeviceIdOf(`d${i}`) }))))
      expect(store.outboxCounts().rows).toBe(50)
      const all = await keys()
      await Promise.all([store.clearHistory(all.slice(0, 25)), store.clearHistory(all.slice(25))])
      expect(store.outboxCounts().rows).toBe(0)
      expect(await rows()).toEqual([])
    })
  })
}
