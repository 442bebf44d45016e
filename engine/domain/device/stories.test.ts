// The stories beside this file show what a device's actor does; a change of behaviour is a change of a story. This
// writes the outcomes anew, to be reviewed: STORIES=write npx vitest run engine/domain/device/stories.test.ts
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { retell } from './testing/story.ts'

const FOLDER = new URL('stories/', import.meta.url)
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.txt'))
const isWriting = process.env['STORIES'] === 'write'

test('stories are never written where nobody reads them', () => {
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
