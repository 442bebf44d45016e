// Finds the worst patterns of comments that make no sense on their own. Anything else is up to the reviewer of a change.
import { expect, test } from 'vitest'
import { readSources } from './sources.ts'

const SOURCES = readSources(new URL('../../../', import.meta.url), [
  'schemas',
  'engine',
  'api',
  'bench',
  'deploy',
])

/** A doc comment is a sentence, or names the value. It must not start in the middle of a sentence. */
const LEANING_COMMENT =
  /\/\*\*\s+(Of|By|With|From|At(?! most| least)|To|As|Among|Behind|Besides?|Beyond|Than|Until|For|In|Which|Whose|Whoever|Whatever|Whichever|Who|Whom|Nothing|Neither)\b[^\n]*/g
/** A test's name is a statement about its subject, and makes sense without the names around it. */
const LEANING_NAME = /\b(?:test|it)(?:\.\w+(?:\([^)]*\))?)*\(\s*(?:'|`|")(of|by|says|than)\b[^\n]*/g
/** A type's name is a noun that says what a value is. A lone participle only says what happened to it. */
const PARTICIPLE_TYPE =
  /^(?:export )?(?:abstract )?(?:class|interface|type) (?!(?:Embed|Feed|Need|Seed|Speed)\b)(?:[A-Z][a-z]+ed|\w*(?:Asked|Begun|Behind|Chosen|Done|Felt|Found|Given|Gone|Heard|Held|Kept|Known|Left|Lost|Made|Meant|Read|Refused|Said|Seen|Sent|Shown|Taken|Told|Void|Written|Arriving|Asking|Checking|Failing|Growing|Loading|Opening|Running|Serving|Updating|Waiting))\b[^\n]*/gm

test('no doc comment begins with a preposition that leans on the name beside it', () => {
  expect(SOURCES.flatMap(({ path, text }) => found(path, text, LEANING_COMMENT))).toEqual([])
})

test('no name of a test begins in the middle of a sentence', () => {
  expect(SOURCES.flatMap(({ path, text }) => found(path, text, LEANING_NAME))).toEqual([])
})

test('no type is named by a participle alone', () => {
  expect(SOURCES.flatMap(({ path, text }) => found(path, text, PARTICIPLE_TYPE))).toEqual([])
})

function found(path: string, text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([line]) => `${path}: ${line.trim()}`)
}
