import { expect, test } from 'vitest'
import type { RecordCall, SnapshotCall } from '../recording.ts'
import { checkReads } from './reads.ts'
import { DEVICE, message, recordingOf, textsOf } from './testing/recording.ts'

const looked = (from: number, to: number, plain: number | undefined, status = 200): SnapshotCall => ({
  kind: 'snapshot',
  caller: 'user',
  node: 'api',
  device: DEVICE,
  from,
  to,
  status,
  ...(plain === undefined ? {} : { plain }),
})
const messages = [message('plain', 0, [1], 2), message('plain', 1, [3], 4)]

test('a snapshot shows what was acknowledged before it or what came since', () => {
  expect(checkReads(recordingOf({ messages, calls: [looked(2.5, 3.5, 0), looked(3.5, 5, 1)] }))).toEqual([])
})

test('a snapshot older than an earlier PUBACK is a violation', () => {
  expect(textsOf(checkReads(recordingOf({ messages, calls: [looked(5, 6, 0)] })))).toEqual([
    'user reads plain 0 of 5, after message plain 1 at 4',
  ])
  expect(checkReads(recordingOf({ messages, calls: [looked(5, 6, undefined)] }))).toHaveLength(1)
})

test('with a broker outside, a snapshot is not older than an earlier snapshot', () => {
  const promises = { isPubackDurable: false, brokerLossMs: 0, isFeedLossless: true, clockSkewMs: 0 }
  expect(checkReads(recordingOf({ promises, messages, calls: [looked(5, 6, 0)] }))).toEqual([])
  const calls = [looked(5, 6, 1), looked(7, 8, 0)]
  expect(checkReads(recordingOf({ promises, messages, calls }))).toHaveLength(1)
})

test('latest values may go back with a log that lost its data, and never later', () => {
  const faults = [{ target: 'nats', kind: 'wipe', from: 10, to: 20 }]
  const promises = { isPubackDurable: false, brokerLossMs: 0, isFeedLossless: true, clockSkewMs: 0 }
  const texts = (...calls: readonly SnapshotCall[]) =>
    textsOf(checkReads(recordingOf({ promises, faults, messages, calls })))
  expect(texts(looked(5, 6, 1), looked(40_000, 40_001, 0))).toEqual([])
  expect(texts(looked(12, 13, 1), looked(14, 15, 0))).toEqual([])
  expect(texts(looked(5, 6, 1), looked(7, 8, 0))).toHaveLength(1)
  expect(texts(looked(40_000, 40_001, 1), looked(40_002, 40_003, 0))).toHaveLength(1)
})

test('a snapshot of a message that was not sent yet is a violation', () => {
  expect(checkReads(recordingOf({ messages, calls: [looked(1.5, 2.5, 1)] }))).toHaveLength(1)
})

test('a read of a record shows the last edit that was answered or a later one', () => {
  const call = (
    kind: RecordCall['kind'],
    edit: number,
    from: number,
    to: number,
    status = 200,
  ): RecordCall => ({
    kind,
    caller: 'user',
    node: 'api',
    device: 'own-0',
    edit,
    from,
    to,
    status,
  })
  const edits = [call('edit', 0, 0, 1, 201), call('edit', 1, 4, 6)]
  const fine = [
    call('record', -1, 0.5, 2, 404),
    call('list', 0, 2, 3),
    call('list', 1, 5, 7),
    call('record', 0, 5, 7),
  ]
  expect(checkReads(recordingOf({ calls: [...edits, ...fine] }))).toEqual([])
  expect(textsOf(checkReads(recordingOf({ calls: [...edits, call('list', 0, 7, 8)] })))).toEqual([
    'list 0 at api began at 7, after edit 1 at api had ended at 6',
  ])
  expect(checkReads(recordingOf({ calls: [...edits, call('record', -1, 2, 3, 404)] }))).toHaveLength(1)
  const unanswered = { ...call('edit', 2, 9, 10), status: 503 }
  expect(checkReads(recordingOf({ calls: [...edits, unanswered, call('record', 1, 11, 12)] }))).toEqual([])
})

test('an unexpected answer is a violation; one that reports a missing server is not', () => {
  expect(checkReads(recordingOf({ calls: [looked(1, 2, undefined, 503)] }))).toEqual([])
  const found = checkReads(
    recordingOf({ calls: [looked(1, 2, undefined, 404), looked(1, 2, undefined, 500)] }),
  )
  expect(found.map(({ check }) => check)).toEqual(['answers', 'answers'])
})
