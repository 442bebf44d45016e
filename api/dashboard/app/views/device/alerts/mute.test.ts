import { expect, test } from 'vitest'
import { muteOf } from './mute.ts'

const SILENCE = { matchers: { device_id: 'oven-1' }, windows: [], ends_at: '2026-03-01T12:00:00.000Z' }

test('the longest silence of the device alone is its mute', () => {
  const longest = { ...SILENCE, ends_at: '2026-03-02T12:00:00.000Z' }
  expect(muteOf([SILENCE, longest, SILENCE])).toBe(longest)
})

test('a silence of some alerts, or of some hours, does not mute the device', () => {
  const ofOneRule = { ...SILENCE, matchers: { device_id: 'oven-1', rule_id: 'rule_1' } }
  const atNight = { ...SILENCE, windows: [{}] }
  expect(muteOf([ofOneRule, atNight])).toBeUndefined()
})
