import { Buffer } from 'node:buffer'
import { unpack } from 'msgpackr'
import { describe, expect, test } from 'vitest'
import { FLAG_DUP } from '../../domain/bundle.ts'
import { telemetry } from './testing/items.ts'
import { online, ShardBench, valuesOf } from './testing/shard.ts'

/** Builds a name as EMQX does: time, connection, count. */
function originOf(at: number, connection = 7, count = 0): Uint8Array {
  const bytes = Buffer.alloc(16)
  bytes.writeBigUInt64BE(1_790_000_000_000_000n + BigInt(at))
  bytes.writeUIntBE(connection, 8, 6)
  bytes.writeUInt16BE(count, 14)
  return bytes
}

let clock = 0
const said = (n: number, more: { isDup?: boolean; connection?: number; count?: number } = {}) => ({
  ...telemetry('a', ++clock, { n }),
  origin: originOf(n, more.connection, more.count),
  flags: more.isDup ? FLAG_DUP : 0,
})
const again = (n: number, connection?: number) =>
  said(n, { isDup: true, ...(connection !== undefined && { connection }) })

describe('a message that the broker sends again', () => {
  test('counts once: it is dropped if the log has it, and taken if not', () => {
    const bench = new ShardBench([online])
    bench.apply([said(1), said(2), said(3)])
    bench.apply([again(2), again(3), again(4), said(5)])
    expect(valuesOf(bench.rows())).toEqual([1, 2, 3, 4, 5])
  })

  test('is told apart from messages of the same microsecond by its count', () => {
    const bench = new ShardBench([online])
    bench.apply([said(1, { count: 0 }), said(1, { count: 1 }), said(1, { count: 1, isDup: true })])
    bench.apply([said(1, { count: 2, isDup: true })])
    expect(valuesOf(bench.rows())).toEqual([1, 1, 1])
  })

  test('is compared with its own connection only', () => {
    const bench = new ShardBench([online])
    bench.apply([
      said(9, { connection: 1 }),
      said(2, { connection: 2 }),
      again(9, 1),
      again(2, 2),
      again(3, 2),
    ])
    expect(valuesOf(bench.rows())).toEqual([9, 2, 3])
  })

  test('is recognised even if the device has connected many times since', () => {
    const bench = new ShardBench([online])
    const connections = Array.from({ length: 15 }, (_, i) => i + 1)
    bench.apply(connections.map((connection) => said(connection, { connection })))
    bench.apply([...connections.map((connection) => again(connection, connection)), again(16, 15)])
    expect(valuesOf(bench.rows())).toEqual([...connections, 16])
  })

  test('is forgotten together with an old connection, so that daily connects need no more room', () => {
    const bench = new ShardBench([online])
    const HOUR = 3_600_000_000
    for (let n = 1; n <= 20; n++) bench.apply([said(n * HOUR, { connection: n })])
    const [packed] = bench.work({ vitals: true }).vitals
    const origins = Object(unpack(packed?.bytes ?? new Uint8Array()))[10]
    expect(origins.map(({ connection }: { connection: number }) => connection)).toEqual([17, 18, 19, 20])
  })

  test('is recognised across several readers that end one after the other', () => {
    const bench = new ShardBench([online])
    bench.apply([said(1), said(2)])
    bench.apply([again(1), again(2), again(3)])
    bench.apply([again(2), again(3), again(4), said(5), said(6)])
    bench.apply([again(5), again(6), again(7)])
    expect(valuesOf(bench.rows())).toEqual([1, 2, 3, 4, 5, 6, 7])
  })

  test('is dropped if a reader that was paused appends it once more', () => {
    const bench = new ShardBench([online])
    bench.apply([said(1)])
    bench.apply([again(2), again(3), said(4)])
    bench.apply([said(2), said(3)])
    expect(valuesOf(bench.rows())).toEqual([1, 2, 3, 4])
  })

  test('is recognised after two readers took the lane from each other many times', () => {
    const bench = new ShardBench([online])
    const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)
    // Neither reader acknowledges anything, so each gets everything again and one new message.
    const [one, other] = [[], []] as [ReturnType<typeof said>[], ReturnType<typeof said>[]]
    for (let n = 1; n <= 20; n++) {
      const [reader] = n % 2 === 0 ? [one] : [other]
      reader.push(...upTo(n - 1).map((earlier) => again(earlier)), said(n))
    }
    bench.apply(one)
    bench.apply(other)
    expect(valuesOf(bench.rows()).sort((a, b) => a - b)).toEqual(upTo(20))
    // A shard with later vitals makes the rows again, and none is missing.
    const [vitals] = bench.work({ vitals: true }).vitals
    const later = new ShardBench([online], vitals === undefined ? {} : { vitals: vitals.bytes })
    later.apply(one)
    expect(new Set(valuesOf(later.rows()))).toEqual(new Set(upTo(20)))
  })

  test('a message that is not marked as sent again is taken, even if the clock of the broker went back', () => {
    const bench = new ShardBench([online])
    bench.apply([said(5), said(3), said(4)])
    expect(valuesOf(bench.rows())).toEqual([5, 3, 4])
  })

  test('gets the same judgement from the next incarnation, although its vitals are later', () => {
    const log = [[said(1), said(2)], [again(2), again(3)], [said(4)], [again(4), again(5)], [said(3)]]
    const first = new ShardBench([online])
    const taken = log.map((items) => {
      first.apply(items)
      return valuesOf(first.rows())
    })
    expect(taken).toEqual([[1, 2], [3], [4], [5], []])
    const [vitals] = first.work({ vitals: true }).vitals
    for (let from = 0; from < log.length; from++) {
      const later = new ShardBench([online], vitals === undefined ? {} : { vitals: vitals.bytes })
      for (let seq = from; seq < log.length; seq++)
        later.work({ entries: [later.entry(seq + 1, log[seq] ?? [])] })
      expect(valuesOf(later.rows())).toEqual(taken.slice(from).flat())
    }
  })
})
