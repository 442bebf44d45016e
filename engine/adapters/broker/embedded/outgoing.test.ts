import { Buffer } from 'node:buffer'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LIMITS } from '../../../limits.ts'
import { deviceId, downlink } from '../testing/contract-world.ts'
import { openStage, type Stage } from '../testing/embedded-broker.ts'
import { until } from '../testing/fake-host.ts'
import { RawDevice } from '../testing/raw-device.ts'

let stage: Stage
beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.broker.close())

const a = deviceId('a')

test('a subscriber that does not read delays nobody, and is cut', async () => {
  const frozen = await RawDevice.connect(stage.port, 'a')
  await frozen.subscribe('fleet/a/#')
  frozen.socket.pause()
  const other = await RawDevice.connect(stage.port, 'b')
  await other.subscribe({ topic: 'fleet/b/#', qos: 0 })
  const payload = Buffer.alloc(64 * 1024)
  for (let round = 0; round < 300; round++) {
    void stage.broker.publish({ deviceId: a, suffix: 'command', payload, qos: 1, retain: false })
    // It would never resolve if it waited for the one that does not read.
    expect(await stage.broker.publish(downlink({ deviceId: deviceId('b'), qos: 0 }))).toBe(true)
  }
  await until(() => stage.host.causes('a').length === 1, 'the frozen one to be cut')
  expect(stage.host.causes('a')).toEqual(['abuse'])
  expect(stage.broker.counts().cutFrozen).toBe(1)
  await until(() => other.received().length === 300, 'everything for the other')
})

test.each([
  ['PINGREQ', [0xc0, 0]],
  ['PUBREL', [0x62, 2, 0, 9]],
])('a device that sends %s without end and takes no answers is cut', async (_, packet) => {
  const device = await RawDevice.connect(stage.port, 'a')
  device.socket.pause()
  const many = Buffer.from(Array.from({ length: 16_384 }, () => packet).flat())
  while (stage.host.causes('a').length === 0)
    await new Promise((resolve) => device.socket.write(many, resolve))
  expect(stage.host.causes('a')).toEqual(['abuse'])
  expect(stage.broker.counts().cutFrozen).toBe(1)
})

test('a message that was not acknowledged is sent again on the next connection, with DUP and the same id', async () => {
  const device = await RawDevice.connect(stage.port, 'a', { clean: false })
  await device.subscribe('fleet/a/shadow/delta')
  const sent = stage.broker.publish(downlink({ suffix: 'shadow/delta' }))
  await until(() => device.received().length === 1, 'the downlink')
  device.drop()
  expect(await sent).toBe(false)
  const later = await RawDevice.connect(stage.port, 'a', { clean: false })
  expect(later.connack?.sessionPresent).toBe(true)
  await until(() => later.received().length === 1, 'the repeat')
  expect(later.received()).toMatchObject([{ text: 'go', dup: true, qos: 1 }])
  expect(later.all('publish')[0]?.messageId).toBe(device.all('publish')[0]?.messageId)
  later.sendPacket({ cmd: 'puback', messageId: later.all('publish')[0]?.messageId ?? 0 })
  later.sendPacket({ cmd: 'disconnect' })
  await later.closed()
  const last = await RawDevice.connect(stage.port, 'a', { clean: false })
  await last.subscribe('fleet/a/shadow/delta')
  expect(last.received()).toEqual([])
})

test('a device with the largest backlog is not mistaken for frozen', async () => {
  const device = await RawDevice.connect(stage.port, 'a', { clean: false })
  await device.subscribe('fleet/a/shadow/delta')
  device.drop()
  await until(() => stage.host.causes().length === 1, 'closed')
  const payload = Buffer.alloc(100 * 1024)
  for (let index = 0; index < 20; index++)
    await stage.broker.publish(downlink({ suffix: 'shadow/delta', payload }))
  const later = await RawDevice.connect(stage.port, 'a', { clean: false })
  const kept = Math.floor(LIMITS.offlineQueueBytesMax / (100 * 1024))
  await until(() => later.received().length === kept, 'the backlog')
  expect(stage.host.causes()).toEqual(['lost'])
})

