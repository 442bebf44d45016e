import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { OwnerEntry, OwnershipState } from '../../ports/ownership.ts'
import { shareOf } from './share.ts'

function state(ids: readonly string[], ownerOf: (p: number) => string | undefined): OwnershipState {
  const nodes = ids.map((id) => ({ id, address: id, revision: 1 }))
  const owners: OwnerEntry[] = []
  for (let p = 0; p < LIMITS.partitions; p++) {
    const nodeId = ownerOf(p)
    if (nodeId !== undefined) owners.push({ partition: Partition(p), nodeId, epoch: p + 1 })
  }
  return { nodes, owners }
}

const counts = ({ take, give }: ReturnType<typeof shareOf>) => [take.length, give.length]

test('the first node takes everything, whoever had it before', () => {
  expect(
    counts(
      shareOf(
        'a',
        state(['a'], () => undefined),
      ),
    ),
  ).toEqual([64, 0])
  const { take } = shareOf(
    'a',
    state(['a'], (p) => (p === 7 ? 'gone' : undefined)),
  )
  expect([take.length, take[6]?.epoch, take[7]?.epoch]).toEqual([64, 0, 8])
})

test('a new node moves only the partitions that it takes', () => {
  const before = state(['a', 'b', 'c'], (p) => (p < 32 ? 'a' : 'b'))
  expect(['a', 'b', 'c'].map((id) => counts(shareOf(id, before)))).toEqual([
    [0, 10],
    [0, 11],
    [0, 0],
  ])
})

test('the others take the partitions of a dead node, and nothing else moves', () => {
  const before = state(['a', 'b'], (p) => ['a', 'b', 'gone'][p % 3])
  expect(['a', 'b'].map((id) => counts(shareOf(id, before)))).toEqual([
    [10, 0],
    [11, 0],
  ])
})

test('from any table, all nodes together take every free partition once, and end balanced', () => {
  const ids = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'), { minLength: 1 })
  const owners = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'gone', undefined), {
    minLength: 64,
    maxLength: 64,
  })
  fc.assert(
    fc.property(ids, owners, (living, owned) => {
      const now: (string | undefined)[] = [...owned]
      // Partitions given away are free in the next round.
      for (let round = 0; round < 2; round++) {
        const shares = living.map(
          (id) =>
            [
              id,
              shareOf(
                id,
                state(living, (p) => now[p]),
              ),
            ] as const,
        )
        const taken = shares.flatMap(([, { take }]) => take.map(({ partition }) => partition))
        expect(new Set(taken).size).toBe(taken.length)
        for (const [id, { take, give }] of shares) {
          for (const partition of give) now[partition] = undefined
          for (const { partition } of take) now[partition] = id
        }
      }
      const held = living.map((id) => now.filter((owner) => owner === id).length)
      expect(held.reduce((sum, count) => sum + count)).toBe(LIMITS.partitions)
      expect(Math.max(...held) - Math.min(...held)).toBeLessThanOrEqual(1)
    }),
  )
})

test('lanes of the ingress are shared in the same way', () => {
  const lanes = (id: string, owner: string | undefined) => {
    const { nodes, owners } = state(['a', 'b', 'c'], (p) => (p < 16 ? owner : undefined))
    return shareOf(id, { nodes, owners }, 16)
  }
  expect(['a', 'b', 'c'].map((id) => lanes(id, undefined).take.length)).toEqual([6, 5, 5])
  expect(['a', 'b', 'c'].map((id) => lanes(id, 'a').give.length)).toEqual([10, 0, 0])
})
