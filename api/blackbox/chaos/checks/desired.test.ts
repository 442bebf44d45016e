import { expect, test } from 'vitest'
import type { DesiredReceipt } from '../recording.ts'
import { checkDesired } from './desired.ts'
import { DEVICE, recordingOf, textsOf } from './testing/recording.ts'

const told = (version: number, value: string): DesiredReceipt => ({
  device: DEVICE,
  version,
  value,
  at: version,
})

test('a device that was told the stored state last knows what is desired', () => {
  const shadow = { version: 3, desired: 'b' }
  expect(checkDesired(recordingOf({ desired: [told(1, 'a'), told(2, 'b')], stored: { shadow } }))).toEqual([])
  expect(checkDesired(recordingOf({}))).toEqual([])
})

test('a device that knows another desired state, or none, is a violation, which may only be lateness', () => {
  const shadow = { version: 3, desired: 'b' }
  const found = checkDesired(recordingOf({ desired: [told(2, 'b'), told(1, 'a')], stored: { shadow } }))
  expect(textsOf(found)).toEqual(['was told a last, version 1, and b is desired, version 3'])
  expect(found[0]?.isAbsence).toBe(true)
  expect(textsOf(checkDesired(recordingOf({ stored: { shadow } })))).toEqual([
    'was told nothing and b is desired, version 3',
  ])
})
