import mqtt from 'mqtt'
import { afterEach, expect, test, vi } from 'vitest'
import { Bench } from '../bench.ts'
import { TELEMETRY_CHECKS } from './telemetry.ts'

afterEach(() => void vi.useRealTimers())

test('a message that was acknowledged in the millisecond in which a check began need not be sent again', async () => {
  const ending = new AbortController()
  const bench = await Bench.open(
    {
      ...{ deviceId: 'd1', run: undefined, port: 0, environment: {}, deviceType: 'mqtt_device' },
      ...{ command: 'ping', slowCommand: undefined, field: { name: 'led', values: ['on', 'off'] } },
      ...{ pace: 0.01, signal: ending.signal },
    },
    0,
  )
  const client = mqtt.connect(`mqtt://127.0.0.1:${bench.broker.port}`, {
    ...{ clientId: 'd1', clean: false, keepalive: 0, reconnectPeriod: 50 },
  })
  try {
    vi.useFakeTimers({ toFake: ['Date'] })
    await client.publishAsync('fleet/d1/telemetry', '{"n":1}', { qos: 1 })
    const ran = TELEMETRY_CHECKS.find(({ id }) => id === 'TEL-03')?.run(bench, [])
    // The library resends the first message over the next connection.
    const arrived = client.publishAsync('fleet/d1/telemetry', '{"n":2}', { qos: 1 })
    await bench.until('the second message', () => bench.broker.messages > 1, 60_000)
    vi.setSystemTime(Date.now() + 1_000)
    await ran
    await arrived
    expect(bench.broker.recordings.length).toBeGreaterThan(1)
  } finally {
    await client.endAsync(true)
    ending.abort()
    await bench.close()
  }
})
