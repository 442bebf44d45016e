import { expect, test } from 'vitest'
import type { Revocation } from '../live-recording.ts'
import type { Recording } from '../recording.ts'
import { checkRevocations } from './revocations.ts'
import { DEVICE, message, recordingOf, textsOf } from './testing/recording.ts'

const SEVERAL: Recording['promises'] = {
  isPubackDurable: false,
  brokerLossMs: 0,
  isFeedLossless: false,
  clockSkewMs: 0,
}
const LATER = 60_000

const judge = (more: Partial<Revocation>, parts: Parameters<typeof recordingOf>[0] = {}) =>
  checkRevocations(
    recordingOf({
      revocations: [{ kind: 'user', name: DEVICE, how: 'the lock', revokedAt: 100, calls: [], ...more }],
      ...parts,
    }),
  )
const call = (from: number, status: number) => ({ node: 'api-1', from, status })

test('calls before a revocation, and refusals and silence after it, are correct', () => {
  const calls = [call(50, 200), call(99, 200), call(101, 401), call(102, 503), call(LATER, 401)]
  const revoked = { calls, socket: { node: 'api-1', closedAt: 200 }, stored: [0] }
  expect(judge(revoked, { messages: [message('plain', 0, [90], 95), message('plain', 1, [LATER])] })).toEqual(
    [],
  )
})

test('a call that is answered after the revocation is a violation, at other nodes once they know it', () => {
  expect(textsOf(judge({ calls: [call(101, 200)] }))).toEqual([
    'the lock was answered, and api-1 answered a call of 101 with 200',
  ])
  const several = { promises: SEVERAL }
  expect(judge({ calls: [call(101, 200)] }, several)).toEqual([])
  expect(judge({ calls: [call(LATER, 200)] }, several)).toHaveLength(1)
  const redis = { target: 'redis', kind: 'pause', from: 200, to: 55_000 }
  expect(judge({ calls: [call(LATER, 200)] }, { ...several, faults: [redis] })).toEqual([])
  const broker = { ...redis, target: 'broker' }
  expect(judge({ calls: [call(LATER, 200)] }, { ...several, faults: [broker] })).toHaveLength(1)
})

test('a socket that goes on is a violation, unless its node or its link stands still', () => {
  expect(textsOf(judge({ socket: { node: 'api-1-door', closedAt: LATER } }))).toEqual([
    `the lock was answered at 100, and its socket at api-1-door ended at ${LATER}`,
  ])
  expect(judge({ socket: { node: 'api-1-door' } })).toHaveLength(1)
  const paused = { target: 'api-1', kind: 'pause', from: 200, to: 55_000 }
  expect(judge({ socket: { node: 'api-1-door', closedAt: LATER } }, { faults: [paused] })).toEqual([])
})

test('a message that a device sent after the revocation and that is stored is a violation', () => {
  const messages = [message('plain', 0, [90]), message('plain', 1, [LATER])]
  expect(textsOf(judge({ kind: 'device', stored: [0, 1] }, { messages }))).toEqual([
    `the lock was answered, and message 1 of ${LATER} is stored`,
  ])
})

test('a session that lasts is a violation, and one that is ended each time is not', () => {
  const ended = [
    { from: 10, to: 110 },
    { from: 200, to: 300 },
    { from: LATER, to: LATER + 100 },
  ]
  expect(judge({ kind: 'device', sessions: ended })).toEqual([])
  expect(textsOf(judge({ kind: 'device', sessions: [{ from: 10, to: LATER }] }))).toEqual([
    `the lock was answered at 100, and its session of 10 lasted until ${LATER}`,
  ])
  expect(judge({ kind: 'device', sessions: [{ from: 200 }] })).toHaveLength(1)
  const paused = { target: 'broker', kind: 'pause', from: 200, to: 55_000 }
  expect(judge({ kind: 'device', sessions: [{ from: 10, to: LATER }] }, { faults: [paused] })).toEqual([])
  const apart = { ...paused, target: 'clickhouse' }
  expect(judge({ kind: 'device', sessions: [{ from: 10, to: LATER }] }, { faults: [apart] })).toHaveLength(1)
})

test('a revocation that was not answered promises nothing', () => {
  const unanswered: Revocation = { kind: 'user', name: DEVICE, how: 'the lock', calls: [call(LATER, 200)] }
  expect(checkRevocations(recordingOf({ revocations: [unanswered] }))).toEqual([])
})
