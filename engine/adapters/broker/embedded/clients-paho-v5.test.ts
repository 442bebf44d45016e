// The cases of paho's interoperability suite that MQTT 5 adds, as far as they keep to the topics of one device, with paho
// for Python.
import { Buffer } from 'node:buffer'
import { describe, expect, test } from 'vitest'
import { Millis } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import { deviceId, downlink } from '../testing/contract-world.ts'
import { until } from '../testing/fake-host.ts'
import type { PahoConnect, PahoDevice } from '../testing/paho-devices.ts'
import { LASTING, PahoStage, PYTHON, texts } from '../testing/paho-stage.ts'
import { REASON } from './reasons.ts'

const world = new PahoStage()

describe.skipIf(PYTHON === undefined)('with MQTT 5, paho', () => {
  async function connected(options: PahoConnect = {}): Promise<PahoDevice> {
    const device = world.device(5)
    await device.connect(options)
    return device
  }

  test('finds its session as long as it asked for', async () => {
    const device = world.device(5)
    const present = async (seconds: number, clean = false) => {
      const { sessionPresent } = await device.connect({ clean, connect: { SessionExpiryInterval: seconds } })
      return sessionPresent
    }
    let ended = 0
    const leave = async (about = {}) => {
      await device.disconnect(about)
      await world.closed(++ended)
    }
    expect(await present(0, true)).toBe(false)
    await leave()
    expect(await present(5)).toBe(false)
    await leave()
    world.stage.pass(2_000)
    expect(await present(5)).toBe(true)
    await leave()
    world.stage.pass(6_000)
    expect(await present(1)).toBe(false)
    await leave({ SessionExpiryInterval: 5 })
    world.stage.pass(3_000)
    expect(await present(1)).toBe(true)
    await leave({ SessionExpiryInterval: 0 })
    expect(await present(0)).toBe(false)
    await leave()
  })

  test('gets its messages back with what it said about them', async () => {
    const device = await connected()
    await device.subscribe({ [world.topic('log')]: { qos: 2 } })
    const said = {
      UserProperty: [
        ['a', '2'],
        ['c', '3'],
      ],
      ContentType: 'text/plain',
      PayloadFormatIndicator: 1,
      ResponseTopic: world.topic('log/answer'),
    }
    for (const qos of [0, 1, 2])
      await device.publish(world.topic('log'), 'x', { qos, about: { ...said, CorrelationData: '334' } })
    await device.seen('message', 3)
    const expected = { ...said, CorrelationData: Buffer.from('334').toString('hex') }
    expect(device.messages().map(({ properties }) => properties)).toEqual([expected, expected, expected])
    await device.disconnect()
  })

  test('gets no message whose time is over, and is told how much is left of another’s', async () => {
    const device = await connected({
      ...LASTING,
      manual: true,
      connect: { SessionExpiryInterval: 600, ReceiveMaximum: 1 },
    })
    await device.subscribe({ [world.topic('log')]: { qos: 1 } })
    await device.publish(world.topic('log'), 'first', { qos: 1 })
    await device.publish(world.topic('log'), 'over', { qos: 1, about: { MessageExpiryInterval: 1 } })
    await device.publish(world.topic('log'), 'good', { qos: 1, about: { MessageExpiryInterval: 6 } })
    const first = await device.seen('message', 1)
    world.stage.pass(3_000)
    device.ack(first)
    expect(await device.seen('message', 2)).toMatchObject({
      text: 'good',
      properties: { MessageExpiryInterval: 3 },
    })
    await device.drop()
    await world.closed()
    const away = { deviceId: deviceId(world.id), suffix: 'log', qos: 2 } as const
    const in2s = { expiresAt: Millis(world.stage.now() + 2_000) }
    const in8s = { expiresAt: Millis(world.stage.now() + 8_000) }
    await world.stage.broker.publish(downlink({ ...away, ...in2s }, 'over'))
    await world.stage.broker.publish(downlink({ ...away, ...in8s }, 'later'))
    world.stage.pass(4_000)
    const back = world.device(5, 'again')
    await back.connect(LASTING)
    await back.seen('message', 1)
    expect(back.messages()).toMatchObject([{ text: 'later', properties: { MessageExpiryInterval: 4 } }])
    await back.disconnect()
  })

  test('does not hear itself where it asks not to', async () => {
    const device = await connected()
    await device.subscribe({ [world.topic('log')]: { qos: 2, noLocal: true } })
    await device.publish(world.topic('log'), 'own', { qos: 1 })
    await world.stage.broker.publish(
      downlink({ deviceId: deviceId(world.id), suffix: 'log', qos: 0 }, 'other'),
    )
    await device.seen('message', 1)
    expect(texts(device)).toEqual(['other'])
    await device.disconnect()
  })

  test('sees what is retained as it asks for', async () => {
    const device = await connected()
    const status = world.topic('status')
    await device.subscribe({ [status]: { qos: 2, retainAsPublished: true } })
    await device.publish(status, 'fleeting', { qos: 1 })
    await device.publish(status, 'kept', { qos: 1, retain: true })
    await device.seen('message', 2)
    expect(device.messages().map(({ retain }) => retain)).toEqual([false, true])
    // A message of its own after each SUBSCRIBE says that nothing else came before.
    const received = async (retainHandling: number) => {
      const before = device.messages().length
      await device.subscribe({ [status]: { qos: 2, retainHandling } })
      await device.publish(status, 'end', { qos: 1 })
      await until(() => texts(device).slice(before).includes('end'), 'its own message')
      return texts(device).slice(before)
    }
    expect(await received(1)).toEqual(['end'])
    expect(await received(2)).toEqual(['end'])
    expect(await received(0)).toEqual(['kept', 'end'])
    await device.unsubscribe(status)
    expect(await received(2)).toEqual(['end'])
    await device.unsubscribe(status)
    expect(await received(1)).toEqual(['kept', 'end'])
    await device.disconnect()
  })

  test('is told that there are no subscription identifiers and no shared subscriptions, and cut off if it uses one', async () => {
    const device = world.device(5)
    expect(await device.connect({ keepalive: 50_000 })).toMatchObject({
      properties: {
        SubscriptionIdentifierAvailable: 0,
        SharedSubscriptionAvailable: 0,
        ServerKeepAlive: LIMITS.keepAliveSecMax,
      },
    })
    const about = { SubscriptionIdentifier: 456_789 }
    device.order({ do: 'subscribe', filters: [[world.topic('log'), { qos: 2 }]], about })
    expect(await device.seen('disconnect', 1)).toMatchObject({ reason: REASON.subscriptionId })
  })

  test('gives a topic a number, which is good for the connection', async () => {
    const device = await connected(LASTING)
    await device.subscribe({ [world.topic('log')]: { qos: 2 } })
    const about = { TopicAlias: 1 }
    await device.publish(world.topic('log'), 'named', { qos: 1, about })
    await device.publish('', 'numbered', { qos: 1, about })
    await device.seen('message', 2)
    expect(texts(device)).toEqual(['named', 'numbered'])
    await device.disconnect()
    await world.closed()
    await device.connect(LASTING)
    await device.publish(world.topic('log'), 'third', { qos: 1 })
    device.order({ do: 'publish', topic: '', payload: 'unknown', qos: 1, about })
    expect(await device.seen('disconnect', 2)).toMatchObject({ reason: REASON.badAlias })
    expect(texts(device)).toEqual(['named', 'numbered', 'third'])
  })

  test('gets topics in full, whether it takes numbers or not', async () => {
    for (const [index, connect] of [{ TopicAliasMaximum: 1 }, {}].entries()) {
      const device = world.device(5, `${index}`)
      await device.connect({ connect })
      await device.subscribe({ [world.topic('log')]: { qos: 2 } })
      for (const qos of [0, 1, 2]) await device.publish(world.topic('log'), 'x', { qos })
      await device.seen('message', 3)
      expect(new Set(device.messages().map((each) => each.topic))).toEqual(new Set([world.topic('log')]))
      await device.disconnect()
    }
  })

  test('gets no packet larger than it takes, and may send none larger than it is told', async () => {
    const device = await connected({ connect: { MaximumPacketSize: 64 } })
    await device.subscribe({ [world.topic('log')]: { qos: 2 } })
    await device.publish(world.topic('log'), '.'.repeat(32), { qos: 0 })
    await device.publish(world.topic('log'), '.'.repeat(64), { qos: 1 })
    await device.publish(world.topic('log'), 'small', { qos: 1 })
    await device.seen('message', 2)
    expect(texts(device)).toEqual(['.'.repeat(32), 'small'])
    const most = Number(device.all('connack')[0]?.properties?.['MaximumPacketSize'])
    device.order({ do: 'publish', topic: world.topic('log'), payload: '.'.repeat(most), qos: 0 })
    expect(await device.seen('disconnect', 1)).toMatchObject({ reason: REASON.tooLarge })
  })

  test('gets no more messages at once than it takes', async () => {
    const device = await connected({ manual: true, connect: { ReceiveMaximum: 2 } })
    await device.subscribe({ [world.topic('log')]: { qos: 1 }, [world.topic('status')]: { qos: 0 } })
    for (const text of ['1', '2', '3', '4']) await device.publish(world.topic('log'), text, { qos: 1 })
    await device.seen('message', 2)
    // The answer to a SUBSCRIBE comes after everything that was sent before.
    await device.subscribe({ [world.topic('x')]: { qos: 0 } })
    expect(texts(device)).toEqual(['1', '2'])
    device.ack(await device.seen('message', 1))
    await device.seen('message', 3)
    device.ack(await device.seen('message', 2))
    await device.seen('message', 4)
    expect(texts(device)).toEqual(['1', '2', '3', '4'])
    await device.disconnect()
  })

  test.each([
    { willDelay: 3, expiry: 5, published: 3, what: 'when its delay is over' },
    { willDelay: 5, expiry: 0, published: 0, what: 'at once if the session ends with the connection' },
    { willDelay: 5, expiry: 2, published: 2, what: 'when its session ends, if that is sooner' },
  ])('leaves its will $what', async ({ willDelay, expiry, published }) => {
    const properties = { WillDelayInterval: willDelay }
    const will = { topic: world.topic('status'), payload: 'gone', qos: 1, retain: false, properties }
    const device = await connected({ will, connect: { SessionExpiryInterval: expiry } })
    await device.drop()
    await world.closed()
    if (published > 0) {
      world.stage.pass(published * 1_000 - 250)
      expect(world.stage.host.texts(world.id)).toEqual([])
      world.stage.pass(250)
    }
    expect(world.stage.host.texts(world.id)).toEqual(['gone'])
  })
})
