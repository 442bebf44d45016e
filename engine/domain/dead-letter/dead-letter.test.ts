import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { type DeviceId, Micros } from '../../../schemas/ids.ts'
import { adviceOn } from './advice.ts'
import { errorMessage } from './error-message.ts'
import { strayTopic, toForbiddenSuffix } from './stray-topic.ts'

const letter = {
  // The pattern of ids does not matter here.
  deviceId: 'a' as DeviceId,
  topic: 'fleet/a/telemtry',
  reason: 'UNKNOWN_TOPIC',
  detail: 'nothing takes messages on telemtry',
  receivedAt: Micros(1_767_607_200_000_000),
}

test('the message to a device has reason, topic and time, and says what to do', () => {
  const { deviceId, message } = errorMessage(letter) ?? {}
  expect(deviceId).toBe('a')
  expect(message).toMatchObject({ suffix: 'error', qos: 0, retain: false })
  expect(JSON.parse(Buffer.from(message?.payload ?? []).toString())).toEqual({
    code: 'UNKNOWN_TOPIC',
    detail: letter.detail,
    topic: letter.topic,
    advice: adviceOn('UNKNOWN_TOPIC'),
    timestamp: '2026-01-05T10:00:00.000Z',
  })
})

test.each([
  ['through its gateway', { topic: 'fleet/gw/sub/a/telemtry' }, 'gw', 'sub/a/error'],
  ['of the gateway itself', { topic: 'fleet/a/sub/b/telemetry', reason: 'NOT_ITS_GATEWAY' }, 'a', 'error'],
  // The device may have named any topic, so it says nothing about the way.
  ['on a forbidden topic', { topic: 'fleet/gw/sub/a/log', reason: 'FORBIDDEN_TOPIC' }, 'a', 'error'],
] as const)('the message %s goes the way it came', (_, more, deviceId, suffix) => {
  expect(errorMessage({ ...letter, ...more })).toMatchObject({ deviceId, message: { suffix } })
})

test('a dead letter without a device leads to no message', () => {
  expect(errorMessage({ ...letter, deviceId: '' as DeviceId })).toBeUndefined()
})

test('a known reason has its own advice, and an unknown one refers to the operator', () => {
  expect(adviceOn('not_json')).toContain('JSON')
  expect(adviceOn('constructor')).toBe(adviceOn('INTERNAL'))
})

test.each([
  ['telemetry', undefined],
  ['telemetry/imu', undefined],
  ['sub/b/telemetry', undefined],
  ['comand/ack', 'nothing takes messages on comand/ack; did you mean command/ack?'],
  ['shadow/desired', 'only the service publishes on shadow/desired'],
  [toForbiddenSuffix('fleet/b/log'), 'the device may not publish on fleet/b/log'],
])('a message on %s: %s', (suffix, detail) => {
  expect(strayTopic(suffix)?.detail).toBe(detail)
})
