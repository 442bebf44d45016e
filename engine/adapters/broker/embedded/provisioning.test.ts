import { Buffer } from 'node:buffer'
import mqttJs from 'mqtt'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LIMITS } from '../../../limits.ts'
import type { ConnectAttempt } from '../../../ports/broker.ts'
import { connectV5, ping, subscribeV5 } from '../testing/device-v5.ts'
import { openStage, type Stage } from '../testing/embedded-broker.ts'
import { FakeHost, until } from '../testing/fake-host.ts'
import { RawDevice } from '../testing/raw-device.ts'

const KEY = Buffer.from('the key')
const ACCEPTED = 'fleet/a/provision/accepted'
const GET = 'fleet/a/provision/get'

/** Admits whoever shows the key, and answers what it is asked. */
class KeyHost extends FakeHost {
  readonly asked: string[] = []

  override async admit(attempt: ConnectAttempt): ReturnType<FakeHost['admit']> {
    const admission = await super.admit(attempt)
    if (Buffer.from(attempt.password ?? '').toString() !== KEY.toString()) return admission
    // The ids of this test are sound.
    const deviceId = attempt.clientId as Parameters<Stage['broker']['cut']>[0]
    const ask = async (payload: Uint8Array) => {
      this.asked.push(Buffer.from(payload).toString())
      return { suffix: 'provision/accepted', payload: Buffer.from(`token of ${deviceId}`) }
    }
    return { kind: 'provisioning', deviceId, ask }
  }
}

let host: KeyHost
let stage: Stage
beforeEach(async () => {
  host = new KeyHost()
  stage = await openStage({}, host)
})
afterEach(() => stage.broker.close())

const enter = (id = 'a') => RawDevice.connect(stage.port, id, { password: KEY, username: 'a' })

test('a device with a key asks and is answered, and the host hears of no session', async () => {
  const client = await mqttJs.connectAsync({
    ...{ port: stage.port, host: '127.0.0.1', clientId: 'a', password: KEY, username: 'a' },
    will: { topic: 'fleet/a/status', payload: Buffer.from('gone'), qos: 1, retain: true },
  })
  const received: string[] = []
  client.on('message', (topic, payload) => received.push(`${topic} ${payload}`))
  await client.subscribeAsync('fleet/a/provision/+', { qos: 1 })
  await client.publishAsync(GET, '{"name":"A"}', { qos: 1 })
  await until(() => received.length === 1, 'the answer')
  expect(received).toEqual([`${ACCEPTED} token of a`])
  expect(host.asked).toEqual(['{"name":"A"}'])
  expect(stage.broker.isConnected('a' as never)).toBe(false)
  await client.endAsync(true)
  expect([host.events, stage.broker.counts().connected]).toEqual([[], 0])
})

test('a device with a key may do nothing else', async () => {
  for (const topic of ['fleet/a/telemetry', 'fleet/a/status', 'fleet/b/provision/get']) {
    const device = await enter()
    device.publish(topic, '{}', { qos: 1 })
    await until(() => device.isClosed, `${topic} to end the connection`)
  }
  const device = await enter()
  const subscriptions = ['fleet/b/#', '#', 'fleet/+/provision/accepted', 'fleet/a/provision/+']
  device.sendPacket({
    ...{ cmd: 'subscribe', messageId: 1 },
    subscriptions: subscriptions.map((topic) => ({ topic, qos: 1 as const })),
  })
  await until(() => device.all('suback').length > 0, 'SUBACK')
  expect(device.all('suback')[0]?.granted).toEqual([0x80, 0x80, 0x80, 1])
  expect([host.asked, host.events]).toEqual([[], []])
})

test('a device that could not be told is asked to subscribe, before it takes a place', async () => {
  const device = await connectV5(stage.port, 'a', { password: KEY, username: 'a' })
  device.publish(GET, '', { qos: 1 })
  await until(() => device.isClosed, 'the end')
  expect(device.all('disconnect')[0]?.properties?.reasonString).toContain('subscribe to provision/accepted')
  expect(host.asked).toEqual([])
})

test('a message for another device is refused by its acknowledgement in MQTT 5, and the connection goes on', async () => {
  const device = await connectV5(stage.port, 'a', { password: KEY, username: 'a' })
  await subscribeV5(device, { topic: 'fleet/a/provision/+', qos: 1 })
  device.publish('fleet/b/provision/get', '{}', { qos: 1 })
  device.publish(GET, '{}', { qos: 1 })
  await until(() => device.all('puback').length === 2, 'both acknowledgements')
  expect(device.all('puback').map(({ reasonCode }) => reasonCode)).toEqual([0x87, 0])
  await ping(device)
  expect(host.asked).toEqual(['{}'])
})

test('a connection with a key neither takes over the device nor is told what it is', async () => {
  const live = await RawDevice.connect(stage.port, 'a', {})
  const guest = await enter()
  await until(() => guest.connack !== undefined, 'CONNACK')
  guest.sendPacket({ cmd: 'subscribe', messageId: 1, subscriptions: [{ topic: 'fleet/a/#', qos: 1 }] })
  await until(() => guest.all('suback').length > 0, 'SUBACK')
  await stage.broker.publish({
    ...{ deviceId: 'a' as never, suffix: 'shadow/desired', payload: Buffer.from('{}') },
    ...{ qos: 1, retain: true },
  })
  guest.sendPacket({ cmd: 'subscribe', messageId: 2, subscriptions: [{ topic: 'fleet/a/+', qos: 1 }] })
  await until(() => guest.all('suback').length > 1, 'another SUBACK')
  expect(guest.all('publish')).toEqual([])
  expect([live.isClosed, stage.broker.counts().connected]).toEqual([false, 1])
})

test('connections with keys, their questions and their time are bounded', async () => {
  const device = await enter()
  device.sendPacket({
    cmd: 'subscribe',
    messageId: 1,
    subscriptions: [{ topic: 'fleet/a/provision/+', qos: 1 }],
  })
  for (let i = 0; i <= LIMITS.provisioningAsksMax; i++) device.publish(GET, '', { qos: 1 })
  await until(() => device.isClosed, 'the end after too many questions')
  expect(host.asked).toHaveLength(LIMITS.provisioningAsksMax)
  const others = await Promise.all(
    Array.from({ length: LIMITS.provisioningSessionsMax }, (_, i) => enter(`d${i}`)),
  )
  const beyond = await enter('beyond')
  expect([others.at(-1)?.connack?.returnCode, beyond.connack?.returnCode]).toEqual([0, 3])
  stage.pass(LIMITS.provisioningSessionMs)
  await until(() => others.every(({ isClosed }) => isClosed), 'all to be over')
  expect((await enter('beyond')).connack?.returnCode).toBe(0)
})
