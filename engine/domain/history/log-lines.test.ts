import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Micros } from '../../../schemas/ids.ts'
import { LOG_LEVELS } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import { readLogLines } from './log-lines.ts'

const NOW = Micros(Date.UTC(2026, 2, 1, 12) * 1000)
const read = (value: unknown) =>
  readLogLines(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)), NOW)
const entries = (value: unknown) => {
  const found = read(value)
  if (found.kind === 'refused') expect.fail(`${found.reason}: ${found.detail}`)
  return found.entries.map(({ at, body }) => ({ at, ...JSON.parse(body) }))
}
const levelOf = (entry: object) => entries({ message: '', ...entry })[0]?.level

test('a log line has its level, message, logger, fields and time', () => {
  const entry = {
    timestamp: '2026-03-01T11:59:58.000123Z',
    level: 'warn',
    message: 'hot',
    logger: 'nav',
    fields: { t: [71.5] },
  }
  expect(entries(entry)).toEqual([
    { at: NOW - 2_000_000 + 123, level: 'warn', message: 'hot', logger: 'nav', fields: { t: [71.5] } },
  ])
})

test('a log line without level and time is info and has the receive time', () => {
  expect(entries({ message: 'hi' })).toEqual([{ at: NOW, level: 'info', message: 'hi' }])
  expect(entries({ message: 'hi', timestamp: null, level: null, logger: null, fields: null })).toEqual([
    { at: NOW, level: 'info', message: 'hi' },
  ])
})

test('a log line in the format of ROS is understood, and its other keys are kept as fields', () => {
  const ros = {
    stamp: { sec: 1 },
    level: 40,
    name: 'nav',
    msg: 'lost',
    file: 'a.cpp',
    line: 7,
    fields: { line: 8 },
  }
  expect(entries(ros)).toEqual([
    {
      at: NOW,
      level: 'error',
      message: 'lost',
      logger: 'nav',
      fields: { stamp: { sec: 1 }, file: 'a.cpp', line: 8 },
    },
  ])
})

test('a log line with an impossible time gets its receive time', () => {
  for (const timestamp of [0, '1999-12-31T23:59:59Z', NOW / 1000 + 700_000])
    expect(read({ message: '', timestamp })).toMatchObject({ adjusted: true, entries: [{ at: NOW }] })
  expect(read({ message: '', timestamp: NOW / 1000 - 86_400_000 })).toMatchObject({ adjusted: false })
})

test('levels are words, or the numbers of ROS, syslog and OpenTelemetry', () => {
  expect(LOG_LEVELS.map((level) => levelOf({ level }))).toEqual(LOG_LEVELS)
  expect(['WARNING', 'Trace', 'critical', 'err'].map((level) => levelOf({ level }))).toEqual([
    'warn',
    'debug',
    'fatal',
    'error',
  ])
  expect([10, 20, 30, 40, 50].map((level) => levelOf({ level }))).toEqual(LOG_LEVELS)
  expect([0, 1, 2, 3, 4, 5, 6, 7].map((level) => levelOf({ level }))).toEqual([
    'fatal',
    'fatal',
    'fatal',
    'error',
    'warn',
    'info',
    'info',
    'debug',
  ])
  expect([8, 9, 12, 13, 17, 21, 24].map((level) => levelOf({ level }))).toEqual([
    'debug',
    'info',
    'info',
    'warn',
    'error',
    'fatal',
    'fatal',
  ])
  expect([1, 5, 9, 13, 17, 21].map((severity_number) => levelOf({ severity_number }))).toEqual([
    'debug',
    ...LOG_LEVELS,
  ])
})

test('log lines of one message keep their order and have distinct times', () => {
  const at = NOW / 1000 - 5
  const given = [{ timestamp: at }, {}, { timestamp: at }, { timestamp: at + 0.001 }, {}].map((e, i) => ({
    ...e,
    message: `${i}`,
  }))
  expect(entries(given).map(({ at: t, message }) => [t - NOW, message])).toEqual([
    [-5_000, '0'],
    [0, '1'],
    [-4_999, '2'],
    [-4_998, '3'],
    [1, '4'],
  ])
  expect(entries([])).toEqual([])
})

test.each([
  ['', 'not_json'],
  ['plain words', 'not_json'],
  ['{"message":', 'not_json'],
  ['"text"', 'not_object'],
  ['null', 'not_object'],
  [[{ message: '' }, 7], 'not_object'],
  [[[{ message: '' }]], 'not_object'],
  [{ message: '', fields: [1] }, 'not_object'],
  [{}, 'bad_message'],
  [{ message: 7 }, 'bad_message'],
  [{ message: '', logger: {} }, 'bad_message'],
  [{ message: '', level: 'loud' }, 'bad_level'],
  [{ message: '', level: '__proto__' }, 'bad_level'],
  [{ message: '', level: 25 }, 'bad_level'],
  [{ message: '', level: 1.5 }, 'bad_level'],
  [{ message: '', level: -1 }, 'bad_level'],
  [{ message: '', severity_number: 0 }, 'bad_level'],
  [{ message: '', timestamp: 'yesterday' }, 'bad_timestamp'],
  [{ message: '', timestamp: {} }, 'bad_timestamp'],
  ['{"message":"","timestamp":1e999}', 'bad_timestamp'],
  [{ message: 'x'.repeat(LIMITS.logMessageBytesMax + 1) }, 'text_too_long'],
  [{ message: '', logger: 'é'.repeat(LIMITS.logLoggerBytesMax / 2 + 1) }, 'text_too_long'],
  [{ message: '', fields: { x: 'x'.repeat(LIMITS.logFieldsBytesMax) } }, 'text_too_long'],
  [Array.from({ length: LIMITS.logEntriesMax + 1 }, () => ({ message: '' })), 'too_many_entries'],
  [`{"message":"","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'too_deep'],
] as const)('the message %j is refused', (value, reason) => {
  expect(read(value)).toMatchObject({ kind: 'refused', reason })
})

test('bytes that are not UTF-8 are refused', () => {
  expect(readLogLines(Uint8Array.of(0x7b, 0xff, 0x7d), NOW)).toMatchObject({
    kind: 'refused',
    reason: 'not_utf8',
  })
})

test('any JSON is accepted or refused with the same result every time', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const once = read(text)
      expect(read(text)).toEqual(once)
      if (once.kind === 'refused') return
      for (const { body } of once.entries) expect(LOG_LEVELS).toContain(JSON.parse(body).level)
    }),
  )
})
