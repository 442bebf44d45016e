import { expect, test } from 'vitest'
import { Micros, Millis, parseDeviceId, toMillis } from '../../../schemas/ids.ts'
import { MemoryStore } from '../../adapters/store/testing/memory.ts'
import { MemoryTelemetry } from '../../adapters/telemetry/testing/memory.ts'
import { auditRow } from '../../domain/audit/entry.ts'
import { type HistoryRow, writtenRow } from '../../domain/history/row.ts'
import { partitionOf } from '../../domain/partition.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import { NO_SAVE } from '../../ports/store.ts'
import type { Block } from '../../ports/telemetry.ts'
import { SimTime } from '../../testing/time.ts'
import { HistoryWriter } from './history-writer.ts'

const AT = Date.UTC(2026, 2, 1) * 1000

const REFUSED = new Fault('TELEMETRY_REFUSED', { retryable: false })

/** A ClickHouse that behaves as the test says. */
class Database extends MemoryTelemetry {
  readonly blocks: Block[] = []
  fault: Fault | undefined
  attempts = 0
  /** Blocks with this text are refused. */
  poison: string | undefined

  override async insert(block: Block): Promise<void> {
    this.attempts++
    if (this.fault !== undefined) throw this.fault
    if (this.poison !== undefined && Buffer.from(block.bytes).includes(this.poison)) throw REFUSED
    await super.insert(block)
    this.blocks.push(block)
  }
}

function setUp(store = new MemoryStore({ partitionOf })) {
  const telemetry = new Database()
  const time = new SimTime(Millis(0))
  const events: string[] = []
  const writer = new HistoryWriter({
    outbox: store,
    telemetry,
    schedule: time.newIncarnation().schedule,
    ticks: () => time.ticks(),
    signal: (signal) =>
      events.push(
        signal.kind === 'outbox_failed' ? signal.fault.code : `${signal.kind} ${signal.block.rows}`,
      ),
    fatal: ({ code }) => events.push(`fatal ${code}`),
  })
  writer.start()
  return { store, telemetry, time, events, writer }
}

const deviceId = parseDeviceId('d') ?? expect.fail()
const row = (n: number, body: HistoryRow['body'] = { n }): HistoryRow => ({
  deviceId,
  kind: 'shadow',
  at: Micros(AT + n),
  version: n,
  body,
})
const save = (store: MemoryStore, ...rows: readonly HistoryRow[]) =>
  store.save({ ...NO_SAVE, history: rows.map(writtenRow) })
const stored = (telemetry: Database) => telemetry.countHistory({ deviceId, kinds: ['shadow'] })

test('rows of several saves are inserted together, after a short delay', async () => {
  const { store, telemetry, time, events, writer } = setUp()
  for (const n of [1, 2, 3]) {
    await save(store, row(n))
    writer.poke()
    await time.advance(100)
  }
  expect(events).toEqual([])
  await time.advance(LIMITS.historyDelayMs)
  expect(events).toEqual(['inserted 3'])
  expect(await telemetry.history({ deviceId, kinds: ['shadow'], limit: 9 })).toEqual([row(3), row(2), row(1)])
  expect(store.outboxCounts()).toEqual({ rows: 0, dropped: 0 })
})

test('audit entries go into a table of their own', async () => {
  const { store, telemetry, time, events, writer } = setUp()
  const entry = { actor: { type: 'user', id: 'usr_a' }, action: 'register', outcome: 'success' } as const
  const kept = auditRow(entry, { at: toMillis(Micros(AT)), number: 7, count: 1 })
  await store.save({ ...NO_SAVE, history: [writtenRow(row(1)), kept, writtenRow(row(2))] })
  writer.poke()
  await time.advance(LIMITS.historyDelayMs * 2)
  expect(events).toEqual(['inserted 2', 'inserted 1'])
  expect(await stored(telemetry)).toBe(2)
  expect(await telemetry.audit({ limit: 9 })).toEqual([{ at: AT, version: 7, body: JSON.parse(kept.body) }])
  expect(store.outboxCounts().rows).toBe(0)
})

test('rows of an earlier incarnation are stored without a poke', async () => {
  const { store, time } = setUp()
  await save(store, row(1), row(2))
  await time.advance(LIMITS.historyDelayMs * 4)
  expect(store.outboxCounts().rows).toBe(2)
  const next = setUp(store.crash())
  await next.time.advance(50)
  expect(await stored(next.telemetry)).toBe(2)
  expect(next.store.outboxCounts().rows).toBe(0)
})

