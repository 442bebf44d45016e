import { expect, test } from 'vitest'
import { FLAG_REPLAY } from '../../domain/bundle.ts'
import type { Device } from '../../domain/device/record.ts'
import { LIMITS } from '../../limits.ts'
import { telemetry } from './testing/items.ts'
import { online, ShardBench, valuesOf } from './testing/shard.ts'

let clock = 0
const replayed = (letter: number, n = letter) => ({
  ...telemetry('a', ++clock, { n }),
  origin: Buffer.alloc(16, letter),
  flags: FLAG_REPLAY,
})

test('a dead letter that is replayed twice counts once, and other letters count, too', () => {
  const bench = new ShardBench([online])
  bench.apply([replayed(1), replayed(1), replayed(2)])
  bench.apply([replayed(2), replayed(3), telemetry('a', ++clock, { n: 9 })])
  expect(valuesOf(bench.rows())).toEqual([1, 2, 3, 9])
})

test('a letter whose proposal was dropped counts when it is read again', () => {
  const bench = new ShardBench([online])
  bench.work({ entries: [bench.entry(1, [replayed(1)])] })
  const again = new ShardBench([online])
  again.apply([replayed(1)])
  expect(valuesOf(again.rows())).toEqual([1])
})

test('after a restart the letter that counted makes rows again, and its repetition does not', () => {
  const log = [[replayed(1, 1)], [replayed(1, 2)], [replayed(2, 3)]]
  const first = new ShardBench([online])
  let device: Device = online
  log.forEach((items, at) => {
    const { proposal } = first.work({ settle: at > 0, entries: [first.entry(at + 1, items)] })
    for (const changed of proposal.changed) device = { ...device, ...changed }
  })
  expect(device.replayed?.map(({ place }) => place)).toEqual([65_536, 3 * 65_536])
  const later = new ShardBench([device], { applied: 3 })
  for (const [at, items] of log.entries()) later.work({ entries: [later.entry(at + 1, items)] })
  expect(valuesOf(later.rows())).toEqual([1, 3])
})

test('the record remembers the newest letters only', () => {
  const bench = new ShardBench([online])
  const many = Array.from({ length: LIMITS.replaysKeptMax + 1 }, (_, n) => {
    const origin = Buffer.alloc(16)
    origin.writeUInt32BE(n)
    return { ...replayed(1, n), origin }
  })
  const [first, second] = many
  bench.apply(many)
  bench.rows()
  if (first !== undefined && second !== undefined) bench.apply([second, first])
  expect(valuesOf(bench.rows())).toEqual([0])
})
