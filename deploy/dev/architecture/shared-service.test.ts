// Test files that share a service see what others have left behind, and they run in any order. So each uses its own devices
// and groups.
import { expect, test } from 'vitest'
import { readSources } from './sources.ts'

const SHARING = readSources(new URL('../../../', import.meta.url), ['api/blackbox']).filter(({ text }) =>
  text.includes("from './testing/shared-service.ts'"),
)
/** The literal id of a device or group that a file registers. */
const REGISTERED = /registerDevice\(\w+, '([^']+)'|\bid: '([\w-]+)'|\bgroup: '([\w-]+)/g

test('no two files that share a service use the same device or group', () => {
  const files = new Map<string, Set<string>>()
  for (const { path, text } of SHARING)
    for (const [, ...ids] of text.matchAll(REGISTERED))
      for (const id of ids) if (id !== undefined) files.set(id, (files.get(id) ?? new Set()).add(path))
  expect(SHARING.length).toBeGreaterThan(15)
  expect([...files].filter(([, { size }]) => size > 1)).toEqual([])
})
