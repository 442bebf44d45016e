import { expect, test } from 'vitest'
import { readMarkEntries } from './mark-entries.ts'

const reported = { kind: 'shadow', data: { section: 'reported' } }
const moved = { kind: 'status', data: {} }
type Entry = typeof reported | typeof moved

/** Reads what a device did, the newest first. */
const pagesOf = (entries: readonly Entry[], size: number) => async (cursor: string | undefined) => {
  const from = Number(cursor ?? 0)
  const next = from + size
  return { data: entries.slice(from, next), next_cursor: next < entries.length ? String(next) : null }
}

test('a mark is found behind pages of entries that are none', async () => {
  const found = await readMarkEntries(pagesOf([reported, reported, reported, reported, moved], 2))
  expect(found).toEqual({ entries: [moved], isCut: false })
})

test('that older entries were not read is told, however few marks there are', async () => {
  const found = await readMarkEntries(
    pagesOf(
      Array.from({ length: 1000 }, () => reported),
      50,
    ),
  )
  expect(found).toEqual({ entries: [], isCut: true })
})

test('as many marks as are shown are not cut, and one more is', async () => {
  const marks = Array.from({ length: 101 }, () => moved)
  expect(await readMarkEntries(pagesOf(marks.slice(1), 50))).toMatchObject({ isCut: false })
  const found = await readMarkEntries(pagesOf(marks, 200))
  expect([found.entries.length, found.isCut]).toEqual([100, true])
})
