import { Buffer } from 'node:buffer'
import { connect, createServer } from 'node:net'
import mqttJs from 'mqtt'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Millis } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import { Fault } from '../../../ports/fault.ts'
import { downlink } from '../testing/contract-world.ts'
import { openStage, type Stage } from '../testing/embedded-broker.ts'
import { FakeHost, PASSWORD, until } from '../testing/fake-host.ts'
import { RawDevice } from '../testing/raw-device.ts'
import { EmbeddedBroker } from './embedded.ts'

let stage: Stage
beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.broker.close())

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

test.each(['192.0.2.1', 'nowhere.invalid'])(
  '%s, which this machine does not have, is a fault that names FLEET_HOST',
  async (host) => {
    const broker = new EmbeddedBroker({ host, port: 0, clock: { now: () => Millis(0), ticks: () => 0 } })
    await expect(broker.listen(new FakeHost())).rejects.toMatchObject({
      code: 'BROKER_UNAVAILABLE',
      message: `this machine has no address ${host}; set FLEET_HOST to one it has`,
    })
    await broker.close()
  },
)

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
  expect(stage.host.listeners).toHaveLength(1)
  await client.unsubscribeAsync('fleet/a/command')
  expect(stage.host.listeners).toEqual([])
  expect(await stage.broker.publish(downlink())).toBe(false)
  await client.endAsync()
  await until(() => stage.host.causes().length === 1, 'closed')
  expect(stage.host.causes()).toEqual(['disconnect'])
})

test('connections beyond what fits are told once a minute, with their number', async () => {
  const told: (readonly number[])[] = []
  const full = await openStage({ openFilesMax: 4, turnedAway: (...counts) => told.push(counts) })
  try {
    for (const id of ['a', 'b']) await RawDevice.connect(full.port, id)
    const turnedAway = async (count: number) => {
      const before = full.broker.counts().denied
      for (let i = 0; i < count; i++) connect(full.port, '127.0.0.1').on('error', () => {})
      await until(() => full.broker.counts().denied === before + count, 'all to be closed')
    }
    await turnedAway(3)
    full.pass(1_000)
    expect(told).toEqual([[3, 2]])
    await turnedAway(2)
    full.pass(30_000)
    expect(told).toHaveLength(1)
    full.pass(30_000)
    expect(told).toEqual([
      [3, 2],
      [2, 2],
    ])
  } finally {
    await full.broker.close()
  }
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

  test('a silent session ends after one and a half times its keep-alive', async () => {
    const passed = await silenceUntilClosed(60, 500)
    expect(passed).toBeGreaterThanOrEqual(90_000)
    expect(passed).toBeLessThanOrEqual(91_000)
  })

  test.each([0, 65_535])('a keep-alive of %i seconds counts as the longest allowed', async (keepalive) => {
    const passed = await silenceUntilClosed(keepalive, 1_000)
    expect(passed).toBeGreaterThanOrEqual(LIMITS.keepAliveSecMax * 1_500)
    expect(passed).toBeLessThanOrEqual(LIMITS.keepAliveSecMax * 1_500 + 2_000)
  })

  test('any packet counts as a sign of life', async () => {
    const device = await RawDevice.connect(stage.port, 'a', { keepalive: 10 })
    for (let round = 1; round <= 5; round++) {
      stage.pass(14_000)
      device.send(Buffer.from([0xc0, 0x00]))
      await until(() => device.all('pingresp').length === round, 'PINGRESP')
    }
    expect(stage.host.causes()).toEqual([])
  })

  test('time in which the broker itself slept is not counted as silence', async () => {
    const device = await RawDevice.connect(stage.port, 'a', { keepalive: 10 })
    stage.sleep(600_000)
    expect(stage.host.causes()).toEqual([])
    expect(device.isClosed).toBe(false)
  })

  test('time in which the broker does not read the device is not counted as silence', async () => {
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

test('a device is announced once when a tenth of its token’s time is left, and cut at the end', async () => {
  const expiresAt = Millis(1_000_000 + 10_000)
  stage.host.admissions.set('a', { expiresAt, tokenSec: 100 })
  const device = await RawDevice.connect(stage.port, 'a')
  stage.host.admissions.set('b', { expiresAt: Millis(1_000_000 + 20_000), tokenSec: 100 })
  await RawDevice.connect(stage.port, 'b')
  stage.pass(1_000)
  expect(stage.host.expiries).toEqual([`a ${expiresAt}`])
  stage.pass(9_000)
  await device.closed()
  stage.pass(1_000)
  expect(stage.host.expiries).toHaveLength(2)
})
