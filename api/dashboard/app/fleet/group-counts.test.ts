import { expect, test } from 'vitest'
import { groupCounts } from './group-counts.ts'
import { columnsOf, device } from './testing/fleet-model.ts'

test('a group counts the devices below it, and those that are decommissioned or in no group count nowhere', () => {
  const columns = columnsOf(
    device('a', { group: 'eu/site-1' }),
    device('b', { group: 'eu/site-2/hall' }),
    device('c', { group: 'eu' }),
    device('d', { group: 'us', status: 5 }),
    device('e'),
  )
  expect(groupCounts(columns)).toEqual([
    { path: 'eu', count: 3 },
    { path: 'eu/site-1', count: 1 },
    { path: 'eu/site-2', count: 1 },
    { path: 'eu/site-2/hall', count: 1 },
  ])
})
