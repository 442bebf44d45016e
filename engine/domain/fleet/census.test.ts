import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Census } from './census.ts'

test('a census with too many groups counts the deepest ones with their parents, and loses no device', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('a', 'a/b', 'a/b/c', 'a/b/d', 'e/f', undefined)),
      fc.integer({ min: 1, max: 9 }),
      (groups, most) => {
        const census = new Census()
        for (const group of groups) census.add(group, 'online')
        const rows = census.rows(most)
        expect(rows.length).toBeLessThanOrEqual(most)
        expect(rows.reduce((sum, { devices }) => sum + devices, 0)).toBe(groups.length)
      },
    ),
  )
})
