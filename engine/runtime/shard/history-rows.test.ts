import { expect, test } from 'vitest'
import { versionOf } from './history-rows.ts'

test('the place in the log identifies the row of a message, whatever its content', () => {
  expect(versionOf({ place: 65_537 }, 'c1', 'expired')).toBe(65_537)
})

test('rows of two sweeps at the same moment, as after the clock was set back, differ by their content', () => {
  const sweep = { place: undefined }
  const steps = [
    ['c1', 'expired', 1],
    ['c2', 'expired', 1],
    ['c1', 'delivered', 1],
    ['c1', 'delivered', 2],
  ] as const
  const versions = steps.map((step) => versionOf(sweep, ...step))
  expect(new Set(versions).size).toBe(steps.length)
  expect(versions.every(Number.isSafeInteger)).toBe(true)
  expect(steps.map((step) => versionOf(sweep, ...step))).toEqual(versions)
})
