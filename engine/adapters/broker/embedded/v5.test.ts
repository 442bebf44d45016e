import { Buffer } from 'node:buffer'
import type { IConnectPacket } from 'mqtt-packet'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Millis } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import { deviceId, downlink } from '../testing/contract-world.ts'
import { connectV5, ping, subscribeV5 as subscribe } from '../testing/device-v5.ts'
import { openStage, type Stage } from '../testing/embedded-broker.ts'
import { until } from '../testing/fake-host.ts'
import { REASON } from './reasons.ts'

let stage: Stage
beforeEach(async () => {
  stage = await openStage({ sessionsMax: 2 })
})
afterEach(() => stage.broker.close())

const a = deviceId('a')
const TOPIC = 'fleet/a/telemetry'
const will = { topic: 'fleet/a/status', payload: Buffer.from('gone'), qos: 1, retain: false } as const

const connect = (id?: string, more?: Partial<IConnectPacket>) => connectV5(stage.port, id, more)
const lasting = (sessionExpiryInterval: number) => ({ clean: false, properties: { sessionExpiryInterval } })

describe('CONNACK', () => {
  test('an accepted device is told the bounds and what there is not', async () => {
    const device = await connect()
    expect(device.connack).toMatchObject({
      reasonCode: REASON.success,
      sessionPresent: false,
      properties: {
        receiveMaximum: LIMITS.sessionUnreleasedMax,
        maximumPacketSize: LIMITS.packetBytesMax,
        topicAliasMaximum: LIMITS.topicAliasesMax,
        subscriptionIdentifiersAvailable: false,
        sharedSubscriptionAvailable: false,
      },
    })
    expect(device.connack?.properties).not.toHaveProperty('serverKeepAlive')
  })

  test.each([
    [0, LIMITS.keepAliveSecMax],
    [30_000, LIMITS.keepAliveSecMax],
  ])('a keep-alive of %i s becomes one of %i s', async (keepalive, expected) => {
    const device = await connect('a', { keepalive })
    expect(device.connack?.properties?.serverKeepAlive).toBe(expected)
  })

  test('a refusal says why', async () => {
    const device = await connect('a', { password: Buffer.from('wrong') })
    expect(device.connack).toMatchObject({
      reasonCode: REASON.notAuthorized,
      properties: { reasonString: 'wrong password' },
    })
    await device.closed()
  })

  test('one session too many and a will elsewhere are refused with a sentence', async () => {
    const stray = await connect('a', { will: { ...will, topic: 'fleet/b/status' } })
    expect(stray.connack).toMatchObject({
      reasonCode: REASON.notAuthorized,
      properties: { reasonString: expect.stringContaining('will') },
    })
    await connect('a')
    await connect('b')
    expect((await connect('c')).connack?.reasonCode).toBe(REASON.unavailable)
  })

  test('no client id is assigned', async () => {
    const device = await connect('')
    expect(device.connack).toMatchObject({
      reasonCode: REASON.clientId,
      properties: { reasonString: expect.stringContaining('device id') },
    })
  })

  test.each([
    ['an authentication method', { authenticationMethod: 'SCRAM' }, REASON.authenticationMethod],
    ['a receive maximum of 0', { receiveMaximum: 0 }, REASON.protocolError],
    ['a packet size of 0', { maximumPacketSize: 0 }, REASON.protocolError],
  ])('%s is refused', async (_, properties, reason) => {
    const device = await connect('a', { properties })
    expect(device.connack?.reasonCode).toBe(reason)
    await device.closed()
    expect(stage.host.attempts).toEqual([])
  })
})

