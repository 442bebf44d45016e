import { expect, test } from 'vitest'
import { FIRST_DRAFT, toRequest } from './rollout-draft.ts'

const WHAT = { firmware_id: 'fw_1', target: { type: 'all' } } as const

test('what was left empty is left to the service', () => {
  expect(toRequest(FIRST_DRAFT, WHAT)).toEqual({
    ...WHAT,
    strategy: 'canary',
    max_concurrent: 10,
    rollback_on_failure: true,
    abort: { failure_percent: 20 },
    canary: { percent: 10, soak_sec: 300 },
  })
})

test('a start, windows and times are sent in the units of the service', () => {
  const request = toRequest(
    {
      ...FIRST_DRAFT,
      name: ' spring ',
      strategy: 'rolling',
      startAt: '2030-03-01T22:00',
      windows: [
        { days: ['sat', 'sun'], start: '22:00', hours: '1.5', tz: 'Europe/Berlin' },
        { days: [], start: '03:00', hours: '2', tz: 'UTC' },
      ],
      timeoutsMin: { ...FIRST_DRAFT.timeoutsMin, install: '20' },
    },
    WHAT,
  )
  expect(request).toMatchObject({ name: 'spring', timeouts: { install_sec: 1200 } })
  expect(request).not.toHaveProperty('canary')
  expect(request.start_at).toBe(new Date('2030-03-01T22:00').toISOString())
  expect(request.windows).toEqual([
    { days: ['sat', 'sun'], start: '22:00', duration_min: 90, tz: 'Europe/Berlin' },
    { start: '03:00', duration_min: 120, tz: 'UTC' },
  ])
})
