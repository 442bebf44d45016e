import { expect, test } from 'vitest'
import { RuleId } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { boundGroups, type FleetCounts, mergeFleetCounts } from './fleet-counts.ts'

const nameOf = (n: number) => `site-${String(n).padStart(5, '0')}`

/** What an owner tells that has two members in each of these groups. */
function told(groups: readonly string[]): FleetCounts {
  const counts = groups.map((group) => ({ group, members: 2, matching: 1 }))
  const sums = groups.map((group) => ({ group, count: 2, sum: 2, min: 1, max: 1 }))
  const rule = {
    ruleId: RuleId('rul_1'),
    revision: 1,
    leaves: [
      { kind: 'counts', groups: boundGroups(counts) },
      { kind: 'sums', groups: boundGroups(sums) },
    ] as const,
  }
  return { isCaughtUp: true, rules: [rule], open: 0, overflowing: 0 }
}

test('with more groups than the limit, those that are counted have all of their members', () => {
  const many = Array.from({ length: LIMITS.fleetGroupsMax + 500 }, (_, n) => nameOf(n))
  const few = many.slice(-3)
  const [rule] = mergeFleetCounts([told(many), told([...few, nameOf(0)])]).rules
  const [counts, sums] = rule?.leaves ?? []
  if (counts?.kind !== 'counts' || sums?.kind !== 'sums') throw new Error('counts and sums were told')
  const names = many.slice(0, LIMITS.fleetGroupsMax)
  expect(counts.groups.map(({ group }) => group)).toEqual(names)
  expect(sums.groups.map(({ group }) => group)).toEqual(names)
  expect(counts.groups[0]).toEqual({ group: nameOf(0), members: 4, matching: 2 })
})
