import { expect, test } from 'vitest'
import { changesOf, draftOf, otherChanges } from './draft.ts'

const device = { name: 'Picker', description: null, group: 'a/b', tags: ['x', 'y'], metadata: { floor: 1 } }

test('what was not touched is no change', () => {
  expect(changesOf(device, draftOf(device))).toEqual({})
})

test('emptied fields become null, and tags are cleaned', () => {
  const draft = { ...draftOf(device), group: '', tags: ' x ,, z', description: 'new' }
  expect(changesOf(device, draft)).toEqual({ group: null, tags: ['x', 'z'], description: 'new' })
})

test('the fields that somebody else changed are named', () => {
  expect(otherChanges(device, { ...device, tags: ['x'], metadata: {} })).toEqual(['tags', 'metadata'])
})
