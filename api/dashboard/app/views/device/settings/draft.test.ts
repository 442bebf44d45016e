import { expect, test } from 'vitest'
import { patchOf, threeWay } from '../../../shadow-merge/merge.ts'
import { documentOf, draftOf, editsOf } from './draft.ts'

const device = { name: 'Picker', description: null, group: 'a/b', tags: ['x', 'y'], metadata: { floor: 1 } }

test('what was not touched is no change', () => {
  expect(editsOf(device, draftOf(device), device.metadata)).toEqual([])
})

test('emptied fields become null, and tags are cleaned', () => {
  const draft = { ...draftOf(device), group: '', tags: ' x ,, z', description: 'new' }
  expect(patchOf(editsOf(device, draft, device.metadata))).toEqual({
    group: null,
    tags: ['x', 'z'],
    description: 'new',
  })
})

test('metadata that were emptied are removed leaf by leaf, since an empty patch would remove nothing', () => {
  const draft = { ...draftOf(device), metadata: '{}' }
  expect(patchOf(editsOf(device, draft, {}))).toEqual({ metadata: { floor: null } })
})

test('what somebody else changed meanwhile needs a choice where both changed it, and there only', () => {
  const draft = { ...draftOf(device), name: 'Mine', tags: 'x', metadata: '{"floor":2,"door":"b"}' }
  const edits = editsOf(device, draft, { floor: 2, door: 'b' })
  const theirs = { ...device, name: 'Theirs', group: null, metadata: { floor: 3 } }
  const merge = threeWay(documentOf(device), documentOf(theirs), edits)
  const pathsOf = (list: readonly { readonly path: readonly string[] }[]) =>
    list.map(({ path }) => path.join('.')).sort()
  expect(pathsOf(merge.conflicts.map(({ edit }) => edit))).toEqual(['metadata.floor', 'name'])
  expect(pathsOf(merge.untouched)).toEqual(['metadata.door', 'tags'])
  expect(pathsOf(merge.others)).toEqual(['group'])
})
