import { expect, test } from 'vitest'
import { nearestName, unknownName } from './nearest-name.ts'

const KNOWN = ['name', 'type', 'group', 'tags', 'metadata', 'device_id', 'timeout_sec']

test.each([
  ['gruop', 'group'],
  ['tag', 'tags'],
  ['Name', 'name'],
  ['deviceid', 'device_id'],
  ['timeoutSec', 'timeout_sec'],
  ['meta_data', 'metadata'],
])('%s was probably meant to be %s', (name, meant) => expect(nearestName(name, KNOWN)).toBe(meant))

test.each(['status', 'x', '', 'colour', 'metadata'.repeat(10_000)])('%s has no similar name', (name) =>
  expect(nearestName(name.slice(0, 20_000), KNOWN)).toBeUndefined(),
)

test('a message suggests the most similar name, and lists all known names', () => {
  expect(unknownName('gruop', ['group', 'tags'])).toBe(
    'is not known; did you mean group? Known are group, tags',
  )
  expect(unknownName('x', [])).toBe('is not known; known are none')
})
