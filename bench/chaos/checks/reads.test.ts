import { expect, test } from 'vitest'
import type { SnapshotCall } from '../recording.ts'
import { checkReads } from './reads.ts'
import { DEVICE, message, recordingOf, textsOf } from './recording-harness.ts'

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

test('a snapshot shows what was acknowledged before it, or what came since', () => {
  expect(checkReads(recordingOf({ messages, calls: [looked(2.5, 3.5, 0), looked(3.5, 5, 1)] }))).toEqual([])
})

test('a snapshot that is older than a PUBACK before it is told', () => {
  expect(textsOf(checkReads(recordingOf({ messages, calls: [looked(5, 6, 0)] })))).toEqual([
    'user reads plain 0 of 5, after message plain 1 at 4',
  ])
  expect(checkReads(recordingOf({ messages, calls: [looked(5, 6, undefined)] }))).toHaveLength(1)
})

test('behind a broker of its own it is not older than a snapshot before it', () => {
  const promises = { isPubackDurable: false, brokerLossMs: 0 }
  expect(checkReads(recordingOf({ promises, messages, calls: [looked(5, 6, 0)] }))).toEqual([])
  const calls = [looked(5, 6, 1), looked(7, 8, 0)]
  expect(checkReads(recordingOf({ promises, messages, calls }))).toHaveLength(1)
})

test('a snapshot of what was not sent yet is told', () => {
  expect(checkReads(recordingOf({ messages, calls: [looked(1.5, 2.5, 1)] }))).toHaveLength(1)
})

test('an answer that no rule foresees is told; one that says that a part is away is not', () => {
  expect(checkReads(recordingOf({ calls: [looked(1, 2, undefined, 503)] }))).toEqual([])
  const found = checkReads(
    recordingOf({ calls: [looked(1, 2, undefined, 404), looked(1, 2, undefined, 500)] }),
  )
  expect(found.map(({ check }) => check)).toEqual(['answers', 'answers'])
})