test('a SUBSCRIBE is answered filter by filter, and a refused filter is not remembered', async () => {
  const device = await RawDevice.connect(stage.port, 'a', { clean: false })
  expect(
    await device.subscribe('fleet/b/#', 'fleet/a/command', '#', { topic: 'fleet/a/ota', qos: 2 }),
  ).toEqual([128, 1, 128, 2])
  device.drop()
  await stage.broker.publish({
    deviceId: deviceId('b'),
    suffix: 'command',
    payload: Buffer.from('x'),
    qos: 1,
    retain: false,
  })
  const later = await RawDevice.connect(stage.port, 'a', { clean: false })
  expect(await stage.broker.publish(downlink({ qos: 0 }))).toBe(true)
  await until(() => later.received().length > 0, 'the command')
  expect(later.received().map(({ topic }) => topic)).toEqual(['fleet/a/command'])
})

test('a device subscribed to all its topics gets a fast stream back whole and in order', async () => {
  const device = await RawDevice.connect(stage.port, 'a')
  await device.subscribe({ topic: 'fleet/a/#', qos: 0 })
  const count = 3_000
  for (let index = 0; index < count; index++) device.publish('fleet/a/telemetry', `${index}`)
  await until(() => device.received().length === count, 'the echo', 60_000)
  expect(device.received().map(({ text }) => Number(text))).toEqual(
    Array.from({ length: count }, (_, index) => index),
  )
})

test('a device that subscribes without end is granted no more than the limit', async () => {
  const device = await RawDevice.connect(stage.port, 'a')
  for (let index = 0; index < 3_000; index++) {
    device.sendPacket({
      cmd: 'subscribe',
      messageId: (index % 60_000) + 1,
      subscriptions: [{ topic: `fleet/a/t${index}`, qos: 1 }],
    })
  }
  await until(() => device.all('suback').length === 3_000, 'every SUBACK')
  const granted = device.all('suback').filter((packet) => packet.granted[0] !== 128)
  expect(granted).toHaveLength(LIMITS.subscriptionsPerSessionMax)
})

test('a packet with more filters than a session may have ends it', async () => {
  const device = await RawDevice.connect(stage.port, 'a')
  const filters = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ topic: `fleet/a/t${i}`, qos: 1 as const }))
  device.sendPacket({
    cmd: 'subscribe',
    messageId: 1,
    subscriptions: filters(LIMITS.subscriptionsPerSessionMax),
  })
  await until(() => device.all('suback').length === 1, 'SUBACK')
  device.sendPacket({
    cmd: 'subscribe',
    messageId: 2,
    subscriptions: filters(LIMITS.subscriptionsPerSessionMax + 1),
  })
  await until(() => device.isClosed, 'the end of the session')
})

test('what a device retains is bounded, and what no longer is the latest is not kept', async () => {
  const device = await RawDevice.connect(stage.port, 'a')
  const say = async (suffix: string, bytes: number) => {
    const messageId = device.all('puback').length + 1
    const payload = Buffer.alloc(bytes, 'x')
    device.sendPacket({
      cmd: 'publish',
      topic: `fleet/a/${suffix}`,
      payload,
      qos: 1,
      retain: true,
      messageId,
      dup: false,
    })
    await until(() => device.all('puback').length === messageId, 'PUBACK')
  }
  const kept = async () => {
    const later = await RawDevice.connect(stage.port, 'a')
    await later.subscribe('fleet/a/#')
    await stage.broker.publish(downlink({ qos: 0 }, 'last'))
    await until(() => later.received().some(({ text }) => text === 'last'), 'the last message')
    return later.received().flatMap(({ topic, retain }) => (retain ? [topic] : []))
  }
  await say('status', LIMITS.retainedBytesPerDeviceMax / 2)
  await say('shadow/reported', LIMITS.retainedBytesPerDeviceMax / 2)
  await say('shadow/reported', LIMITS.retainedBytesPerDeviceMax / 2 + 1)
  expect(await kept()).toEqual(['fleet/a/status'])
})

