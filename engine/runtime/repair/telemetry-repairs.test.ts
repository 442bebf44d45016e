import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { MemoryTelemetry } from '../../adapters/telemetry/testing/memory.ts'
import { ITEM } from '../../domain/bundle.ts'
import { RunnerBench } from '../runner/testing/runner.ts'
import { inlineThread, type ShardThread } from '../runner/thread.ts'
import type { ShardSettings } from '../shard/protocol.ts'
import { idOf, registration, request, START, type TestItem, telemetry } from '../shard/testing/items.ts'
import { TelemetryRepairs } from './telemetry-repairs.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DEVICES = ['a', 'b', 'c', 'gone', 'stranger']

class GatedTelemetry extends MemoryTelemetry {
  readonly resettled: (readonly [number, number])[] = []
  /** Inserts wait for this. */
  gate: Promise<void> = Promise.resolve()

  override async insert(block: Parameters<MemoryTelemetry['insert']>[0]): Promise<void> {
    await this.gate
    await super.insert(block)
  }

  override async resettle(from = Millis(0), to = Millis(0)): Promise<void> {
    this.resettled.push([from - START, to - START])
  }
}

const log = (id: string, at: number, message: string): TestItem => ({
  ...telemetry(id, at, { level: 'info', message }),
  suffix: 'log',
})

/** Two hours of messages, from devices that come and go and from a device that nobody knows. */
async function world() {
  const bench = new RunnerBench()
  for (const id of ['a', 'b', 'c', 'gone']) {
    await bench.append(registration(id, 0))
    await bench.time.advance(10)
  }
  for (let minute = 1; minute <= 120; minute++) {
    const at = minute * MINUTE
    for (const id of DEVICES) await bench.append(telemetry(id, at, { n: minute, deep: { of: id }, ok: true }))
    await bench.append(log('a', at + 1, `minute ${minute}`))
    if (minute === 60) await bench.append(request('gone', at + 2, { kind: 'decommission' }))
    await bench.time.advance(MINUTE)
  }
  const flushed = bench.runner.flush()
  await bench.time.advance(MINUTE)
  await flushed
  return bench
}

function repairsOf(
  bench: RunnerBench,
  openThread: (settings: ShardSettings) => ShardThread = (settings) => inlineThread(settings, () => 0),
) {
  const target = new GatedTelemetry()
  const { schedule } = bench.time.newIncarnation()
  let ids = 0
  const repairs = new TelemetryRepairs({
    ports: { clock: bench.time, log: bench.log, store: bench.store, telemetry: target },
    host: { schedule, openThread, newId: () => `repair-${ids++}`, warn: () => {} },
  })
  const ended = async () => {
    await expect.poll(() => repairs.latest()?.status).not.toBe('running')
    return repairs.latest()
  }
  return { repairs, target, ended }
}

/** All rows in the database. */
async function dump(target: MemoryTelemetry, minutes: readonly [number, number] = [0, 999]) {
  const [from, to] = minutes.map((minute) => Millis(START + minute * MINUTE)) as [Millis, Millis]
  const found: unknown[] = []
  for (const id of DEVICES) {
    const deviceId = idOf(id)
    for (const metric of ['n', 'deep.of', 'ok'])
      found.push(await target.points({ deviceId, metric, from, to, limit: 1_000 }))
    found.push(await target.history({ deviceId, kinds: ['log'], from, to, limit: 1_000 }))
  }
  return found
}

test('all rows that the log has are restored as they were, and nothing else changes', async () => {
  const bench = await world()
  const { repairs, target, ended } = repairsOf(bench)
  const saves = bench.store.saves.length
  const before = await dump(bench.telemetry)
  expect(before.flat().length).toBeGreaterThan(1_000)
  expect(await repairs.start({})).toMatchObject({ status: 'running', progress: 0 })
  expect(await ended()).toMatchObject({ status: 'done', progress: 1, messages: 120 * 4 + 60 })
  expect(await dump(target)).toEqual(before)
  // A repair only reads the store: no record, position or letter changes.
  expect(bench.store.saves.length).toBe(saves)
})

test('the repair of a span restores what was received in it', async () => {
  const bench = await world()
  const { repairs, target, ended } = repairsOf(bench)
  await repairs.start({ from: Millis(START + 30 * MINUTE), to: Millis(START + 50 * MINUTE) })
  await ended()
  expect(await dump(target, [30, 51])).toEqual(await dump(bench.telemetry, [30, 51]))
  // A minute on either side is read, too.
  const points = await target.points({
    deviceId: idOf('a'),
    metric: 'n',
    from: Millis(0),
    to: Millis(START + 9 * HOUR),
    limit: 999,
  })
  expect(points.map(({ value }) => value)).toEqual(Array.from({ length: 23 }, (_, i) => 29 + i))
})

