import { expect, test } from 'vitest'
import { countChanges } from './count-changes.ts'

const counts = (online: number, offline: number, error: number, critical: number) => ({
  by_status: { provisioning: 0, online, offline, error, maintenance: 0, decommissioned: 0 },
  alerts: { info: 0, warning: 0, critical },
})

test('what got worse is told first, what came back is told, and equal counts say nothing', () => {
  const well = counts(100, 0, 0, 0)
  const storm = counts(57, 41, 2, 2)
  expect(countChanges(well, storm)).toEqual([
    ['critical', 2],
    ['error', 2],
    ['offline', 41],
  ])
  expect(countChanges(storm, well)).toEqual([['online', 43]])
  expect(countChanges(storm, storm)).toEqual([])
})

test('devices that are registered or removed are not devices that went or came back', () => {
  expect(countChanges(counts(5, 3, 0, 0), counts(9, 3, 0, 0))).toEqual([])
  expect(countChanges(counts(5, 3, 0, 0), counts(5, 0, 0, 0))).toEqual([])
})
