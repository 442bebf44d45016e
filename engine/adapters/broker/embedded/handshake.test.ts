import { Buffer } from 'node:buffer'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../limits.ts'
import { CONNACK } from '../../../ports/broker.ts'
import { openStage, type Stage } from '../testing/embedded-broker.ts'
import { until } from '../testing/fake-host.ts'
import { connectPacket, publishPacket, RawDevice } from '../testing/raw-device.ts'

let stage: Stage
beforeEach(async () => {
  stage = await openStage({ sessionsMax: 2 })
})
afterEach(() => stage.broker.close())

async function firstBytes(bytes: Uint8Array): Promise<RawDevice> {
  const device = await RawDevice.dial(stage.port)
  device.send(bytes)
  return device
}

describe('before the CONNACK', () => {
  const connect = connectPacket('a')
  test.each([
    ['another first packet', publishPacket('fleet/a/telemetry', 'x')],
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
    ['TLS', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])],
    ['wrong flags', Buffer.from([0x11, ...connect.subarray(1)])],
    ['a length of five bytes', Buffer.from([0x10, 0x80, 0x80, 0x80, 0x80, 0x01])],
    ['another protocol name', Buffer.from(connect.toString('latin1').replace('MQTT', 'MQXX'), 'latin1')],
    ['an empty CONNECT', Buffer.from([0x10, 0x00])],
    ['a CONNECT cut short inside', Buffer.from([0x10, 0x0a, ...connect.subarray(2, 12)])],
    [
      'the reserved flag',
      Buffer.from([...connect.subarray(0, 9), (connect[9] ?? 0) | 1, ...connect.subarray(10)]),
    ],
    [
      'a will of QoS 3',
      Buffer.from([...connect.subarray(0, 9), (connect[9] ?? 0) | 0x1c, ...connect.subarray(10)]),
    ],
  ])('a peer that sends %s is cut off', async (_, bytes) => {
    const device = await firstBytes(bytes)
    await device.closed()
    expect(device.packets).toEqual([])
    expect(stage.host.attempts).toEqual([])
  })

  test('a CONNECT that claims to be over the limit is cut off before any of it is collected', async () => {
    const device = await firstBytes(Buffer.from([0x10, 0xff, 0xff, 0x7f]))
    await device.closed()
    expect(stage.host.attempts).toEqual([])
  })

  test('a CONNECT that is too slow is cut off, and 100 such peers keep nobody out', async () => {
    const open = await Promise.all(
      Array.from({ length: 100 }, () => firstBytes(connectPacket('a').subarray(0, 5))),
    )
    const device = await RawDevice.connect(stage.port, 'a')
    expect(device.connack?.returnCode).toBe(CONNACK.accepted)
    stage.pass(LIMITS.handshakeTimeoutMs - 500)
    expect(open.every(({ isClosed }) => !isClosed)).toBe(true)
    stage.pass(1_000)
    await Promise.all(open.map((peer) => peer.closed()))
    expect(device.isClosed).toBe(false)
  })

  test('time that the broker itself slept does not count against a handshake', async () => {
    const peer = await firstBytes(connectPacket('a').subarray(0, 5))
    stage.sleep(60_000)
    peer.send(connectPacket('a').subarray(5))
    await until(() => peer.packets.length === 1, 'CONNACK')
    expect(peer.connack?.returnCode).toBe(CONNACK.accepted)
  })
})

describe('a refused CONNECT', () => {
  test('an unknown protocol level is refused with code 1', async () => {
    const bytes = connectPacket('a')
    bytes[8] = 9
    const device = await firstBytes(bytes)
    await device.closed()
    expect(device.connack?.returnCode).toBe(CONNACK.protocol)
  })

  test('an empty client id is refused with code 2', async () => {
    const device = await RawDevice.connect(stage.port, '')
    expect(device.connack?.returnCode).toBe(CONNACK.identifier)
    await device.closed()
  })

  test('a device that the host denies is sent its code, and the socket is closed', async () => {
    const device = await RawDevice.connect(stage.port, 'a', { password: Buffer.from('wrong') })
    expect(device.connack?.returnCode).toBe(CONNACK.unauthorized)
    await device.closed()
    expect(stage.broker.counts()).toMatchObject({ denied: 1, admitted: 0, connected: 0 })
  })

  test('a failure of the host is answered with code 3', async () => {
    stage.host.admit = () => Promise.reject(new Error('store gone'))
    const device = await RawDevice.connect(stage.port, 'a')
    expect(device.connack?.returnCode).toBe(CONNACK.unavailable)
  })

  test('one session too many is refused with code 3, while a connected device may still take over', async () => {
    await RawDevice.connect(stage.port, 'a')
    await RawDevice.connect(stage.port, 'b')
    expect((await RawDevice.connect(stage.port, 'c')).connack?.returnCode).toBe(CONNACK.unavailable)
    expect((await RawDevice.connect(stage.port, 'b')).connack?.returnCode).toBe(CONNACK.accepted)
  })

  test('a will that makes the CONNECT too large ends the connection', async () => {
    const payload = Buffer.alloc(LIMITS.connectBytesMax)
    const device = await RawDevice.connect(stage.port, 'a', {
      will: { topic: 'fleet/a/status', payload, qos: 1, retain: false },
    })
    expect(device.isClosed).toBe(true)
  })
})

describe('an accepted CONNECT', () => {
  test('a CONNECT of MQTT 3.1 is accepted', async () => {
    const device = await RawDevice.connect(stage.port, 'a', { protocolId: 'MQIsdp', protocolVersion: 3 })
    expect(device.connack?.returnCode).toBe(CONNACK.accepted)
  })

  test('a CONNECT that comes byte by byte is accepted', async () => {
    const device = await RawDevice.dial(stage.port)
    for (const byte of connectPacket('a')) device.send(Buffer.from([byte]))
    await until(() => device.packets.length === 1, 'CONNACK')
    expect(device.connack?.returnCode).toBe(CONNACK.accepted)
  })

  test('messages right behind a CONNECT wait for the admission', async () => {
    const messages = ['one', 'two'].map((text, index) =>
      publishPacket('fleet/a/telemetry', text, { messageId: index + 1 }),
    )
    const device = await firstBytes(Buffer.concat([connectPacket('a'), ...messages]))
    await until(() => device.packets.length === 3, 'everything to be answered')
    expect(device.packets.map(({ cmd }) => cmd)).toEqual(['connack', 'puback', 'puback'])
    expect(stage.host.texts()).toEqual(['one', 'two'])
  })

  test('a peer that leaves before it is admitted is never announced', async () => {
    const admit = stage.host.admit.bind(stage.host)
    let admitted = () => {}
    let isAsked = false
    stage.host.admit = async (attempt) => {
      isAsked = true
      await new Promise<void>((resolve) => {
        admitted = resolve
      })
      return admit(attempt)
    }
    const device = await firstBytes(connectPacket('a'))
    await until(() => isAsked, 'the attempt')
    device.drop()
    stage.host.admit = admit
    const later = await RawDevice.connect(stage.port, 'b')
    admitted()
    later.publish('fleet/b/telemetry', 'x')
    await until(() => later.all('puback').length === 1, 'PUBACK')
    expect(stage.host.sessions('a')).toEqual([])
  })
})