describe('a message from a device', () => {
  test('the properties of a message do not reach its payload', async () => {
    const device = await connect()
    device.publish(TOPIC, '{"t":1}', {
      properties: {
        userProperties: { trace: 'x' },
        contentType: 'application/json',
        messageExpiryInterval: 9,
      },
    })
    device.publish(TOPIC, '{"t":2}', { qos: 2 })
    await until(() => device.all('puback').length === 1 && device.all('pubrec').length === 1, 'both answers')
    expect(stage.host.texts()).toEqual(['{"t":1}', '{"t":2}'])
  })

  test('a topic may be named by a number once it was named in full', async () => {
    const device = await connect()
    device.publish(TOPIC, 'one', { properties: { topicAlias: 3 } })
    device.publish('', 'two', { properties: { topicAlias: 3 } })
    device.publish('fleet/a/log', 'three', { properties: { topicAlias: 3 } })
    device.publish('', 'four', { properties: { topicAlias: 3 } })
    await until(() => device.all('puback').length === 4, 'all acknowledgements')
    expect(stage.host.messages().map(({ suffix, text }) => `${suffix} ${text}`)).toEqual([
      'telemetry one',
      'telemetry two',
      'log three',
      'log four',
    ])
  })

  test.each([
    ['unknown', '', 3],
    ['0', TOPIC, 0],
    ['too large', TOPIC, LIMITS.topicAliasesMax + 1],
  ])('an alias that is %s ends the session with its reason', async (_, topic, topicAlias) => {
    const device = await connect()
    device.publish(topic, 'x', { properties: { topicAlias } })
    await device.closed()
    expect(device.all('disconnect')[0]?.reasonCode).toBe(REASON.badAlias)
    expect(stage.host.messages()).toEqual([])
  })

  test('a forbidden topic is answered with a reason, in its place, and the session goes on', async () => {
    stage.host.isHolding = true
    const device = await connect()
    device.publish(TOPIC, 'one', { messageId: 1 })
    device.publish('fleet/b/telemetry', 'two', { messageId: 2 })
    device.publish('fleet/b/telemetry', 'three', { messageId: 3, qos: 2 })
    device.publish('fleet/b/telemetry', 'four', { qos: 0 })
    device.publish(TOPIC, 'five', { messageId: 5 })
    await until(() => stage.host.messages().length === 2, 'both messages')
    expect(device.packets).toHaveLength(1)
    stage.host.release()
    await until(() => device.packets.length === 5, 'all answers')
    expect(device.packets.slice(1)).toMatchObject([
      { cmd: 'puback', messageId: 1, reasonCode: 0 },
      {
        cmd: 'puback',
        messageId: 2,
        reasonCode: REASON.notAuthorized,
        properties: { reasonString: expect.stringContaining('fleet/{device_id}/') },
      },
      { cmd: 'pubrec', messageId: 3, reasonCode: REASON.notAuthorized },
      { cmd: 'puback', messageId: 5, reasonCode: 0 },
    ])
    expect(stage.host.refusals).toEqual(['a publish', 'a publish', 'a publish'])
    // The refused id is free at once.
    device.publish(TOPIC, 'six', { messageId: 3, qos: 2 })
    await until(() => stage.host.texts().includes('six'), 'the next message of that id')
  })

  test('a message that is judged useless is handed over, and its answer says what is wrong', async () => {
    stage.host.judge = (suffix) =>
      suffix === 'telemtry'
        ? { kind: 'topic', text: 'nothing takes it' }
        : { kind: 'payload', text: 'not_json: it ends too early' }
    const device = await connect()
    device.publish('fleet/a/telemtry', 'x')
    device.publish(TOPIC, '{')
    await until(() => device.all('puback').length === 2, 'both acknowledgements')
    expect(device.all('puback')).toMatchObject([
      { reasonCode: REASON.badTopic, properties: { reasonString: 'nothing takes it' } },
      { reasonCode: REASON.badFormat, properties: { reasonString: 'not_json: it ends too early' } },
    ])
    expect(stage.host.texts()).toEqual(['x', '{'])
  })

  test('a device that wants no reasons gets none but the code', async () => {
    const device = await connect('a', { properties: { requestProblemInformation: false } })
    device.publish('fleet/b/telemetry', 'x')
    await until(() => device.all('puback').length === 1, 'PUBACK')
    expect(device.all('puback')[0]?.reasonCode).toBe(REASON.notAuthorized)
    expect(device.all('puback')[0]?.properties).toBeUndefined()
  })

  test('more open messages of QoS 2 than CONNACK allowed end the session with its reason', async () => {
    const device = await connect()
    for (let id = 1; id <= LIMITS.sessionUnreleasedMax + 1; id++)
      device.publish(TOPIC, 'x', { messageId: id, qos: 2 })
    await device.closed()
    expect(device.all('disconnect')[0]?.reasonCode).toBe(REASON.receiveMax)
  })

  test('a PUBREL with an unknown id is answered with its reason', async () => {
    const device = await connect()
    device.sendPacket({ cmd: 'pubrel', messageId: 77 })
    await until(() => device.all('pubcomp').length === 1, 'PUBCOMP')
    expect(device.all('pubcomp')[0]?.reasonCode).toBe(REASON.unknownId)
  })
})

