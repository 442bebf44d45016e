import { expect, test } from 'vitest'
import { refusalCause } from './refusal-cause.ts'

const refused = (device_id: string | null, reason: string) => ({
  device_id,
  code: 'MQTT_CONNECTION_REFUSED',
  detail: { reason },
})

test('a refusal of the device itself is told before one under another client id', () => {
  const entries = [
    refused('esp32', 'the token is of another device'),
    refused('thermo-1', 'device token expired'),
  ]
  expect(refusalCause(entries, 'thermo-1')).toEqual({
    word: 'expired',
    reason: 'device token expired',
    otherId: undefined,
  })
})

test('a client id that is not the device id is the cause, also if it is none that a device can have', () => {
  const wrong = refusalCause([refused('esp32', 'the token is of another device')], 'thermo-1')
  expect(wrong?.otherId).toBe('esp32')
  const unreadable = refusalCause([refused(null, 'the client id must be the device id')], 'thermo-1')
  expect(unreadable?.otherId).toBe('')
})

test('other devices of the fleet that are refused are no cause', () => {
  const entries = [refused('pump-7', 'device token expired'), refused('pump-8', 'the token was revoked')]
  expect(refusalCause(entries, 'thermo-1')).toBeUndefined()
})

test('a reason without words of its own is told as the service gives it', () => {
  expect(refusalCause([refused('thermo-1', 'the certificate has expired')], 'thermo-1')).toMatchObject({
    word: undefined,
    reason: 'the certificate has expired',
  })
})