test('nothing is lost while ClickHouse is down', async () => {
  const { store, telemetry, time, events, writer } = setUp()
  telemetry.fault = new Fault('TELEMETRY_UNAVAILABLE', { retryable: true })
  for (let n = 0; n < 20; n++) {
    await save(store, row(n))
    writer.poke()
    await time.advance(500)
  }
  expect(store.outboxCounts().rows).toBe(20)
  expect(new Set(events)).toEqual(new Set(['insert_failed 1']))
  telemetry.fault = undefined
  await time.advance(10_000)
  expect(await stored(telemetry)).toBe(20)
  expect(store.outboxCounts().rows).toBe(0)
})

test('rows that were stored but not cleared are inserted again, and are there once', async () => {
  const { store, telemetry, time, events, writer } = setUp()
  const clear = store.clearHistory.bind(store)
  store.clearHistory = () => Promise.reject(new Fault('STORE_UNAVAILABLE', { retryable: true }))
  await save(store, row(1))
  writer.poke()
  await time.advance(1_500)
  store.clearHistory = clear
  await time.advance(1_000)
  expect(events.filter((event) => event === 'STORE_UNAVAILABLE').length).toBeGreaterThan(0)
  expect(telemetry.blocks.length).toBeGreaterThan(1)
  expect(await stored(telemetry)).toBe(1)
  expect(store.outboxCounts().rows).toBe(0)
})

test('a save that is larger than a block becomes several blocks', async () => {
  const { store, telemetry, time, writer } = setUp()
  const text = 'x'.repeat(LIMITS.historyBlockBytesMax / 4)
  await save(store, ...Array.from({ length: 10 }, (_, n) => row(n, { text })))
  writer.poke()
  await time.advance(1_000)
  expect(await stored(telemetry)).toBe(10)
  expect(telemetry.blocks.length).toBeGreaterThan(1)
  for (const { bytes } of telemetry.blocks) expect(bytes.length).toBeLessThan(LIMITS.telemetryBodyBytesMax)
})

test('rows that ClickHouse refuses for good do not delay the others', async () => {
  const { store, telemetry, time, events, writer } = setUp()
  telemetry.fault = new Fault('TELEMETRY_REFUSED', { retryable: false })
  await save(store, row(1))
  writer.poke()
  await time.advance(1_000)
  telemetry.fault = undefined
  await save(store, row(2))
  writer.poke()
  await time.advance(1_000)
  expect(events).toEqual(['insert_refused 1', 'inserted 1'])
  expect(store.outboxCounts().rows).toBe(0)
})

test('a row that ClickHouse refuses affects only its own save', async () => {
  const { store, telemetry, time, events, writer } = setUp()
  telemetry.poison = 'poison'
  for (let n = 0; n < 20; n++) await save(store, row(n, n === 13 ? { poison: true } : { n }))
  writer.poke()
  await time.advance(2_000)
  expect([await stored(telemetry), store.outboxCounts().rows]).toEqual([19, 0])
  expect(events.filter((event) => event.startsWith('insert_refused'))).toEqual(['insert_refused 1'])
  // Twice the depth of the halving.
  expect(telemetry.attempts).toBeLessThanOrEqual(11)
})

test('if every row is refused, the rows are not tried one by one', async () => {
  const { store, telemetry, time, writer } = setUp()
  telemetry.poison = 'poison'
  for (let n = 0; n < 1_000; n++) await save(store, row(n, { poison: n }))
  writer.poke()
  await time.advance(5_000)
  expect([await stored(telemetry), store.outboxCounts().rows]).toEqual([0, 0])
  expect(telemetry.attempts).toBeLessThan(100)
})

test('closing stores waiting rows, or leaves them if ClickHouse is down', async () => {
  const up = setUp()
  await save(up.store, row(1))
  up.writer.poke()
  const closed = up.writer.close(2_000)
  await up.time.advance(LIMITS.historyDelayMs + 100)
  await closed
  expect(await stored(up.telemetry)).toBe(1)

  const down = setUp()
  down.telemetry.fault = new Fault('TELEMETRY_UNAVAILABLE', { retryable: true })
  await save(down.store, row(1))
  const gaveUp = down.writer.close(1_000)
  await down.time.advance(1_100)
  await gaveUp
  expect(down.store.outboxCounts().rows).toBe(1)
})
