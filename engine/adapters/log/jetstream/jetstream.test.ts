import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Micros, Partition } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { Log } from '../../../ports/log.ts'
import { NATS_SERVER, NatsServer } from '../../nats/testing/nats-server.ts'
import { bundle, drain, logContract, NOTHING, show } from '../testing/contract.ts'
import { JetStreamBench } from '../testing/jetstream.ts'
import type { JetStreamLogOptions } from './jetstream.ts'

const P1 = Partition(1)

describe.skipIf(NATS_SERVER === undefined)('with a nats-server (needs one that `npm test` finds)', () => {
  const bench = new JetStreamBench()
  const opened = new Map<Log, Partial<JetStreamLogOptions>>()
  let server: NatsServer

  async function open(options: Partial<JetStreamLogOptions> = {}): Promise<Log> {
    const full = { name: bench.newName(), ...options }
    const log = await bench.open(await bench.link(server.url), full)
    opened.set(log, full)
    return log
  }

  async function restart(log: Log): Promise<Log> {
    await log.close()
    return open(opened.get(log))
  }

  beforeAll(async () => {
    // These tests do not concern durability on disk.
    server = await NatsServer.start({ syncInterval: '1m' })
  })
  afterEach(() => bench.clear())
  afterAll(() => server.remove())

  logContract({ name: 'jetstream', open: async (retention) => open(retention), restart })

  test('several processes append to the same partitions, and all readers see the same order', async () => {
    const name = bench.newName()
    const logs = [await open({ name }), await open({ name }), await open({ name })]
    const readers = logs.map((log) => log.reader([P1, Partition(2)], NOTHING))
    const write = async (log: Log, writer: number) => {
      for (let i = 0; i < 50; i++)
        await log.append([bundle(1, `${writer}/${i}`), bundle(2, `${writer}/${i}`)], Micros(1))
    }
    await Promise.all(logs.map(write))
    const seen: (readonly string[])[] = []
    for (const reader of readers) {
      const entries = []
      while (show(entries).length < 300) entries.push(...((await reader.pull(1e6)) ?? []))
      seen.push(show(entries))
    }
    expect([seen[1], seen[2]]).toEqual([seen[0], seen[0]])
    for (let writer = 0; writer < 3; writer++) {
      const own = seen[0]?.filter((text) => text.startsWith(`1=${writer}/`))
      expect(own).toEqual(Array.from({ length: 50 }, (_, i) => `1=${writer}/${i}`))
    }
    for (const log of logs) expect(log.ends()[1]).toBe(150)
  })

  test('a look finds the appends of another process, and a reader reads up to them', async () => {
    const name = bench.newName()
    const [a, b] = [await open({ name }), await open({ name })]
    const reader = b.reader([P1, Partition(2)], NOTHING)
    const [seq = 0] = await a.append([bundle(1, 'one')], Micros(1))
    const ends = await b.readEnds()
    expect(ends[1]).toBeGreaterThanOrEqual(seq)
    const reached = [0, 0, 0]
    while ([1, 2].some((p) => (reached[p] ?? 0) < (ends[p] ?? 0)))
      for (const entry of (await reader.pull(1e6)) ?? []) reached[entry.partition] = entry.seq
  })

  test('entries of others are trimmed once they are settled, up to the oldest that is not', async () => {
    const name = bench.newName()
    const [a, b] = [await open({ name, retentionMs: 0 }), await open({ name, retentionMs: 0 })]
    for (let i = 1; i <= 6; i++) await a.append([bundle(1 + (i % 2), `${i}`)], Micros(i * 1e6))
    const settled = (one: number, two: number) => NOTHING.map((_, p) => (p === 1 ? one : p === 2 ? two : 0))
    await a.trim(settled(6, 0))
    expect(show(await drain(b.reader([P1], NOTHING)))).toEqual(['1=2', '1=4', '1=6'])
    await a.trim(settled(6, 5))
    expect(show(await drain(b.reader([P1], NOTHING)))).toEqual(['1=6'])
  })

  test('a reader that is far behind buffers little of the log and still reads all of it', async () => {
    const log = await open()
    const reader = log.reader([P1], NOTHING)
    const text = 'x'.repeat(500_000)
    for (let i = 0; i < 60; i++) await log.append([bundle(1, `${i}${text}`)], Micros(i))
    const seen = await drain(reader, 600_000)
    expect(show(seen).map((entry) => Number.parseInt(entry.slice(2), 10))).toEqual(
      Array.from({ length: 60 }, (_, i) => i),
    )
  })

  test('the position of a partition without entries moves on', async () => {
    const log = await open()
    for (let i = 0; i <= LIMITS.logMarkEvery; i++) await log.append([bundle(1, 'a')], Micros(1))
    const [idle] = (await drain(log.reader([Partition(2)], NOTHING))).slice(-1)
    expect([idle?.partition, idle?.body.length, (idle?.seq ?? 0) >= LIMITS.logMarkEvery]).toEqual([
      2,
      0,
      true,
    ])
  })

  test('a lost stream is recreated beyond the seqs in use, and one that was set back is refused', async () => {
    const notBefore = NOTHING.map((_, p) => (p === 1 ? 500 : 0))
    const name = bench.newName()
    const log = await open({ name, notBefore })
    const reader = log.reader([P1, Partition(2)], notBefore)
    expect(show(await drain(reader))).toEqual([])
    expect(await log.append([bundle(1, 'a')], Micros(1))).toEqual([501])
    expect(show(await drain(reader))).toEqual(['1=a'])
    await expect(open({ name, notBefore: NOTHING.map(() => 900) })).rejects.toMatchObject({
      code: 'LOG_UNAVAILABLE',
      retryable: false,
    })
  })

  test('a stream without room is refused at start', async () => {
    await expect(open({ bytesMax: 1e15 })).rejects.toThrow(
      /the stream log\d+-log cannot be opened: .*storage/,
    )
  })

  test('the stream refuses new messages rather than dropping old ones, and remembers ids for ten minutes', async () => {
    const name = bench.newName()
    const link = await bench.link(server.url)
    await bench.open(link, { name })
    const { config } = await link.manager.streams.info(`${name}-log`)
    expect(config).toMatchObject({
      discard: 'new',
      retention: 'limits',
      storage: 'file',
      max_bytes: 200_000_000,
      max_age: 0,
      deny_delete: true,
      duplicate_window: 600e9,
    })
  })
})
