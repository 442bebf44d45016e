import { expect, test } from 'vitest'
import { alertsOfDay, marksOf, SLOTS } from './day-marks.ts'

const FROM_MS = Date.parse('2026-03-01T00:00:00Z')
const at = (hour: number) => new Date(FROM_MS + hour * 3_600_000).toISOString()

test('alerts and rollouts of a day are counted by their part of it, and none of before or after', () => {
  const marks = marksOf({
    alerts: [at(0), at(1.9), at(23.9), at(-0.1), at(24), null].map((fired_at) => ({ fired_at })),
    rollouts: [at(1), null].map((started_at) => ({ started_at })),
    fromMs: FROM_MS,
  })
  expect([...marks]).toEqual([
    [0, { alerts: 2, rollouts: 1 }],
    [SLOTS - 1, { alerts: 1, rollouts: 0 }],
  ])
})

test('only alerts of the day are asked for, and of the group that the line is about', () => {
  expect(alertsOfDay('').query).toMatchObject({ from: '-24h' })
  expect(alertsOfDay('').query).not.toHaveProperty('group')
  expect(alertsOfDay('eu/site-3').query).toMatchObject({ from: '-24h', group: 'eu/site-3' })
})
