import { expect, test } from 'vitest'
import { compareVersions } from './semver.ts'

test('versions come in the order of semantic versioning', () => {
  const inOrder = [
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
  ]
  const all = [...inOrder, '1.0.0', '1.0.1', '1.2', '2', 'v10.0.0']
  for (const [i, a] of all.entries())
    for (const [j, b] of all.entries())
      expect([a, b, Math.sign(compareVersions(a, b) ?? Number.NaN)]).toEqual([a, b, Math.sign(i - j)])
})

test('builds make no difference, and other texts have no order', () => {
  expect(compareVersions('1.0.0+a', '1.0.0+b')).toBe(0)
  expect(compareVersions('june', '1.0')).toBeUndefined()
  expect(compareVersions('1.0', '')).toBeUndefined()
})
