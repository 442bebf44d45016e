import { expect, test } from 'vitest'
import { Millis } from '../../schemas/ids.ts'
import { MemoryStore } from '../adapters/store/testing/memory.ts'
import type { AuditEntry } from '../domain/audit/entry.ts'
import { numberOfWriter } from '../domain/audit/number.ts'
import { partitionOf } from '../domain/partition.ts'
import { Fault } from '../ports/fault.ts'
import type { Save, Store } from '../ports/store.ts'
import { AuditBook } from './audit-book.ts'

const AT = Date.UTC(2026, 2, 1, 8, 30)
const entry = (action: string): AuditEntry => ({ actor: { type: 'anonymous' }, action, outcome: 'refused' })

class HeldStore {
  readonly store: Store = new MemoryStore({ partitionOf })
  readonly saves: Save[] = []
  fault: Fault | undefined
  /** Saves resolve after this. */
  gate: Promise<void> = Promise.resolve()

  async save(save: Save): Promise<void> {
    this.saves.push(save)
    await this.gate
    if (this.fault !== undefined) throw this.fault
    await this.store.save(save)
  }

  async bodies(): Promise<readonly Record<string, unknown>[]> {
    const bounds = { rowsMax: 1_000, bytesMax: 1_000_000 }
    return (await this.store.outbox(bounds)).flatMap(({ rows }) => rows.map(({ body }) => JSON.parse(body)))
  }
}

function setUp() {
  const store = new HeldStore()
  const clock = { at: AT, now: () => Millis(clock.at) }
  const lost: number[] = []
  const stored: number[] = []
  const book = new AuditBook({
    store,
    clock,
    writer: 7,
    stored: (rows) => stored.push(rows.length),
    signal: ({ entries }) => lost.push(entries),
  })
  return { book, clock, lost, store, stored }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('an entry is in the outbox when it is recorded, with an id and a time of its own', async () => {
  const { book, store, stored } = setUp()
  await book.record([entry('a'), entry('b')])
  const time = '2026-03-01T08:30:00.000Z'
  expect((await store.bodies()).map(({ id, at, action, count }) => [id, at, action, count])).toEqual([
    [`aud_${AT.toString(36)}${numberOfWriter(7, 0).toString(36)}`, time, 'a', 1],
    [`aud_${AT.toString(36)}${numberOfWriter(7, 1).toString(36)}`, time, 'b', 1],
  ])
  expect(stored).toEqual([2])
})

test('entries that come while a save is under way are one save', async () => {
  const { book, store } = setUp()
  let open = () => {}
  store.gate = new Promise((resolve) => {
    open = resolve
  })
  const recorded = Promise.all(['a', 'b', 'c', 'd'].map((action) => book.record([entry(action)])))
  await settled()
  expect(store.saves).toHaveLength(1)
  open()
  await recorded
  expect(store.saves.map(({ history }) => history.length)).toEqual([1, 3])
})

test('a failed save rejects the records in it, and the next save may succeed', async () => {
  const { book, store } = setUp()
  store.fault = new Fault('STORE_UNAVAILABLE', { retryable: true })
  await expect(book.record([entry('a')])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  store.fault = undefined
  await book.record([entry('b')])
  expect((await store.bodies()).map(({ action }) => action)).toEqual(['b'])
})

test('refusals of one kind are counted until their minute is over', async () => {
  const { book, clock, store } = setUp()
  for (let i = 0; i < 100; i++) book.refuse(entry('flood'))
  await settled()
  const shown = async () => (await store.bodies()).map(({ at, action, count }) => [at, action, count])
  expect(await shown()).toEqual([['2026-03-01T08:30:00.000Z', 'flood', 1]])
  clock.at += 59_999
  book.refuse(entry('flood'))
  book.tick()
  await settled()
  expect(await shown()).toHaveLength(1)
  clock.at += 1
  book.tick()
  await settled()
  expect(await shown()).toEqual([
    ['2026-03-01T08:30:00.000Z', 'flood', 1],
    ['2026-03-01T08:30:59.999Z', 'flood', 100],
  ])
})

test('counted refusals are written at the end, or reported as lost', async () => {
  const { book, lost, store } = setUp()
  for (let i = 0; i < 5; i++) book.refuse(entry('end'))
  await book.close()
  expect((await store.bodies()).map(({ count }) => count)).toEqual([1, 4])
  store.fault = new Fault('STORE_UNAVAILABLE', { retryable: true })
  book.refuse(entry('gone'))
  await settled()
  expect(lost).toEqual([1])
})

test('two nodes that record in the same millisecond keep both entries', async () => {
  const store = new MemoryStore({ partitionOf })
  const nodes = [store, store.crash()]
  const last = nodes[1] ?? store
  const books = nodes.map(
    ({ writer }) =>
      new AuditBook({
        store: last,
        clock: { now: () => Millis(AT) },
        writer,
        stored: () => {},
        signal: () => {},
      }),
  )
  for (const book of books) await book.record([entry('login')])
  const batches = await last.outbox({ rowsMax: 100, bytesMax: 1_000_000 })
  const rows = batches.flatMap((batch) => batch.rows)
  expect(new Set(rows.map(({ at, version }) => `${at} ${version}`)).size).toBe(2)
  expect(new Set(rows.map(({ body }) => JSON.parse(body).id)).size).toBe(2)
})
