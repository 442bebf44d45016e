import { expect, test } from 'vitest'
import { parseDeviceId } from './ids.ts'
import { isRetainable, parseSubSuffix, parseSuffix, toSubSuffix } from './topics.ts'

test('a gateway has a namespace for each sub-device, with that device’s own suffixes', () => {
  const child = parseDeviceId('child-1')
  if (child === undefined) throw new Error('a valid id')
  const suffix = toSubSuffix(child, 'shadow/reported')
  expect(suffix).toBe('sub/child-1/shadow/reported')
  expect(parseSubSuffix(suffix)).toEqual({ deviceId: child, suffix: 'shadow/reported' })
  expect(parseSuffix(suffix)).toEqual({ kind: 'sub' })
  // Only the device itself could read a message retained there.
  expect(isRetainable(suffix)).toBe(false)
})

test.each([
  'sub/',
  'sub/a',
  'sub/a/',
  'sub//telemetry',
  'sub/$a/telemetry',
  'sub/../telemetry',
  'subs/a/log',
])('the suffix %s belongs to no sub-device', (suffix) => expect(parseSubSuffix(suffix)).toBeUndefined())
