// The cases of paho's interoperability suite that both versions of MQTT have, as far as they keep to the topics of one
// device, with paho for Python.
import { describe, expect, test } from 'vitest'
import { deviceId, downlink } from '../testing/contract-world.ts'
import type { PahoConnect } from '../testing/paho-devices.ts'
import { LASTING, PahoStage, PYTHON, texts } from '../testing/paho-stage.ts'
import { REASON } from './reasons.ts'

const world = new PahoStage()

describe.skipIf(PYTHON === undefined).each([
  { level: 4, version: '3.1.1' },
  { level: 5, version: '5' },
])('with MQTT $version, paho', ({ level }) => {
  const lasting: PahoConnect = level === 5 ? LASTING : { clean: false }

  test('gets its own messages of each QoS', async () => {
    const device = world.device(level)
    expect(await device.connect()).toMatchObject({ reason: 0, sessionPresent: false })
    expect(await device.subscribe({ [world.topic('telemetry')]: { qos: 2 } })).toEqual([2])
    for (const qos of [0, 1, 2]) await device.publish(world.topic('telemetry'), `qos ${qos}`, { qos })
    await device.seen('message', 3)
    expect(device.messages().map(({ qos, text, retain }) => [qos, text, retain])).toEqual([
      [0, 'qos 0', false],
      [1, 'qos 1', false],
      [2, 'qos 2', false],
    ])
    await device.disconnect()
  })

  test('gets what is retained when it subscribes', async () => {
    const device = world.device(level)
    await device.connect()
    const about = {
      UserProperty: [
        ['a', '2'],
        ['c', '3'],
      ],
    }
    await device.publish(world.topic('status'), 'on', { qos: 1, retain: true, about })
    await device.publish(world.topic('shadow/reported'), 'led', { qos: 2, retain: true, about })
    await device.subscribe({ [world.topic('#')]: { qos: 2 } })
    await device.seen('message', 2)
    expect(device.messages()).toMatchObject([
      { qos: 1, retain: true, text: 'on' },
      { qos: 2, retain: true, text: 'led' },
    ])
    if (level === 5)
      expect(device.messages().map(({ properties }) => properties?.['UserProperty'])).toEqual([
        about.UserProperty,
        about.UserProperty,
      ])
    await device.disconnect()
  })

  test('leaves its will when it falls silent, and finds it when it is back', async () => {
    const about = {
      properties: {
        UserProperty: [
          ['a', '2'],
          ['c', '3'],
        ],
      },
    }
    const will = {
      topic: world.topic('status'),
      payload: 'gone',
      qos: 1,
      retain: false,
      ...(level === 5 ? about : {}),
    }
    const device = world.device(level)
    await device.connect({ ...lasting, keepalive: 30, will })
    await device.subscribe({ [world.topic('status')]: { qos: 2 } })
    world.stage.pass(44_000)
    expect(world.stage.host.causes(world.id)).toEqual([])
    world.stage.pass(2_000)
    await device.seen('disconnect', 1)
    expect(world.stage.host.causes(world.id)).toEqual(['keepalive'])
    expect(world.stage.host.messages(world.id)).toMatchObject([
      { suffix: 'status', text: 'gone', will: true },
    ])
    expect(await device.connect(lasting)).toMatchObject({ sessionPresent: true })
    const { text, properties } = await device.seen('message', 1)
    expect(text).toBe('gone')
    if (level === 5) expect(properties?.['UserProperty']).toEqual(about.properties.UserProperty)
    await device.disconnect()
  })

  test('needs a client id, which is the device’s', async () => {
    const device = world.device(level, '', '')
    if (level === 5) {
      expect(await device.connect()).toMatchObject({ reason: REASON.clientId })
      return
    }
    // With version 3.1.1 paho keeps the refusal to itself.
    device.order({ do: 'connect', id: '', version: level, keepalive: 60, clean: true })
    await device.seen('disconnect', 1)
    expect(device.all('connack')).toEqual([])
  })

  test('finds what was sent with QoS 1 and 2 while it was away', async () => {
    const device = world.device(level)
    await device.connect(lasting)
    await device.subscribe({ [world.topic('shadow/delta')]: { qos: 2 } })
    await device.disconnect()
    await world.closed()
    for (const qos of [0, 1, 2] as const)
      await world.stage.broker.publish(
        downlink({ deviceId: deviceId(world.id), suffix: 'shadow/delta', qos }, `qos ${qos}`),
      )
    await device.connect(lasting)
    await device.seen('message', 2)
    expect(texts(device)).toEqual(['qos 1', 'qos 2'])
    await device.disconnect()
    const anew = world.device(level, 'anew')
    expect(await anew.connect()).toMatchObject({ sessionPresent: false })
    await anew.disconnect()
  })

  test('gets a message once at the highest QoS, where its subscriptions overlap', async () => {
    const device = world.device(level)
    await device.connect()
    await device.subscribe({ [world.topic('#')]: { qos: 2 }, [world.topic('telemetry/+')]: { qos: 1 } })
    await device.publish(world.topic('telemetry/x'), 'once', { qos: 2 })
    await device.publish(world.topic('telemetry/x'), 'next', { qos: 2 })
    await device.seen('message', 2)
    expect(device.messages().map(({ text, qos }) => [text, qos])).toEqual([
      ['once', 2],
      ['next', 2],
    ])
    await device.disconnect()
  })

  test('gets again what it did not acknowledge on the last connection', async () => {
    const device = world.device(level)
    await device.connect({ ...lasting, manual: true })
    await device.subscribe({ [world.topic('log')]: { qos: 2 } })
    await device.publish(world.topic('log'), 'one', { qos: 1 })
    await device.publish(world.topic('log'), 'two', { qos: 2 })
    await device.seen('message', 2)
    await device.drop()
    await world.closed()
    await device.connect(lasting)
    const again = await device.seen('message', 3)
    expect(again).toMatchObject({ text: 'one', dup: true, mid: device.messages()[0]?.mid })
    device.ack(again)
    await device.publish(world.topic('log'), 'three', { qos: 1 })
    await device.seen('message', 4)
    expect(texts(device)).toEqual(['one', 'two', 'one', 'three'])
    await device.disconnect()
  })

  test('is refused subscriptions that are not its own, shared ones and those on $ topics', async () => {
    const device = world.device(level)
    await device.connect()
    const filters = [
      'fleet/another/command',
      '#',
      `$share/group/${world.topic('command')}`,
      '$SYS/#',
      world.topic('command'),
    ]
    const reasons = await device.subscribe(Object.fromEntries(filters.map((filter) => [filter, { qos: 1 }])))
    const { notAuthorized, sharedSubscription } = REASON
    expect(reasons).toEqual(
      level === 5
        ? [notAuthorized, notAuthorized, sharedSubscription, notAuthorized, 1]
        : [128, 128, 128, 128, 1],
    )
    // Version 3.1.1 knows no refusal of a message, so the broker has to end the connection.
    device.order({ do: 'publish', topic: '$SYS/x', payload: 'x', qos: 1 })
    if (level === 5) expect(await device.seen('published', 1)).toMatchObject({ reason: notAuthorized })
    else await device.seen('disconnect', 1)
    expect(world.stage.host.messages(world.id)).toEqual([])
  })

  test('gets nothing more on a filter that it gave up', async () => {
    const device = world.device(level)
    await device.connect()
    const filter = { qos: 2 }
    await device.subscribe({
      [world.topic('a')]: filter,
      [world.topic('log')]: filter,
      [world.topic('telemetry')]: filter,
    })
    await device.unsubscribe(world.topic('log'))
    for (const suffix of ['log', 'telemetry', 'log', 'telemetry'])
      await device.publish(world.topic(suffix), suffix, { qos: 1 })
    await device.seen('message', 2)
    expect(texts(device)).toEqual(['telemetry', 'telemetry'])
    await device.disconnect()
  })
})