test('rollups are computed again for hours that the log has in full', async () => {
  const bench = await world()
  const { repairs, target, ended } = repairsOf(bench)
  await repairs.start({ from: Millis(START + 70 * MINUTE), to: Millis(START + 80 * MINUTE) })
  await ended()
  await repairs.start({ to: Millis(START + 115 * MINUTE) })
  const repair = await ended()
  // The log begins at START, so it lacks what devices sent earlier in that hour.
  expect(target.resettled).toEqual([
    [HOUR, 2 * HOUR],
    [HOUR, 2 * HOUR],
  ])
  expect(repair).toMatchObject({ logFrom: START, rollups: { from: START + HOUR, to: START + 2 * HOUR } })
})

test('a later repair replaces one that is running', async () => {
  const bench = await world()
  const { repairs, target, ended } = repairsOf(bench)
  let open = () => {}
  target.gate = new Promise((resolve) => {
    open = resolve
  })
  await repairs.start({})
  const second = await repairs.start({})
  open()
  expect(await ended()).toMatchObject({ id: second.id, status: 'done' })
  expect(await dump(target)).toEqual(await dump(bench.telemetry))
  await repairs.close()
  expect(repairs.latest()).toMatchObject({ id: second.id, status: 'done' })
})

test('a later repair replaces one that saves its progress at that moment', async () => {
  const bench = await world()
  const { repairs, target, ended } = repairsOf(bench)
  let insert = () => {}
  target.gate = new Promise((resolve) => {
    insert = resolve
  })
  await repairs.start({})
  // The store writes one thing after the other, takes its time, and shows what it has written.
  const putFact = bench.store.putFact.bind(bench.store)
  let writing = Promise.resolve()
  bench.store.putFact = (...fact) => {
    writing = writing.then(pass).then(() => putFact(...fact))
    return writing
  }
  const started = repairs.start({})
  // A second has passed since the first one saved its progress.
  await bench.time.advance(1_000)
  insert()
  expect(await ended()).toMatchObject({ id: (await started).id, status: 'done' })
})

/** Lets others run for a while. */
async function pass() {
  for (let turn = 0; turn < 50; turn++) await setImmediate()
}

test('closing ends a repair and reports it', async () => {
  const bench = await world()
  const { repairs } = repairsOf(bench)
  await repairs.start({})
  await repairs.close()
  expect(repairs.latest()).toMatchObject({
    status: 'failed',
    detail: expect.stringContaining('start it again'),
  })
  await expect(repairs.start({})).rejects.toThrow('shutting down')
})

test('closing does not wait for a database that hangs', async () => {
  const bench = await world()
  const { repairs, target } = repairsOf(bench)
  let isStuck = false
  target.insert = () => {
    isStuck = true
    return new Promise(() => {})
  }
  await repairs.start({})
  await expect.poll(() => isStuck).toBe(true)
  const closed = repairs.close()
  await bench.time.advance(1_000)
  await closed
})

test('a message that kills its shard is left out, and all others are restored', async () => {
  const bench = await world()
  let deaths = 0
  const { repairs, target, ended } = repairsOf(bench, (settings) => {
    const thread = inlineThread(settings, () => 0)
    return {
      ...thread,
      async run(task) {
        for (const { partition, seq, body } of task.kind === 'work' ? task.entries : []) {
          if (body[0] === ITEM.parked || !Buffer.from(body).includes('"minute 7"')) continue
          settings.progress.set([partition, seq, 0])
          deaths++
          throw new Error('deadly')
        }
        return await thread.run(task)
      },
    }
  })
  await repairs.start({})
  expect(await ended()).toMatchObject({ status: 'done' })
  expect(deaths).toBeGreaterThan(0)
  const isOther = (row: unknown) => !JSON.stringify(row).includes('"minute 7"')
  const rows = async (one: MemoryTelemetry) =>
    (await dump(one)).map((found) => Array.from(found as unknown[]).filter(isOther))
  expect(await rows(target)).toEqual(await rows(bench.telemetry))
})

test('the table of devices is restored, whatever the log has', async () => {
  const bench = await world()
  const { repairs, target, ended } = repairsOf(bench)
  await repairs.start({})
  expect(await ended()).toMatchObject({ status: 'done' })
  const all = target.deviceIdsAmong({ group: undefined, within: undefined })
  expect([...all].sort()).toEqual(['a', 'b', 'c'].map(idOf))
})

test('a repair whose shard keeps dying fails with the reason', async () => {
  const bench = await world()
  const { repairs, ended } = repairsOf(bench, () => ({
    run: () => Promise.reject(new Error('no memory')),
    close: async () => {},
  }))
  await repairs.start({})
  expect(await ended()).toMatchObject({ status: 'failed', detail: 'no memory' })
})