test('a filter that is named twice is answered twice, and what is retained on it is sent once', async () => {
  await stage.broker.publish(downlink({ suffix: 'shadow/desired', retain: true }))
  const device = await RawDevice.connect(stage.port, 'a')
  expect(await device.subscribe('fleet/a/shadow/desired', 'fleet/a/shadow/desired', 'fleet/a/#')).toEqual([
    1, 1, 1,
  ])
  expect(await stage.broker.publish(downlink({ qos: 0 }, 'last'))).toBe(true)
  await until(() => device.received().some(({ text }) => text === 'last'), 'the last message')
  expect(device.received().map(({ text, retain }) => [text, retain])).toEqual([
    ['go', true],
    ['last', false],
  ])
})

test.each(['command', 'ota'])(
  'a %s of QoS 2 that the device has received is released on the next connection, not sent again',
  async (suffix) => {
    const device = await RawDevice.connect(stage.port, 'a', { clean: false })
    await device.subscribe({ topic: 'fleet/a/#', qos: 2 })
    const sent = stage.broker.publish(downlink({ suffix, qos: 2 }))
    await until(() => device.received().length === 1, 'the message')
    const messageId = device.all('publish')[0]?.messageId ?? 0
    device.sendPacket({ cmd: 'pubrec', messageId })
    await until(() => device.all('pubrel').length === 1, 'PUBREL')
    device.drop()
    expect(await sent).toBe(false)
    const later = await RawDevice.connect(stage.port, 'a', { clean: false })
    await until(() => later.all('pubrel').length === 1, 'PUBREL again')
    expect(later.all('pubrel')[0]?.messageId).toBe(messageId)
    later.sendPacket({ cmd: 'pubcomp', messageId })
    later.sendPacket({ cmd: 'disconnect' })
    await later.closed()
    const last = await RawDevice.connect(stage.port, 'a', { clean: false })
    await last.subscribe('fleet/a/other')
    expect(last.packets.map(({ cmd }) => cmd)).toEqual(['connack', 'suback'])
  },
)

test('a PUBREC for an id that is not in use is answered, so that the device can let go of it', async () => {
  const device = await RawDevice.connect(stage.port, 'a')
  await device.subscribe('fleet/a/#')
  device.sendPacket({ cmd: 'pubrec', messageId: 77 })
  await until(() => device.all('pubrel').length === 1, 'PUBREL')
  expect(device.all('pubrel')[0]?.messageId).toBe(77)
})

test('a gateway is sent all that is retained for its sub-devices, also when it is more than may usually wait', async () => {
  const payload = Buffer.alloc(4 * 1024, 0x61)
  const count = (LIMITS.sessionOutBytesMax * 2) / payload.length
  for (let index = 0; index < count; index++)
    await stage.broker.publish(downlink({ suffix: `sub/d${index}/shadow/desired`, payload, retain: true }))
  const device = await RawDevice.connect(stage.port, 'a')
  await device.subscribe('fleet/a/sub/+/shadow/desired')
  await until(() => device.received().length === count, 'everything')
  expect(stage.host.causes()).toEqual([])
})

test('a device that acknowledges nothing is sent a bounded number of messages; the others wait for its answers', async () => {
  const device = await RawDevice.connect(stage.port, 'a')
  await device.subscribe('fleet/a/#')
  const count = LIMITS.sessionUnackedMax + 10
  const sent = Array.from({ length: count }, () => stage.broker.publish(downlink({}, '')))
  await until(() => device.received().length >= LIMITS.sessionUnackedMax, 'what may be sent', 60_000)
  device.send(Buffer.from([0xc0, 0x00]))
  await until(() => device.all('pingresp').length === 1, 'PINGRESP')
  expect(device.received()).toHaveLength(LIMITS.sessionUnackedMax)
  for (const { messageId = 0 } of device.all('publish')) device.sendPacket({ cmd: 'puback', messageId })
  await until(() => device.received().length === count, 'the others')
  for (const { messageId = 0 } of device.all('publish').slice(-10))
    device.sendPacket({ cmd: 'puback', messageId })
  expect(new Set(await Promise.all(sent))).toEqual(new Set([true]))
})
