import { expect, test } from 'vitest'
import { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { Reach } from './reach.ts'

const P = Partition(0)
const positions = (seq: number) => [seq, ...new Array<number>(LIMITS.partitions - 1).fill(0)]
const first = ({ applied, seen, covered }: Reach) => [applied[P], seen[P], covered[P]]
const entry = (seq: number) => ({ partition: P, seq, body: new Uint8Array(0) })

test('a restart has applied what was saved or stored, and reads again what was not stored', () => {
  const at = (applied: number, inserted: number) =>
    first(new Reach({ applied: () => positions(applied), inserted: () => positions(inserted) }))
  expect([at(5, 3), at(3, 5)]).toEqual([
    [5, 3, 3],
    [5, 5, 5],
  ])
})

test('a new life forgets what was seen and covered, never what was applied; nothing moves back by itself', () => {
  let inserted = positions(3)
  const reach = new Reach({ applied: () => positions(3), inserted: () => inserted })
  reach.settled([{ partition: P, seq: 6 }], [entry(5), entry(6)])
  reach.settled([], [entry(4)])
  reach.cover(Float64Array.from(positions(5)))
  reach.cover(Float64Array.from(positions(0)))
  expect(first(reach)).toEqual([6, 6, 5])
  inserted = positions(4)
  reach.startOver()
  expect(first(reach)).toEqual([6, 4, 4])
  reach.caughtUp()
  expect(first(reach)).toEqual([6, 6, 4])
})
