import { Buffer } from 'node:buffer'
import { createServer } from 'node:net'
import mqttJs from 'mqtt'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Millis } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import { Fault } from '../../../ports/fault.ts'
import { deviceId, downlink } from '../testing/contract-world.ts'
import { openStage, type Stage } from '../testing/embedded-broker.ts'
import { FakeHost, PASSWORD, until } from '../testing/fake-host.ts'
import { RawDevice } from '../testing/raw-device.ts'
import { EmbeddedBroker } from './embedded.ts'

let stage: Stage
beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.broker.close())

const a = deviceId('a')
const will = { topic: 'fleet/a/status', payload: Buffer.from('gone'), qos: 1, retain: false } as const

test('a port in use is a fault that names the port', async () => {
  const other = createServer()
  const port = await new Promise<number>((resolve) => {
    other.listen(0, '127.0.0.1', () => {
      const address = other.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
  const broker = new EmbeddedBroker({
    host: '127.0.0.1',
    port,
    clock: { now: () => Millis(0), ticks: () => 0 },
  })
  const error = await broker.listen(new FakeHost()).catch((fault: unknown) => fault)
  expect(error).toBeInstanceOf(Fault)
  expect(error).toMatchObject({ code: 'PORT_IN_USE', message: expect.stringContaining(`${port}`) })
  await broker.close()
  await new Promise((resolve) => other.close(resolve))
})

test('a common client library works as it is', async () => {
  const client = await mqttJs.connectAsync({
    port: stage.port,
    host: '127.0.0.1',
    clientId: 'a',
    password: PASSWORD,
    username: 'a',
    protocolVersion: 4,
  })
  const granted = await client.subscribeAsync(['fleet/a/command', 'fleet/a/shadow/+'], { qos: 1 })
  expect(granted.map(({ qos }) => qos)).toEqual([1, 1])
  const received: string[] = []
  client.on('message', (topic, payload) => received.push(`${topic} ${payload}`))
  for (const qos of [0, 1, 2] as const) await client.publishAsync('fleet/a/telemetry', `q${qos}`, { qos })
  for (const qos of [0, 1, 2] as const)
    expect(await stage.broker.publish(downlink({ qos }, `d${qos}`))).toBe(true)
  await until(() => received.length === 3, 'the downlinks')
  expect(stage.host.texts()).toEqual(['q0', 'q1', 'q2'])
  await client.unsubscribeAsync('fleet/a/command')
  expect(await stage.broker.publish(downlink())).toBe(false)
  await client.endAsync()
  await until(() => stage.host.causes().length === 1, 'closed')
  expect(stage.host.causes()).toEqual(['disconnect'])
})

test('1 000 takeovers leave no will and exactly one live session', async () => {
  const rounds = 1_000
  let last: RawDevice | undefined
  for (let round = 0; round < rounds; round++) {
    last = await RawDevice.connect(stage.port, 'a', { will, clean: round % 2 === 0 })
    if (round % 100 === 0) await last.subscribe('fleet/a/command')
  }
  await until(() => stage.host.causes().length === rounds - 1, 'all earlier sessions to be closed')
  expect(new Set(stage.host.causes())).toEqual(new Set(['takeover']))
  expect(stage.host.messages()).toEqual([])
  expect(stage.broker.counts().connected).toBe(1)
  await last?.subscribe('fleet/a/command')
  const sent = stage.broker.publish(downlink({ qos: 0 }))
  expect(await sent).toBe(true)
})

describe('keep-alive', () => {
  async function silenceUntilClosed(keepalive: number, step: number): Promise<number> {
    const device = await RawDevice.connect(stage.port, 'a', { keepalive, will })
    let passed = 0
    while (stage.host.causes().length === 0 && passed < 10_000_000) {
      stage.pass(step)
      passed += step
    }
    await device.closed()
    expect(stage.host.causes()).toEqual(['keepalive'])
    expect(stage.host.texts()).toEqual(['gone'])
    return passed
  }

  test('ends a silent session after one and a half times its interval', async () => {
    const passed = await silenceUntilClosed(60, 500)
    expect(passed).toBeGreaterThanOrEqual(90_000)
    expect(passed).toBeLessThanOrEqual(91_000)
  })

  test.each([0, 65_535])('of %i seconds counts as the longest allowed', async (keepalive) => {
    const passed = await silenceUntilClosed(keepalive, 1_000)
    expect(passed).toBeGreaterThanOrEqual(LIMITS.keepAliveSecMax * 1_500)
    expect(passed).toBeLessThanOrEqual(LIMITS.keepAliveSecMax * 1_500 + 2_000)
  })

  test('is served by any packet', async () => {
    const device = await RawDevice.connect(stage.port, 'a', { keepalive: 10 })
    for (let round = 1; round <= 5; round++) {
      stage.pass(14_000)
      device.send(Buffer.from([0xc0, 0x00]))
      await until(() => device.all('pingresp').length === round, 'PINGRESP')
    }
    expect(stage.host.causes()).toEqual([])
  })

  test('does not count the time in which the broker itself slept', async () => {
    const device = await RawDevice.connect(stage.port, 'a', { keepalive: 10 })
    stage.sleep(600_000)
    expect(stage.host.causes()).toEqual([])
    expect(device.isClosed).toBe(false)
  })

  test('does not count the time in which the broker does not read the device', async () => {
    stage.host.isHolding = true
    const device = await RawDevice.connect(stage.port, 'a', { keepalive: 10 })
    for (let index = 0; index < LIMITS.sessionPendingMax + 1; index++)
      device.publish('fleet/a/telemetry', '', { qos: 0 })
    await until(() => stage.host.messages().length === LIMITS.sessionPendingMax, 'what is pending')
    stage.pass(60_000)
    expect(stage.host.causes()).toEqual([])
  })
})

test('a session is cut without a will when its token expires, within the bound', async () => {
  stage.host.admissions.set('a', { expiresAt: Millis(1_060_000) })
  const device = await RawDevice.connect(stage.port, 'a', { will })
  stage.pass(59_000)
  expect(stage.host.causes()).toEqual([])
  stage.pass(1_000 + LIMITS.revocationMs)
  await device.closed()
  expect(stage.host.causes()).toEqual(['expired'])
  expect(stage.host.messages()).toEqual([])
})

describe('subscribers', () => {
  test('one that does not read delays nobody, and is cut', async () => {
    const frozen = await RawDevice.connect(stage.port, 'a')
    await frozen.subscribe('fleet/a/#')
    frozen.socket.pause()
    const other = await RawDevice.connect(stage.port, 'b')
    await other.subscribe({ topic: 'fleet/b/#', qos: 0 })
    const payload = Buffer.alloc(64 * 1024)
    let slowest = 0
    for (let round = 0; round < 300; round++) {
      void stage.broker.publish({ deviceId: a, suffix: 'command', payload, qos: 1, retain: false })
      const started = performance.now()
      expect(await stage.broker.publish(downlink({ deviceId: deviceId('b'), qos: 0 }))).toBe(true)
      slowest = Math.max(slowest, performance.now() - started)
    }
    expect(slowest).toBeLessThan(1_500)
    await until(() => stage.host.causes('a').length === 1, 'the frozen one to be cut')
    expect(stage.host.causes('a')).toEqual(['abuse'])
    expect(stage.broker.counts().cutFrozen).toBe(1)
    await until(() => other.received().length === 300, 'everything for the other')
  })

  test('get what they have not acknowledged again when they come back, marked as repeated', async () => {
    const device = await RawDevice.connect(stage.port, 'a', { clean: false })
    await device.subscribe('fleet/a/ota')
    const sent = stage.broker.publish(downlink({ suffix: 'ota' }))
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
    await last.subscribe('fleet/a/ota')
    expect(last.received()).toEqual([])
  })

  test('with the largest backlog are not mistaken for frozen', async () => {
    const device = await RawDevice.connect(stage.port, 'a', { clean: false })
    await device.subscribe('fleet/a/ota')
    device.drop()
    await until(() => stage.host.causes().length === 1, 'closed')
    const payload = Buffer.alloc(100 * 1024)
    for (let index = 0; index < 20; index++) await stage.broker.publish(downlink({ suffix: 'ota', payload }))
    const later = await RawDevice.connect(stage.port, 'a', { clean: false })
    const kept = Math.floor(LIMITS.offlineQueueBytesMax / (100 * 1024))
    await until(() => later.received().length === kept, 'the backlog')
    expect(stage.host.causes()).toEqual(['lost'])
  })

  test('are each told which of their filters are granted', async () => {
    const device = await RawDevice.connect(stage.port, 'a', { clean: false })
    expect(
      await device.subscribe('fleet/b/#', 'fleet/a/command', '#', { topic: 'fleet/a/ota', qos: 2 }),
    ).toEqual([128, 1, 128, 2])
    device.drop()
    // A denied filter is not remembered either.
    await stage.broker.publish({
      deviceId: deviceId('b'),
      suffix: 'command',
      payload: Buffer.from('x'),
      qos: 1,
      retain: false,
    })
    const later = await RawDevice.connect(stage.port, 'a', { clean: false })
    expect(await stage.broker.publish(downlink({ qos: 0 }))).toBe(true)
    expect(later.received().map(({ topic }) => topic)).toEqual(['fleet/a/command'])
  })

  test('to everything of their own get a fast stream back whole and in order', async () => {
    const device = await RawDevice.connect(stage.port, 'a')
    await device.subscribe({ topic: 'fleet/a/#', qos: 0 })
    const count = 3_000
    for (let index = 0; index < count; index++) device.publish('fleet/a/telemetry', `${index}`)
    await until(() => device.received().length === count, 'the echo', 20_000)
    expect(device.received().map(({ text }) => Number(text))).toEqual(
      Array.from({ length: count }, (_, index) => index),
    )
  })

  test('that subscribe without end do not grow the process', async () => {
    const device = await RawDevice.connect(stage.port, 'a')
    for (let index = 0; index < 3_000; index++) {
      device.sendPacket({
        cmd: 'subscribe',
        messageId: (index % 60_000) + 1,
        subscriptions: [{ topic: `fleet/a/t${index}`, qos: 1 }],
      })
    }
    await until(() => device.all('suback').length === 3_000, 'every SUBACK', 20_000)
    const granted = device.all('suback').filter((packet) => packet.granted[0] !== 128)
    expect(granted).toHaveLength(LIMITS.subscriptionsPerSessionMax)
  })
})
