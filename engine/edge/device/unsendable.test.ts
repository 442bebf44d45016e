import { expect, test } from 'vitest'
import { MQTT_LIMITS } from '../../../schemas/mqtt-limits.ts'
import { FleetDevice } from './fleet-device.ts'

// Never connected: what may be sent waits for a connection.
const device = new FleetDevice({ url: 'mqtt://127.0.0.1:1', deviceId: 'robot-7', firmwareVersion: '1.0.0' })

test('a message that every broker ends the connection for is refused, and does not wait for one', async () => {
  const refused = [
    device.telemetry({ text: 'x'.repeat(300_000) }),
    device.telemetry({ text: 'ä'.repeat(140_000) }),
    device.telemetry({ value: 1 }, 'left+right'),
    device.telemetry({ value: 1 }, 'x'.repeat(600)),
    device.publish('telemetry/../other', { value: 1 }),
    device.publish(Array.from({ length: 20 }, () => 'level').join('/'), { value: 1 }),
  ]
  const outcomes = await Promise.allSettled(refused)
  expect(outcomes.map((outcome) => outcome.status === 'rejected' && String(outcome.reason))).toEqual([
    expect.stringContaining('at most 262144 are allowed'),
    expect.stringContaining('at most 262144 are allowed'),
    'Error: a topic has no +, #, NUL or level named "..": "fleet/robot-7/telemetry/left+right"',
    expect.stringContaining('at most 512 bytes'),
    expect.stringContaining('level named ".."'),
    expect.stringContaining('16 levels'),
  ])
})

test('the largest message that the service takes waits for a connection', async () => {
  const text = 'ä'.repeat((MQTT_LIMITS.payloadBytesMax - 64) / 2)
  const sent = device.telemetry({ timestamp: 0, text }).then(() => 'sent')
  const outcome = await Promise.race([sent, Promise.resolve().then(() => 'waiting')])
  expect(outcome).toBe('waiting')
})