describe('a session', () => {
  test('a session outlives its connection as long as the device asked for', async () => {
    const first = await connect('a', lasting(60))
    await subscribe(first, { topic: 'fleet/a/shadow/delta', qos: 1 })
    first.drop()
    await until(() => stage.host.causes('a').length === 1, 'closed')
    await stage.broker.publish(downlink({ suffix: 'shadow/delta' }))
    stage.sleep(59_000)
    const second = await connect('a', lasting(60))
    expect(second.connack?.sessionPresent).toBe(true)
    await until(() => second.received().length === 1, 'what was kept')
    second.drop()
    await until(() => stage.host.causes('a').length === 2, 'closed')
    stage.sleep(61_000)
    expect((await connect('a', lasting(60))).connack?.sessionPresent).toBe(false)
  })

  test('a session without an expiry ends with its connection, whatever came before', async () => {
    const first = await connect('a', lasting(60))
    await subscribe(first, { topic: 'fleet/a/shadow/delta', qos: 1 })
    const second = await connect('a', { clean: false })
    expect(second.connack?.sessionPresent).toBe(true)
    await stage.broker.publish(downlink({ suffix: 'shadow/delta', qos: 0 }))
    await until(() => second.received().length === 1, 'the subscription goes on')
    second.drop()
    await until(() => stage.host.causes('a').length === 2, 'closed')
    expect((await connect('a', { clean: false })).connack?.sessionPresent).toBe(false)
  })

  test('a device may give its session up, but not prolong one that ends, as it leaves', async () => {
    const first = await connect('a', lasting(60))
    first.sendPacket({ cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 0 } })
    await first.closed()
    const second = await connect('a', { clean: false })
    expect(second.connack?.sessionPresent).toBe(false)
    second.sendPacket({ cmd: 'disconnect', reasonCode: 0, properties: { sessionExpiryInterval: 60 } })
    await second.closed()
    expect(second.all('disconnect')[0]?.reasonCode).toBe(REASON.protocolError)
  })

  test('a message that expires while the device is away is not delivered', async () => {
    const first = await connect('a', lasting(600))
    await subscribe(first, { topic: 'fleet/a/#', qos: 1 })
    first.drop()
    await until(() => stage.host.causes('a').length === 1, 'closed')
    const expiresAt = Millis(1_000_000 + 10_000)
    await stage.broker.publish(downlink({ suffix: 'shadow/delta', expiresAt }, 'short'))
    await stage.broker.publish(downlink({ suffix: 'shadow/delta' }, 'long'))
    stage.sleep(11_000)
    const second = await connect('a', lasting(600))
    await until(() => second.received().length > 0, 'what is left')
    await ping(second)
    expect(second.received().map(({ text }) => text)).toEqual(['long'])
  })

  test('a device is told why its session ends', async () => {
    const first = await connect()
    const second = await connect()
    await until(() => first.all('disconnect').length === 1, 'DISCONNECT of the earlier session')
    expect(first.all('disconnect')[0]).toMatchObject({
      reasonCode: REASON.takenOver,
      properties: { reasonString: expect.stringContaining('one device has one connection') },
    })
    stage.broker.end(a)
    await until(() => second.all('disconnect').length === 1, 'DISCONNECT of the revoked session')
    expect(second.all('disconnect')[0]?.reasonCode).toBe(REASON.revoked)
    const third = await connect()
    stage.pass(120_000)
    await until(() => third.all('disconnect').length === 1, 'DISCONNECT of the silent session')
    expect(third.all('disconnect')[0]?.reasonCode).toBe(REASON.keepAlive)
  })

  test('a peer that does not close after its DISCONNECT is cut off', async () => {
    const device = await connect()
    device.socket.allowHalfOpen = true
    stage.broker.end(a)
    await until(() => device.all('disconnect').length === 1, 'DISCONNECT')
    stage.sleep(LIMITS.refusedSocketMsMax)
    const isReset = () => {
      // Only a write shows a peer that the other side is gone for good.
      device.send(Buffer.from([0xc0, 0x00]))
      return device.isClosed
    }
    await until(isReset, 'the socket to be reset')
  })

  test.each([
    ['AUTH', [0xf0, 0x00], REASON.protocolError],
    ['a second CONNECT', [0x10, 0x00], REASON.protocolError],
    ['PUBLISH of QoS 3', [0x36, 0x05, 0x00, 0x01, 0x61, 0x00, 0x01], REASON.malformed],
    ['SUBSCRIBE without properties', [0x82, 0x02, 0x00, 0x01], REASON.malformed],
    ['SUBSCRIBE with reserved bits', [0x82, 0x07, 0, 1, 0, 0, 1, 0x61, 0xc0], REASON.malformed],
    ['PUBACK without an id', [0x40, 0x00], REASON.malformed],
    ['a property of another packet', [0xe0, 0x04, 0x00, 0x02, 0x01, 0x00], REASON.protocolError],
    ['a property block beyond its packet', [0xe0, 0x02, 0x00, 0x7f], REASON.malformed],
  ])('%s ends the session with its reason', async (_, bytes, reason) => {
    const device = await connect()
    device.send(Buffer.from(bytes))
    await device.closed()
    expect(device.all('disconnect')[0]?.reasonCode).toBe(reason)
    expect(stage.host.causes()).toEqual(['abuse'])
  })
})

