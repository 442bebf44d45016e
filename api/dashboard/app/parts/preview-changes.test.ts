import { expect, test } from 'vitest'
import { previewChanges } from './preview-changes.ts'

test('counts that came, went or changed are named, and those that stayed are not', () => {
  const before = { by_status: { online: 3, offline: 1 }, by_type: { pump: 4 }, by_reason: {} }
  const after = { by_status: { online: 3, error: 2 }, by_type: { pump: 5 }, by_reason: { decommissioned: 1 } }
  expect(previewChanges(before, after)).toEqual({
    by_status: [
      { name: 'error', from: 0, to: 2 },
      { name: 'offline', from: 1, to: 0 },
    ],
    by_type: [{ name: 'pump', from: 4, to: 5 }],
    by_reason: [{ name: 'decommissioned', from: 0, to: 1 }],
  })
})
