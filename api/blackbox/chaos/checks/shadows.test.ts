import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Change, DesireCall, DeviceOutcome, Message, ShadowCall } from '../recording.ts'
import { checkShadows } from './shadows.ts'
import { message, read, recordingOf, textsOf, wrote } from './testing/recording.ts'

const desired = (version: number, value: string): Change => ({ version, section: 'desired', value })
const reported = (version: number, value: number): Change => ({ version, section: 'reported', value })

/** A write, a report and a write, one after the other. */
const changes = [desired(1, 'a'), reported(2, 0), desired(3, 'b')]
const stored = { changes, shadow: { version: 3, desired: 'b', reported: 0 } }
const writes = [wrote('a', [0, 10], 1), wrote('b', [30, 40], 3)]
const messages = [message('report', 0, [15], 20)]

function texts(
  calls: readonly (DesireCall | ShadowCall)[],
  more: Partial<DeviceOutcome> = {},
  said = messages,
) {
  return textsOf(checkShadows(recordingOf({ calls, messages: said, stored: { ...stored, ...more } })))
}

test('writes and reads in order are correct', () => {
  const reads = [
    read([11, 12], { version: 1, desired: 'a' }),
    read([31, 60], { version: 3, desired: 'b', reported: 0 }),
    read([31, 60], { version: 2, desired: 'a', reported: 0 }),
  ]
  expect(texts([...writes, ...reads])).toEqual([])
})

test('a missing version is a violation, which may only be lateness', () => {
  const found = checkShadows(
    recordingOf({
      calls: writes,
      messages,
      stored: { ...stored, changes: [desired(1, 'a'), desired(3, 'b')] },
    }),
  )
  expect(textsOf(found)).toEqual([
    'the history of version 3 holds 1 3',
    'report 0 was acknowledged and is not there',
    'the last one read {"version":3,"desired":"b","reported":0}, and the state was {"desired":"b"}',
  ])
  expect(found[0]).toMatchObject({ isAbsence: true })
})

test('a version that was given twice is a violation', () => {
  const twice = [...changes, desired(3, 'c')]
  const more = wrote('c', [30, 41], 3)
  expect(texts([...writes, more], { changes: twice })).toContain('the history of version 3 holds 1-3 3')
})

describe('a write', () => {
  test('a write has the version of its answer', () => {
    expect(texts([wrote('a', [0, 10], 1), wrote('b', [30, 40], 4)])).toContain(
      'b was answered with version 4, which is 3',
    )
    expect(texts([...writes, wrote('c', [50, 60], 4)])).toEqual([
      'c was answered with version 4, which is not there',
    ])
  })

  test('a write takes effect once', () => {
    const again = [...changes, desired(4, 'a')]
    expect(texts(writes, { changes: again, shadow: { version: 4, desired: 'a', reported: 0 } })).toContain(
      'a took effect 2 times',
    )
  })

  test('a write without an answer may have happened, not happened, or happen later', () => {
    const unanswered = wrote('b', [5, undefined])
    expect(texts([wrote('a', [0, 10], 1), unanswered])).toEqual([])
    expect(texts([...writes, wrote('never', [5, undefined])])).toEqual([])
  })

  test('a refused write has no effect', () => {
    const refused = wrote('b', [30, 40], 2, { expected: 1, status: 409 })
    expect(texts([wrote('a', [0, 10], 1), refused])).toContain('b was refused and took effect')
  })

  test('a write with an expected version applies to that version and is refused for another', () => {
    expect(texts([wrote('a', [0, 10], 1), wrote('b', [30, 40], 3, { expected: 1 })])).toEqual([
      'b was meant for version 1 and made 3',
    ])
    const wrongly = wrote('c', [50, 60], 3, { expected: 3, status: 409 })
    expect(texts([...writes, wrongly])).toEqual(['c was refused for the version it was meant for'])
  })

  test('every change has an author', () => {
    expect(texts([wrote('b', [30, 40], 3)])).toEqual(['version 1 holds a, which nobody wrote'])
  })
})