describe('a will', () => {
  const delayed = (more: Partial<IConnectPacket> = {}) =>
    connect('a', { ...lasting(600), will: { ...will, properties: { willDelayInterval: 5 } }, ...more })

  test('a will that may wait is not published if the device is back in time', async () => {
    const first = await delayed()
    first.drop()
    await until(() => stage.host.causes('a').length === 1, 'closed')
    stage.pass(4_000)
    await delayed()
    stage.pass(10_000)
    expect(stage.host.messages()).toEqual([])
  })

  test('a will that may wait is published when its time is over', async () => {
    const first = await delayed()
    first.drop()
    await until(() => stage.host.causes('a').length === 1, 'closed')
    stage.pass(4_000)
    expect(stage.host.messages()).toEqual([])
    stage.pass(1_000)
    expect(stage.host.messages()).toMatchObject([{ suffix: 'status', text: 'gone', will: true }])
    await until(() => stage.host.isSettled, 'everything to be durable')
  })

  test('a will that may wait is published when its session is given up', async () => {
    const first = await delayed()
    first.drop()
    await until(() => stage.host.causes('a').length === 1, 'closed')
    await connect('a', { clean: true })
    expect(stage.host.texts()).toEqual(['gone'])
  })

  test('a goodbye may ask for the will', async () => {
    const device = await connect('a', { will })
    device.sendPacket({ cmd: 'disconnect', reasonCode: REASON.leaveWithWill })
    await until(() => stage.host.causes('a').length === 1, 'closed')
    expect(stage.host.texts()).toEqual(['gone'])
  })
})
