import { Buffer } from 'node:buffer'
import type { IConnectPacket } from 'mqtt-packet'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Millis } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import { downlink } from '../testing/contract-world.ts'
import { connectV5, ping, subscribeV5 as subscribe } from '../testing/device-v5.ts'
import { openStage, type Stage } from '../testing/embedded-broker.ts'
import { until } from '../testing/fake-host.ts'
import { RawDevice } from '../testing/raw-device.ts'
import { REASON } from './reasons.ts'

let stage: Stage
beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.broker.close())

const TOPIC = 'fleet/a/telemetry'

const connect = (id?: string, more?: Partial<IConnectPacket>) => connectV5(stage.port, id, more)

describe('subscriptions', () => {
  test('each filter has its own reason', async () => {
    const device = await connect()
    const suback = await subscribe(
      device,
      { topic: 'fleet/a/command', qos: 1 },
      { topic: 'fleet/b/command', qos: 1 },
      { topic: '$share/g/fleet/a/command', qos: 1 },
      { topic: 'fleet/a/#/x', qos: 1 },
    )
    expect(suback?.granted).toEqual([1, REASON.notAuthorized, REASON.sharedSubscription, REASON.badFilter])
    expect(suback?.properties?.reasonString).toContain('fleet/{device_id}/')
    const unsubscriptions = ['fleet/a/command', 'fleet/a/command']
    device.sendPacket({ cmd: 'unsubscribe', messageId: 7, unsubscriptions })
    await until(() => device.all('unsuback').length === 1, 'UNSUBACK')
    expect(device.all('unsuback')[0]).toMatchObject({ granted: [0, REASON.noSubscription] })
  })

  test('the subscription beyond the limit has a reason of its own', async () => {
    const device = await connect()
    for (let index = 0; index < LIMITS.subscriptionsPerSessionMax; index++)
      await subscribe(device, { topic: `fleet/a/x${index}`, qos: 0 })
    expect((await subscribe(device, { topic: 'fleet/a/more', qos: 0 }))?.granted).toEqual([REASON.quota])
  })

  test('a subscription identifier ends the session with its reason', async () => {
    const device = await connect()
    device.sendPacket({
      cmd: 'subscribe',
      messageId: 1,
      subscriptions: [{ topic: 'fleet/a/#', qos: 0 }],
      properties: { subscriptionIdentifier: 5 },
    })
    await device.closed()
    expect(device.all('disconnect')[0]?.reasonCode).toBe(REASON.subscriptionId)
  })

  test('a device does not hear itself where it asks not to', async () => {
    const device = await connect()
    await subscribe(device, { topic: 'fleet/a/#', qos: 0, nl: true })
    device.publish(TOPIC, 'own')
    await until(() => device.all('puback').length === 1, 'PUBACK')
    await stage.broker.publish(downlink({ suffix: 'shadow/delta', qos: 0 }))
    await until(() => device.received().length > 0, 'the downlink')
    expect(device.received().map(({ topic }) => topic)).toEqual(['fleet/a/shadow/delta'])
  })

  test('what the device publishes comes back with its properties, and with its retain flag where it asks for it', async () => {
    const device = await connect()
    await subscribe(device, { topic: 'fleet/a/status', qos: 1, rap: true })
    const properties = {
      userProperties: { trace: 'x', other: 'y' },
      contentType: 'text/plain',
      messageExpiryInterval: 60,
    }
    device.publish('fleet/a/status', 'on', { retain: true, properties })
    await until(() => device.all('publish').length === 1, 'the echo')
    expect(device.all('publish')[0]).toMatchObject({ retain: true, properties })
  })

  test('retained messages come always, for a new subscription only, or never', async () => {
    const device = await connect()
    device.publish('fleet/a/status', 'on', { retain: true })
    await until(() => device.all('puback').length === 1, 'PUBACK')
    const received = async (rh: 0 | 1 | 2) => {
      const before = device.received().length
      await subscribe(device, { topic: 'fleet/a/status', qos: 0, rh })
      await ping(device)
      return device.received().length - before
    }
    expect(await received(2)).toBe(0)
    expect(await received(1)).toBe(0)
    expect(await received(0)).toBe(1)
    device.sendPacket({ cmd: 'unsubscribe', messageId: 7, unsubscriptions: ['fleet/a/status'] })
    expect(await received(1)).toBe(1)
  })
})

