import { Buffer } from 'node:buffer'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../limits.ts'
import { openStage, type Stage } from '../testing/embedded-broker.ts'
import { until } from '../testing/fake-host.ts'
import { connectPacket, publishPacket, RawDevice } from '../testing/raw-device.ts'

let stage: Stage
beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.broker.close())

const TOPIC = 'fleet/a/telemetry'

function numbered(count: number, qos: 0 | 1 | 2 = 1, payload = (index: number) => `${index}`): Buffer {
  return Buffer.concat(
    Array.from({ length: count }, (_, index) =>
      publishPacket(TOPIC, payload(index), { qos, messageId: index + 1 }),
    ),
  )
}

function ids(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

describe('messages from a device', () => {
  test('pipelined messages are handed on and acknowledged in order', async () => {
    const device = await RawDevice.connect(stage.port, 'a')
    device.send(numbered(1_000))
    await until(() => device.all('puback').length === 1_000, 'all acknowledgements')
    expect(stage.host.texts()).toEqual(ids(1_000).map((id) => `${id - 1}`))
    expect(device.all('puback').map(({ messageId }) => messageId)).toEqual(ids(1_000))
  })

  test('messages that are cut at any byte arrive whole', async () => {
    const device = await RawDevice.connect(stage.port, 'a')
    const bytes = numbered(3, 1, (index) => 'x'.repeat(index * 150))
    for (let cut = 1; cut < bytes.length; cut += 7) {
      stage.host.events.length = 0
      device.send(bytes.subarray(0, cut))
      // The ping ends the second part: both have been read once the messages are there.
      await new Promise((resolve) => setImmediate(resolve))
      device.send(Buffer.concat([bytes.subarray(cut), Buffer.from([0xc0, 0x00])]))
      await until(() => stage.host.messages().length === 3, `the messages cut at ${cut}`)
      expect(stage.host.texts().map(({ length }) => length)).toEqual([0, 150, 300])
    }
  })

  test('a message of the largest size passes, and one byte more ends the session', async () => {
    const device = await RawDevice.connect(stage.port, 'a')
    device.publish(TOPIC, Buffer.alloc(LIMITS.payloadBytesMax, 0x61))
    await until(() => device.all('puback').length === 1, 'PUBACK')
    expect(stage.host.texts()[0]).toHaveLength(LIMITS.payloadBytesMax)
    device.publish(TOPIC, Buffer.alloc(LIMITS.payloadBytesMax + 1))
    await device.closed()
    expect(stage.host.causes()).toEqual(['abuse'])
    expect(stage.host.messages()).toHaveLength(1)
  })

  test('a header that claims more than a packet may have ends the session', async () => {
    const device = await RawDevice.connect(stage.port, 'a')
    device.send(Buffer.from([0x32, 0xff, 0xff, 0xff, 0x7f]))
    await device.closed()
    expect(stage.host.causes()).toEqual(['abuse'])
  })

  test('messages on more topics than are remembered keep their topics', async () => {
    const device = await RawDevice.connect(stage.port, 'a')
    const topics = Array.from({ length: 30 }, (_, index) => `telemetry/t${index % 13}`)
    for (const topic of topics) device.publish(`fleet/a/${topic}`, topic)
    await until(() => device.all('puback').length === topics.length, 'all acknowledgements')
    expect(stage.host.messages().map(({ suffix }) => suffix)).toEqual(topics)
    expect(stage.host.texts()).toEqual(topics)
  })

  test('a message that is repeated with DUP under QoS 1 is handed on again', async () => {
    const device = await RawDevice.connect(stage.port, 'a')
    device.publish(TOPIC, 'one', { messageId: 7 })
    device.publish(TOPIC, 'one', { messageId: 7, dup: true })
    await until(() => device.all('puback').length === 2, 'both acknowledgements')
    expect(stage.host.texts()).toEqual(['one', 'one'])
  })

  test('messages are acknowledged only as far as they are durable', async () => {
    stage.host.isHolding = true
    const device = await RawDevice.connect(stage.port, 'a')
    device.send(numbered(5))
    await until(() => stage.host.messages().length === 5, 'the messages')
    stage.host.sessions('a')[0]?.durable(2)
    await until(() => device.all('puback').length > 0, 'the first acknowledgements')
    device.send(Buffer.from([0xc0, 0x00]))
    await until(() => device.all('pingresp').length === 1, 'PINGRESP')
    expect(device.all('puback').map(({ messageId }) => messageId)).toEqual([1, 2])
  })

  test('messages of QoS 0 count as durable without an answer', async () => {
    stage.host.isHolding = true
    const device = await RawDevice.connect(stage.port, 'a')
    for (const [index, qos] of ([0, 1, 0, 1] as const).entries())
      device.publish(TOPIC, `${index}`, { qos, messageId: index + 1 })
    await until(() => stage.host.messages().length === 4, 'the messages')
    stage.host.sessions('a')[0]?.durable(3)
    stage.host.sessions('a')[0]?.durable(1)
    await until(() => device.all('puback').length === 2, 'both acknowledgements')
    expect(device.all('puback').map(({ messageId }) => messageId)).toEqual([2, 4])
  })
})

describe('a packet that MQTT has no error for', () => {
  const body = (...bytes: number[]) => Buffer.from(bytes)
  test.each([
    ['a second CONNECT', connectPacket('a')],
    ['PUBLISH of QoS 3', body(0x36, 0x05, 0x00, 0x01, 0x61, 0x00, 0x01)],
    ['PUBLISH with packet id 0', publishPacket(TOPIC, 'x', { messageId: 1 }).fill(0, 21, 23)],
    ['PUBLISH shorter than its topic', body(0x30, 0x03, 0x00, 0x20, 0x61)],
    ['PUBLISH without a body', body(0x30, 0x00)],
    ['PUBLISH to an empty topic', body(0x30, 0x03, 0x00, 0x00, 0x61)],
    ['PUBLISH with invalid UTF-8', body(0x30, 0x0c, 0x00, 0x0a, ...Buffer.from('fleet/a/'), 0xff, 0xfe)],
    ['PUBLISH with NUL', body(0x30, 0x0c, 0x00, 0x0a, ...Buffer.from('fleet/a/'), 0x61, 0x00)],
    ['PINGREQ with a body', body(0xc0, 0x01, 0x00)],
    ['PUBREL with wrong flags', body(0x60, 0x02, 0x00, 0x01)],
    ['PUBREL with packet id 0', body(0x62, 0x02, 0x00, 0x00)],
    ['PUBACK of the wrong size', body(0x40, 0x03, 0x00, 0x01, 0x00)],
    ['CONNACK', body(0x20, 0x02, 0x00, 0x00)],
    ['SUBSCRIBE without a filter', body(0x82, 0x02, 0x00, 0x01)],
    ['SUBSCRIBE of QoS 3', body(0x82, 0x06, 0x00, 0x01, 0x00, 0x01, 0x61, 0x03)],
    ['SUBSCRIBE with invalid UTF-8', body(0x82, 0x06, 0x00, 0x01, 0x00, 0x01, 0xff, 0x00)],
    ['SUBSCRIBE to an empty filter', body(0x82, 0x05, 0x00, 0x01, 0x00, 0x00, 0x00)],
    ['an unknown type', body(0xf0, 0x00)],
    ['type 0', body(0x00, 0x00)],
    ['a length of five bytes', body(0x30, 0x80, 0x80, 0x80, 0x80, 0x01)],
  ])('%s ends the session', async (_, bytes) => {
    const device = await RawDevice.connect(stage.port, 'a')
    device.send(bytes)
    await device.closed()
    expect(stage.host.causes()).toEqual(['abuse'])
    expect(stage.host.messages()).toEqual([])
  })
})

describe('QoS 2', () => {
  const pubrel = (messageId: number) => ({ cmd: 'pubrel', messageId }) as const

  test('a message of QoS 2 is taken once, however often it is sent, until it is released', async () => {
    const device = await RawDevice.connect(stage.port, 'a')
    for (const text of ['one', 'one again']) device.publish(TOPIC, text, { qos: 2, messageId: 9 })
    await until(() => device.all('pubrec').length > 0, 'PUBREC')
    device.publish(TOPIC, 'and again', { qos: 2, messageId: 9, dup: true })
    await until(() => device.all('pubrec').length === 2, 'PUBREC again')
    device.sendPacket(pubrel(9))
    await until(() => device.all('pubcomp').length === 1, 'PUBCOMP')
    device.publish(TOPIC, 'two', { qos: 2, messageId: 9 })
    await until(() => stage.host.messages().length === 2, 'the next message')
    expect(stage.host.texts()).toEqual(['one', 'two'])
  })

  test('a persistent session remembers messages of QoS 2 over connections', async () => {
    const device = await RawDevice.connect(stage.port, 'a', { clean: false })
    device.publish(TOPIC, 'one', { qos: 2, messageId: 9 })
    await until(() => device.all('pubrec').length === 1, 'PUBREC')
    device.drop()
    const later = await RawDevice.connect(stage.port, 'a', { clean: false })
    expect(later.connack?.sessionPresent).toBe(true)
    later.publish(TOPIC, 'one', { qos: 2, messageId: 9, dup: true })
    await until(() => later.all('pubrec').length === 1, 'PUBREC')
    later.sendPacket(pubrel(9))
    await until(() => later.all('pubcomp').length === 1, 'PUBCOMP')
    expect(stage.host.texts()).toEqual(['one'])
  })

  test('a repeat on a new connection is answered once the first message is durable', async () => {
    stage.host.isHolding = true
    const device = await RawDevice.connect(stage.port, 'a', { clean: false })
    device.publish(TOPIC, 'one', { qos: 2, messageId: 9 })
    await until(() => stage.host.messages().length === 1, 'the message')
    const later = await RawDevice.connect(stage.port, 'a', { clean: false })
    later.publish(TOPIC, 'one', { qos: 2, messageId: 9, dup: true })
    later.send(Buffer.from([0xc0, 0x00]))
    await until(() => later.all('pingresp').length === 1, 'PINGRESP')
    expect(later.all('pubrec')).toEqual([])
    stage.host.release()
    await until(() => later.all('pubrec').length === 1, 'PUBREC')
    expect(stage.host.texts()).toEqual(['one'])
  })

  test('a PUBREL with an unknown id is answered', async () => {
    const device = await RawDevice.connect(stage.port, 'a')
    device.sendPacket(pubrel(77))
    await until(() => device.all('pubcomp').length === 1, 'PUBCOMP')
  })

  test('a session that releases nothing ends', async () => {
    const device = await RawDevice.connect(stage.port, 'a')
    device.send(numbered(LIMITS.sessionUnreleasedMax + 1, 2))
    await device.closed()
    expect(stage.host.causes()).toEqual(['abuse'])
    expect(stage.host.messages()).toHaveLength(LIMITS.sessionUnreleasedMax)
  })
})

describe('a device faster than the log', () => {
  test('a device faster than the log is not read beyond its pending messages, and loses none', async () => {
    stage.host.isHolding = true
    const device = await RawDevice.connect(stage.port, 'a')
    const count = LIMITS.sessionPendingMax * 3
    device.send(numbered(count, 0))
    await until(() => stage.host.messages().length === LIMITS.sessionPendingMax, 'what is pending')
    const other = await RawDevice.connect(stage.port, 'b')
    other.publish('fleet/b/telemetry', 'x')
    await until(() => stage.host.texts('b').length === 1, 'another device')
    expect(stage.host.messages('a')).toHaveLength(LIMITS.sessionPendingMax)
    stage.host.isHolding = false
    stage.host.release()
    await until(() => stage.host.messages('a').length === count, 'the rest')
    expect(stage.host.texts('a')).toEqual(ids(count).map((id) => `${id - 1}`))
  })

  test('a device that says goodbye and leaves is read to the end, and leaves no will', async () => {
    stage.host.isHolding = true
    const will = { topic: 'fleet/a/status', payload: Buffer.from('gone'), qos: 0, retain: false } as const
    const device = await RawDevice.connect(stage.port, 'a', { will })
    const count = LIMITS.sessionPendingMax * 2
    device.socket.end(Buffer.concat([numbered(count, 0), Buffer.from([0xe0, 0x00])]))
    await until(() => stage.host.messages().length === LIMITS.sessionPendingMax, 'what is pending')
    await RawDevice.connect(stage.port, 'b')
    stage.host.isHolding = false
    stage.host.release()
    await until(() => stage.host.causes('a').length === 1, 'closed')
    expect(stage.host.causes('a')).toEqual(['disconnect'])
    expect(stage.host.messages('a')).toHaveLength(count)
  })

  test('a device faster than the log is not read beyond its pending bytes', async () => {
    stage.host.isHolding = true
    const device = await RawDevice.connect(stage.port, 'a')
    const payload = 'x'.repeat(100 * 1024)
    device.send(numbered(30, 1, () => payload))
    const fit = Math.ceil(LIMITS.sessionPendingBytesMax / (100 * 1024))
    await until(() => stage.host.messages().length >= fit, 'what is pending')
    stage.host.isHolding = false
    stage.host.release()
    await until(() => device.all('puback').length === 30, 'everything')
  })

  test('a device is not read while the host is congested, and read again by itself after', async () => {
    stage.host.congested = true
    const device = await RawDevice.connect(stage.port, 'a')
    device.publish(TOPIC, 'one')
    await until(() => device.all('puback').length === 1, 'the first acknowledgement')
    device.publish(TOPIC, 'two')
    const other = await RawDevice.connect(stage.port, 'b')
    expect(other.connack?.returnCode).toBe(0)
    expect(stage.host.texts()).toEqual(['one'])
    stage.host.congested = false
    stage.broker.sweep()
    await until(() => device.all('puback').length === 2, 'the second acknowledgement')
  })
})
