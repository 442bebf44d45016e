import { expect, test } from 'vitest'
import { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { ShardPositions } from './shard-positions.ts'

const P = Partition(0)
const positions = (seq: number) => [seq, ...new Array<number>(LIMITS.partitions - 1).fill(0)]
const first = ({ applied, seen, covered }: ShardPositions) => [applied[P], seen[P], covered[P]]
const entry = (seq: number) => ({ partition: P, seq, body: new Uint8Array(0) })

test('after a restart, what was saved or stored counts as applied, and what was not stored is read again', () => {
  const at = (applied: number, inserted: number) =>
    first(new ShardPositions({ applied: () => positions(applied), inserted: () => positions(inserted) }))
  expect([at(5, 3), at(3, 5)]).toEqual([
    [5, 3, 3],
    [5, 5, 5],
  ])
})

test('a new incarnation resets seen and covered positions but not applied ones, and no position falls by itself', () => {
  let inserted = positions(3)
  const shard = new ShardPositions({ applied: () => positions(3), inserted: () => inserted })
  shard.settled([{ partition: P, seq: 6 }], [entry(5), entry(6)])
  shard.settled([], [entry(4)])
  shard.cover(Float64Array.from(positions(5)))
  shard.cover(Float64Array.from(positions(0)))
  expect(first(shard)).toEqual([6, 6, 5])
  inserted = positions(4)
  shard.startOver()
  expect(first(shard)).toEqual([6, 4, 4])
  shard.caughtUp()
  expect(first(shard)).toEqual([6, 6, 4])
})
