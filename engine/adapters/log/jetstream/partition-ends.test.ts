import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PartitionEnds } from './partition-ends.ts'

const settled = (position: number) => new Array<number>(64).fill(position)

test('a reader that is behind does not take back what an append has taught', () => {
  const ends = new PartitionEnds(0)
  ends.noteMessage(5_001, [3])
  ends.raise(3, 5_000)
  expect(ends.of(3)).toBe(5_001)
})

test('nothing beyond an unread entry counts as settled', () => {
  const ends = new PartitionEnds(5_000)
  // A reader of other partitions is ahead, and has seen an entry of partition 3 at 7000.
  for (let seq = 5_001; seq <= 20_000; seq++) ends.noteMessage(seq, [seq === 7_000 ? 3 : 1])
  // The reader of partition 3 is still at 5000, and moves an idle position on.
  ends.raise(3, 5_000)
  const of3 = (position: number) => settled(20_000).with(3, position)
  expect([ends.settledUpTo(of3(5_000)), ends.settledUpTo(of3(7_000))]).toEqual([5_000, 20_000])
})

test('up to what is known, no partition has an entry beyond its end, whoever reads what', () => {
  const operation = fc.oneof(
    fc.record({ kind: fc.constant('append' as const), partition: fc.nat(3), isOwn: fc.boolean() }),
    fc.record({ kind: fc.constant('read' as const), reader: fc.nat(2), count: fc.nat(4) }),
    fc.record({
      kind: fc.constant('start' as const),
      reader: fc.nat(2),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    fc.record({ kind: fc.constant('raise' as const), reader: fc.nat(2) }),
  )
  const run = (operations: readonly (typeof operation extends fc.Arbitrary<infer T> ? T : never)[]) => {
    const stream: number[] = []
    const ends = new PartitionEnds(0)
    const readers = [0, 0, 0]
    for (const one of operations) {
      const before = ends.all
      if (one.kind === 'append') {
        stream.push(one.partition)
        if (one.isOwn) ends.noteMessage(stream.length, [one.partition])
      } else if (one.kind === 'read') {
        for (let i = 0; i < one.count && (readers[one.reader] ?? 0) < stream.length; i++) {
          const seq = (readers[one.reader] ?? 0) + 1
          readers[one.reader] = seq
          ends.noteMessage(seq, [stream[seq - 1] ?? 0])
        }
      } else if (one.kind === 'start') {
        readers[one.reader] = Math.floor(one.at * stream.length)
        ends.skipTo(readers[one.reader] ?? 0)
      } else ends.raise(one.reader, readers[one.reader] ?? 0)
      for (const [p, end] of before.entries()) expect(ends.of(p)).toBeGreaterThanOrEqual(end)
      for (let seq = 1; seq <= ends.knownUpTo; seq++)
        expect(ends.of(stream[seq - 1] ?? 0)).toBeGreaterThanOrEqual(seq)
    }
  }
  fc.assert(fc.property(fc.array(operation, { maxLength: 60 }), run), { numRuns: 300 })
})
