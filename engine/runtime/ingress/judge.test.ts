import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { Millis } from '../../../schemas/ids.ts'
import { judgeMessage } from './judge.ts'

test.each([
  ['telemetry', '{"t":1}', undefined],
  ['telemetry', '{"t":', 'payload'],
  ['telemetry', '{"request_id":"c1","status":"completed"}', undefined],
  ['telemetry/level', '7', undefined],
  ['sub/d/telemetry', '[', 'payload'],
  ['sub/d/telemtry', '{}', 'topic'],
  ['status', 'online', undefined],
  ['status', 'here', 'payload'],
  ['log', '{"level":"warn","message":"x"}', undefined],
  ['log', '{"level":"warn"}', 'payload'],
  ['shadow/reported', '{"led":"on"}', undefined],
  ['shadow/reported', '7', 'payload'],
  ['shadow/get', 'anything', undefined],
  ['command/ack', '{"request_id":"c1","status":"acked"}', undefined],
  ['command/ack', '{"request_id":"c1"}', 'payload'],
  ['ota/status', '{', 'payload'],
  ['telemtry', '{}', 'topic'],
  ['command', '{}', 'topic'],
] as const)('%s with %s: %s', (suffix, payload, kind) => {
  expect(judgeMessage(suffix, Buffer.from(payload), Millis(1_767_607_200_000))?.kind).toBe(kind)
})
