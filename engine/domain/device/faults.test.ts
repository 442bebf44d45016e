import { expect, test } from 'vitest'
import { LIMITS } from '../../limits.ts'
import { withFaults } from './faults.ts'

const faults = (from: number, count: number) =>
  Array.from({ length: count }, (_, i) => ({ name: `f${from + i}`, text: `f${from + i}: bad` }))

test('a record holds a bounded number of faults, the first that were reported', () => {
  const full = withFaults({ issues: [] }, faults(0, LIMITS.deviceFaultsMax + 10))
  expect(full.issues).toHaveLength(LIMITS.deviceFaultsMax)
  expect(withFaults(full, faults(LIMITS.deviceFaultsMax, 1))).toBe(full)
  expect(withFaults(full, [{ name: 'f0', text: 'f0: worse' }]).issues[0]).toBe('f0: worse')
})

test('a name may contain a colon', () => {
  const device = withFaults({ issues: [] }, [{ name: 'camera', text: 'camera: bad' }])
  const both = withFaults(device, [{ name: 'camera: rate', text: 'camera: rate: low' }])
  expect(both.issues).toEqual(['camera: bad', 'camera: rate: low'])
})
