// The stories beside this file document what a device's actor does, so a change of behaviour changes a story. To rewrite
// the outcomes for review: STORIES=write npx vitest run engine/domain/device/stories.test.ts
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { retell } from './testing/story.ts'

const FOLDER = new URL('stories/', import.meta.url)
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.txt'))
const isWriting = process.env['STORIES'] === 'write'

test('stories are never rewritten in CI, where nobody reviews them', () => {
  expect(isWriting && Boolean(process.env['CI'])).toBe(false)
})

describe.each(FILES)('%s', (name) => {
  const file = new URL(name, FOLDER)
  const read = () => readFileSync(file, 'utf8').split(/^(?=== )/m)
  if (isWriting && !process.env['CI']) writeFileSync(file, read().map(retell).join(''))
  const stories = read()
  test.each(stories.slice(1).map((story) => [story.slice(3, story.indexOf('\n')), story] as const))(
    '%s',
    (_, story) => {
      expect(retell(story)).toBe(story)
    },
  )
})
