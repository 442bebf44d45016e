import { Buffer } from 'node:buffer'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStage, type Stage } from '../testing/embedded-broker.ts'
import { until } from '../testing/fake-host.ts'
import { connectPacket, publishPacket, RawDevice } from '../testing/raw-device.ts'

let stage: Stage
const thrown: unknown[] = []
const note = (error: unknown) => thrown.push(error)
beforeEach(async () => {
  stage = await openStage()
  process.on('uncaughtException', note)
  process.on('unhandledRejection', note)
})
afterEach(async () => {
  await stage.broker.close()
  process.off('uncaughtException', note)
  process.off('unhandledRejection', note)
})

/** Generates numbers by Mulberry32, so that a failing round can be repeated by its seed. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const properties = { userProperties: { a: 'b' }, topicAlias: 2, messageExpiryInterval: 7 }

const SAMPLES = [
  publishPacket('fleet/a/telemetry', '{"t":1}'),
  publishPacket('fleet/a/status', 'x', { qos: 2, retain: true }),
  Buffer.from([0xc0, 0x00]),
  Buffer.from([0x62, 0x02, 0x00, 0x01]),
  Buffer.from([0x40, 0x02, 0x00, 0x01]),
  Buffer.from([0x50, 0x02, 0x00, 0x01]),
  Buffer.from([0x82, 0x0f, 0x00, 0x05, 0x00, 0x09, ...Buffer.from('fleet/a/#'), 0x01, 0x00]),
  Buffer.from([0x82, 0x0e, 0x00, 0x05, 0x00, 0x09, ...Buffer.from('fleet/a/#'), 0x01]),
  Buffer.from([0x82, 0x12, 0x00, 0x05, 0x00, 0x0d, ...Buffer.from('fleet/a/+/b/+'), 0x02]),
  Buffer.from([0xa2, 0x0d, 0x00, 0x06, 0x00, 0x09, ...Buffer.from('fleet/a/#')]),
]

const SAMPLES_V5 = [
  ...SAMPLES,
  publishPacket('fleet/a/telemetry', '{"t":1}', { properties, protocolVersion: 5 }),
  publishPacket('', '{"t":1}', { properties, protocolVersion: 5, qos: 2 }),
  publishPacket('fleet/b/telemetry', '{"t":1}', { protocolVersion: 5 }),
  Buffer.from([0x62, 0x04, 0x00, 0x01, 0x92, 0x00]),
  Buffer.from([0x40, 0x09, 0x00, 0x01, 0x10, 0x05, 0x1f, 0x00, 0x02, 0x61, 0x62]),
  Buffer.from([0x50, 0x03, 0x00, 0x01, 0x83]),
  Buffer.from([0x82, 0x0f, 0x00, 0x05, 0x00, 0x00, 0x09, ...Buffer.from('fleet/a/#'), 0x2d]),
  Buffer.from([0xa2, 0x0e, 0x00, 0x06, 0x00, 0x00, 0x09, ...Buffer.from('fleet/a/#')]),
  Buffer.from([0xe0, 0x07, 0x04, 0x05, 0x11, 0x00, 0x00, 0x00, 0x09]),
  Buffer.from([0xf0, 0x02, 0x18, 0x00]),
]

function garble(next: () => number, samples: readonly Buffer[]): Buffer {
  const parts = Array.from({ length: 1 + Math.floor(next() * 12) }, () => {
    const sample = Buffer.from(samples[Math.floor(next() * samples.length)] ?? [])
    const hits = next() < 0.5 ? 0 : 1 + Math.floor(next() * 3)
    for (let hit = 0; hit < hits; hit++) sample[Math.floor(next() * sample.length)] = Math.floor(next() * 256)
    return next() < 0.1 ? sample.subarray(0, Math.floor(next() * sample.length)) : sample
  })
  return Buffer.concat(parts)
}

async function stillServes(): Promise<void> {
  const device = await RawDevice.connect(stage.port, 'z')
  await device.subscribe('fleet/z/#')
  device.publish('fleet/z/telemetry', 'x')
  await until(
    () => device.all('puback').length === 1 && device.received().length === 1,
    'a device in good order',
  )
  device.drop()
}

test.each([4, 5] as const)(
  'bytes of any kind end at most their own session, in version %i',
  async (protocolVersion) => {
    for (let seed = 1; seed <= 400; seed++) {
      const next = random(seed)
      const device = await RawDevice.connect(stage.port, 'a', {
        protocolVersion,
        clean: next() < 0.5,
        ...(protocolVersion === 5 && { properties: { sessionExpiryInterval: next() < 0.5 ? 0 : 600 } }),
      })
      const bytes = garble(next, protocolVersion === 5 ? SAMPLES_V5 : SAMPLES)
      const cut = Math.floor(next() * bytes.length)
      device.send(bytes.subarray(0, cut))
      if (next() < 0.5) await new Promise((resolve) => setImmediate(resolve))
      device.send(bytes.subarray(cut))
      if (next() < 0.3) device.drop()
      if (seed % 50 === 0) await stillServes()
    }
    await stillServes()
    expect(thrown).toEqual([])
    await until(() => stage.host.isSettled, 'everything to be durable')
  },
)

test.each([4, 5] as const)(
  'bytes of any kind before a CONNACK end at most their own socket, in version %i',
  async (protocolVersion) => {
    const willProperties = { willDelayInterval: 3, userProperties: { a: 'b' } }
    const connect = connectPacket('a', {
      protocolVersion,
      will: {
        topic: 'fleet/a/status',
        payload: Buffer.from('x'),
        qos: 1,
        retain: true,
        ...(protocolVersion === 5 && { properties: willProperties }),
      },
      ...(protocolVersion === 5 && {
        properties: { sessionExpiryInterval: 60, receiveMaximum: 9, userProperties: { c: 'd' } },
      }),
    })
    for (let seed = 1; seed <= 300; seed++) {
      const next = random(seed)
      const bytes =
        next() < 0.5 ? Buffer.from(connect) : Buffer.from(Array.from({ length: 40 }, () => next() * 256))
      for (let hit = 0; hit < 3; hit++) bytes[Math.floor(next() * bytes.length)] = Math.floor(next() * 256)
      const device = await RawDevice.dial(stage.port)
      device.send(bytes)
      if (seed % 50 === 0) await stillServes()
    }
    await stillServes()
    expect(thrown).toEqual([])
  },
)
