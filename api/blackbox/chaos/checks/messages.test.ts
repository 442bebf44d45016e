import { expect, test } from 'vitest'
import type { FaultNote } from '../recording.ts'
import { checkMessages } from './messages.ts'
import { message, recordingOf, textsOf } from './testing/recording.ts'

const plain = [message('plain', 0, [1], 2), message('plain', 1, [3, 6], 7), message('plain', 2, [4], 8)]
const timed = [message('timed', 0, [1], 2), message('timed', 1, [3])]

test('acknowledged messages that are stored are correct, also those sent twice and stored twice', () => {
  const stored = { plain: [0, 1, 2, 1], timed: [{ slot: 0, value: 0 }] }
  // Messages are sent at 1, 3, 4 and 6: the repetition of message 1 comes after message 2.
  expect(checkMessages(recordingOf({ messages: [...plain, ...timed], stored }))).toEqual([])
})

test('an acknowledged message that is missing is a violation, which may only be lateness', () => {
  const found = checkMessages(recordingOf({ messages: [...plain, ...timed], stored: { plain: [0, 1] } }))
  expect(textsOf(found)).toEqual([
    'timed message 0 was acknowledged at 2 and is not stored',
    'plain message 2 was acknowledged at 8 and is not stored',
  ])
  expect(found.every(({ isAbsence }) => isAbsence)).toBe(true)
})

test('a message stored more often than it was sent is a violation', () => {
  const found = checkMessages(recordingOf({ messages: plain, stored: { plain: [0, 0, 1, 2] } }))
  expect(textsOf(found)).toContain('plain message 0 was sent 1 times and is stored 2 times')
})

test('messages stored in another order than they were sent are a violation', () => {
  const found = checkMessages(recordingOf({ messages: plain, stored: { plain: [0, 2, 1] } }))
  expect(found).toEqual([])
  const shuffled = checkMessages(recordingOf({ messages: plain, stored: { plain: [1, 0, 2] } }))
  expect(textsOf(shuffled)).toEqual(['plain messages are stored out of order at 1: … 1 0 2 …'])
})

test('a place holds the message that was sent for it once', () => {
  const stored = {
    timed: [
      { slot: 0, value: 0 },
      { slot: 0, value: 0 },
      { slot: 1, value: 7 },
      { slot: 9, value: 9 },
    ],
  }
  expect(textsOf(checkMessages(recordingOf({ messages: timed, stored })))).toEqual([
    'the place of timed message 0 is stored more than once',
    'the place of timed message 1 holds 7, which it was never sent',
    'the place of timed message 9 holds 9, which it was never sent',
  ])
})

test('a dead letter is a violation, since every message can be read', () => {
  expect(textsOf(checkMessages(recordingOf({ stored: { parked: 2 } })))).toEqual([
    '2 messages are dead letters',
  ])
})

test('a log that comes back empty may lose what was not settled, and what was held up before', () => {
  const wipe: FaultNote = { target: 'nats', kind: 'wipe', from: 60_000, to: 61_000 }
  const promises = { isPubackDurable: false, brokerLossMs: 0, isFeedLossless: true, clockSkewMs: 0 }
  const missing = (at: number, ...faults: readonly FaultNote[]) =>
    checkMessages(recordingOf({ messages: [message('plain', 0, [1], at)], faults, promises })).length
  expect([51_000, 53_000, 60_500, 62_000].map((at) => missing(at, wipe))).toEqual([1, 0, 0, 1])
  const frozen: FaultNote = { target: 'clickhouse', kind: 'pause', from: 40_000, to: 55_000 }
  expect([31_000, 33_000].map((at) => missing(at, frozen, wipe))).toEqual([1, 0])
  const longAgo: FaultNote = { target: 'clickhouse', kind: 'pause', from: 20_000, to: 30_000 }
  expect(missing(33_000, longAgo, wipe)).toBe(1)
})

test('a killed broker without queues may lose what was not read, and what comes before it is read again', () => {
  const kill: FaultNote = { target: 'broker', kind: 'kill', from: 60_000, to: 61_000 }
  const promises = {
    isPubackDurable: false,
    brokerLossMs: 1_000,
    losesQueues: true,
    isFeedLossless: true,
    clockSkewMs: 0,
  }
  const missing = (at: number, ...faults: readonly FaultNote[]) =>
    checkMessages(recordingOf({ messages: [message('plain', 0, [1], at)], faults, promises })).length
  expect([58_000, 59_500, 70_000, 72_000].map((at) => missing(at, kill))).toEqual([1, 0, 0, 1])
  const killed: FaultNote = { target: 'ingress-1', kind: 'kill', from: 55_000, to: 59_500 }
  expect([53_000, 54_500].map((at) => missing(at, killed, kill))).toEqual([1, 0])
})

test('a killed broker may lose its last moments and nothing else', () => {
  const faults: FaultNote[] = [{ target: 'broker', kind: 'kill', from: 10, to: 12 }]
  const acked = (at: number) => [message('plain', 0, [1], at)]
  const promises = { isPubackDurable: false, brokerLossMs: 3, isFeedLossless: true, clockSkewMs: 0 }
  const missing = (at: number) => checkMessages(recordingOf({ messages: acked(at), faults, promises })).length
  expect([6, 7, 10, 12, 13].map(missing)).toEqual([1, 0, 0, 0, 1])
  const others: FaultNote[] = [{ target: 'engine-1', kind: 'kill', from: 10, to: 12 }]
  expect(checkMessages(recordingOf({ messages: acked(9), faults: others, promises }))).toHaveLength(1)
  expect(checkMessages(recordingOf({ messages: acked(9), faults }))).toHaveLength(1)
})

test('buckets that count more or less than there is are a violation, which may only be lateness', () => {
  const stored = { plain: [0, 1, 2], counted: { plain: 4, timed: 0 } }
  const found = checkMessages(recordingOf({ messages: plain, stored }))
  expect(textsOf(found)).toEqual(['the buckets of plain count 4 points, there are 3'])
  expect(found[0]?.isAbsence).toBe(true)
})
