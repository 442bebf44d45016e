// Test files that share a service meet what earlier ones left, in an order that nobody chooses.
import { expect, test } from 'vitest'
import { readSources } from './sources.ts'

const SHARING = readSources(new URL('../../../', import.meta.url), ['api/blackbox']).filter(({ text }) =>
  text.includes("from './testing/shared-service.ts'"),
)
/** A device that a file registers, where its id is written out. */
const REGISTERED = /registerDevice\(\w+, '([^']+)'|\bid: '([\w-]+)'|\bgroup: '([\w-]+)/g

test('no two files that share a service have a device or a group in common', () => {
  const files = new Map<string, Set<string>>()
  for (const { path, text } of SHARING)
    for (const [, ...ids] of text.matchAll(REGISTERED))
      for (const id of ids) if (id !== undefined) files.set(id, (files.get(id) ?? new Set()).add(path))
  expect(SHARING.length).toBeGreaterThan(15)
  expect([...files].filter(([, { size }]) => size > 1)).toEqual([])
})