describe('a message to a device', () => {
  test('a command says where the answer belongs, and how long it is good', async () => {
    const device = await connect()
    await subscribe(device, { topic: 'fleet/a/command', qos: 1 })
    const request = { suffix: 'command/ack', correlation: 'cmd_1' }
    void stage.broker.publish(downlink({ request, expiresAt: Millis(1_000_000 + 4_200) }))
    await until(() => device.all('publish').length === 1, 'the command')
    expect(device.all('publish')[0]?.properties).toEqual({
      responseTopic: 'fleet/a/command/ack',
      correlationData: Buffer.from('cmd_1'),
      messageExpiryInterval: 4,
    })
  })

  test('a device of MQTT 3.1.1 gets the same command without properties', async () => {
    const device = await RawDevice.connect(stage.port, 'a')
    await device.subscribe('fleet/a/command')
    const request = { suffix: 'command/ack', correlation: 'cmd_1' }
    void stage.broker.publish(downlink({ request, expiresAt: Millis(9_000_000) }))
    await until(() => device.received().length === 1, 'the command')
    expect(device.received()[0]?.text).toBe('go')
  })

  test('no more messages are under way than the device takes', async () => {
    const device = await connect('a', { properties: { receiveMaximum: 2 } })
    await subscribe(device, { topic: 'fleet/a/#', qos: 1 })
    for (let index = 0; index < 5; index++) void stage.broker.publish(downlink({}, `${index}`))
    await until(() => device.received().length === 2, 'the first two')
    await ping(device)
    expect(device.received()).toHaveLength(2)
    device.sendPacket({ cmd: 'puback', messageId: device.all('publish')[0]?.messageId ?? 0 })
    await until(() => device.received().length === 3, 'the third')
  })

  test('no more messages are sent again at once than the device takes on its new connection', async () => {
    const properties = { sessionExpiryInterval: 60 }
    const before = await connect('a', { clean: false, properties })
    await subscribe(before, { topic: 'fleet/a/#', qos: 1 })
    const suffix = 'shadow/reported/accepted'
    for (let index = 0; index < 5; index++) void stage.broker.publish(downlink({ suffix }, `${index}`))
    await until(() => before.received().length === 5, 'all of them')
    const device = await connect('a', { clean: false, properties: { ...properties, receiveMaximum: 2 } })
    await until(() => device.received().length === 2, 'the first two')
    await ping(device)
    expect(device.received()).toHaveLength(2)
    for (let index = 0; index < 5; index++) {
      await until(() => device.received().length > index, 'the next one')
      device.sendPacket({ cmd: 'puback', messageId: device.all('publish')[index]?.messageId ?? 0 })
    }
    expect(device.received().map(({ text }) => text)).toEqual(['0', '1', '2', '3', '4'])
  })

  test('a message larger than the device takes is not sent, and the next one is', async () => {
    const device = await connect('a', { properties: { maximumPacketSize: 200 } })
    await subscribe(device, { topic: 'fleet/a/#', qos: 1 })
    expect(await stage.broker.publish(downlink({}, 'x'.repeat(300)))).toBe(false)
    void stage.broker.publish(downlink({}, 'small'))
    await until(() => device.received().length === 1, 'the small one')
    expect(device.received()[0]?.text).toBe('small')
  })

  test('a device may refuse a message by its reason code', async () => {
    const device = await connect()
    await subscribe(device, { topic: 'fleet/a/#', qos: 2 })
    const [one, two] = [stage.broker.publish(downlink({})), stage.broker.publish(downlink({ qos: 2 }))]
    await until(() => device.all('publish').length === 2, 'both')
    const [first, second] = device.all('publish')
    device.sendPacket({ cmd: 'puback', messageId: first?.messageId ?? 0, reasonCode: 0x83 })
    device.sendPacket({ cmd: 'pubrec', messageId: second?.messageId ?? 0, reasonCode: 0x83 })
    expect(await Promise.all([one, two])).toEqual([false, false])
  })
})