describe('a report', () => {
  test('an acknowledged report is in the history', () => {
    expect(texts(writes, {}, [...messages, message('report', 1, [50], 60)])).toEqual([
      'report 1 was acknowledged and is not there',
    ])
  })

  test('a report takes effect once, after the report before it', () => {
    const again = [...changes, reported(4, 1), reported(5, 0)]
    const shadow = { version: 5, desired: 'b', reported: 0 }
    const said = [...messages, message('report', 1, [50], 60)]
    expect(texts(writes, { changes: again, shadow }, said)).toEqual(['report 0 took effect after report 1'])
  })
})

describe('a read', () => {
  test('a read shows the state of its version', () => {
    expect(texts([...writes, read([50, 60], { version: 3, desired: 'a', reported: 0 })])).toEqual([
      'reader read {"version":3,"desired":"a","reported":0}, and the state was {"desired":"b","reported":0}',
    ])
  })

  test('a read is not older than a write that was answered before it', () => {
    expect(texts([...writes, read([41, 60], { version: 2, desired: 'a', reported: 0 })])).toEqual([
      'read of reader at version 2.5 began at 41, after write b at version 3 had ended at 40',
    ])
  })

  test('a read is not older than a report whose PUBACK is the log’s', () => {
    const calls = [...writes, read([25, 26], { version: 1, desired: 'a' })]
    expect(texts(calls)).toHaveLength(1)
    const promises = { isPubackDurable: false, brokerLossMs: 0, isFeedLossless: true, clockSkewMs: 0 }
    expect(checkShadows(recordingOf({ promises, calls, messages, stored }))).toEqual([])
  })

  test('a read does not show a later write', () => {
    expect(texts([...writes, read([21, 22], { version: 3, desired: 'b', reported: 0 })])).toHaveLength(1)
  })

  test('a read is not older than an earlier read', () => {
    const reads = [
      read([32, 33], { version: 3, desired: 'b', reported: 0 }),
      read([34, 35], { version: 2, desired: 'a', reported: 0 }),
    ]
    expect(texts([...writes, ...reads])).toHaveLength(1)
  })
})

/** Writes of a real register, each of which takes effect at a moment within its span. */
const runs = fc.array(
  fc.record({
    at: fc.nat(1_000),
    before: fc.nat(40),
    after: fc.nat(40),
    isRead: fc.boolean(),
    isAnswered: fc.boolean(),
  }),
  { maxLength: 30 },
)

test('any history of a single register is correct, with any number of callers', () => {
  fc.assert(
    fc.property(runs, (drawn) => {
      const made: Change[] = []
      const calls = drawn
        .toSorted((a, b) => a.at - b.at)
        .map(({ at, before, after, isRead, isAnswered }, i) => {
          // All moments differ.
          const moment = at + i / 1_000
          const span = [moment - before - 0.000_1, isAnswered ? moment + after + 0.000_1 : undefined] as const
          const last = made.at(-1)
          if (isRead)
            return read(span, {
              version: made.length,
              ...(last === undefined ? {} : { desired: String(last.value) }),
            })
          made.push(desired(made.length + 1, `v${i}`))
          return wrote(`v${i}`, span, isAnswered ? made.length : undefined)
        })
      const last = made.at(-1)
      const shadow = { version: made.length, ...(last === undefined ? {} : { desired: String(last.value) }) }
      expect(checkShadows(recordingOf({ calls, stored: { changes: made, shadow } }))).toEqual([])
    }),
  )
})

test('a killed broker outside may break the promise of its last PUBACKs', () => {
  const lost: Message[] = [...messages, message('report', 1, [50], 60)]
  const promises = { isPubackDurable: false, brokerLossMs: 5, isFeedLossless: true, clockSkewMs: 0 }
  const faults = [{ target: 'broker', kind: 'kill', from: 62, to: 70 }]
  expect(checkShadows(recordingOf({ calls: writes, messages: lost, promises, faults, stored }))).toEqual([])
})
