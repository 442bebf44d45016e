// What a type is called.
import { expect, test } from 'vitest'
import { readSources } from './sources.ts'

const SOURCES = readSources(new URL('../../../', import.meta.url), [
  'schemas',
  'engine',
  'api',
  'bench',
  'deploy',
])

/** A type is named after a thing. A participle alone says when something happens to it, and not what it is. */
const NAMED_BY_TENSE =
  /^(?:export )?(?:interface|type|class) (Asked|Told|Kept|Seen|Heard|Said|Given|Wanted|Waiting|Known|Shown|Sent|Read|Written|Found|Made|Held|Left|Taken|Begun|Opened|Changed|Chosen|Refused|Answered|Admitted|Done|Gone)\b/gm

test('no type is named by a participle alone', () => {
  const ours = SOURCES.filter(({ path, isTest }) => !isTest && !path.startsWith('api/dashboard/'))
  const wrong = ours.flatMap(({ path, text }) =>
    [...text.matchAll(NAMED_BY_TENSE)].map(([line]) => `${path}: ${line}`),
  )
  expect(wrong).toEqual([])
})
