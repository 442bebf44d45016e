import { expect, test } from 'vitest'
import { applyDesired, createReported, reportIntervalMs } from './shadow.ts'

const reported = createReported('1.0.0')

test('desired values are reported together with what was reported before', () => {
  const applied = applyDesired(reported, { version: 3, state: { report_interval_sec: 5, led: 'on' } })
  expect(applied?.reported).toEqual({ report_interval_sec: 5, firmware_version: '1.0.0', led: 'on' })
  expect(applied?.publish).toEqual(applied?.reported)
  expect(reportIntervalMs(applied?.reported ?? {})).toBe(5_000)
})

test('a removed key is reported as null once', () => {
  const applied = applyDesired({ ...reported, led: 'on' }, { version: 4, state: { led: null } })
  expect(applied?.publish).toEqual({ ...reported, led: null })
  expect(applied?.reported).toEqual(reported)
})

test('an empty delta changes nothing', () => {
  expect(applyDesired(reported, { version: 5, state: {} })).toBe(undefined)
})

test('an impossible interval is ignored', () => {
  for (const wanted of [0, -1, 1e9, 'fast', null])
    expect(reportIntervalMs({ report_interval_sec: wanted })).toBe(1_000)
})
