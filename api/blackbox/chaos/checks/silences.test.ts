import { expect, test } from 'vitest'
import { checkSilences } from './silences.ts'
import { message, recordingOf, textsOf } from './testing/recording.ts'

const SILENT_AT = 100_000

test('a device counts as silent if nothing of it was heard for its timeout', () => {
  const messages = [
    message('plain', 0, [30_000], 30_100),
    // Nobody may have heard it before it was acknowledged.
    message('plain', 1, [90_000], 101_000),
    message('plain', 2, [95_000]),
  ]
  expect(checkSilences(recordingOf({ messages, stored: { silences: [SILENT_AT] } }))).toEqual([])
})

test('silence of a device whose message was acknowledged within the timeout is a violation', () => {
  const messages = [message('plain', 0, [60_000], 60_100)]
  expect(textsOf(checkSilences(recordingOf({ messages, stored: { silences: [SILENT_AT] } })))).toEqual([
    'counts as silent at 100000, and its message of 60000 was acknowledged at 60100',
  ])
})
