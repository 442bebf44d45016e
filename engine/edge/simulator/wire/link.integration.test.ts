import { createServer, type Server, type Socket } from 'node:net'
import mqttPacket, { type IPublishPacket } from 'mqtt-packet'
import { afterEach, expect, test } from 'vitest'
import { MQTT_LIMITS } from '../../../../schemas/mqtt-limits.ts'
import { World } from '../fleet/world.ts'
import { Link } from './link.ts'

let server: Server
afterEach(() => new Promise((resolve) => server.close(resolve)))

const MESSAGE = { qos: 1, retain: false } as const

/** Opens a link that may have four unacknowledged messages, to a broker that acknowledges only when the test says
 *  so. */
async function open() {
  const heard: IPublishPacket[] = []
  const peers: Socket[] = []
  server = createServer((socket) => {
    peers.push(socket)
    const parser = mqttPacket.parser({ protocolVersion: 4 })
    parser.on('packet', (packet) => {
      if (packet.cmd === 'connect') socket.write(Buffer.from([0x20, 2, 0, 0]))
      if (packet.cmd === 'publish') heard.push(packet)
    })
    socket.on('data', (bytes) => parser.parse(bytes))
    socket.on('error', () => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = Object(server.address()) as { port: number }
  const world = new World({ seed: 1, signal: new AbortController().signal, log: () => undefined })
  const { counts, writeBuffer } = world
  const link: Link = new Link(
    world,
    {
      ...{ host: '127.0.0.1', port, isTls: false },
      ...{ clientId: 'a', token: 't', keepAliveSec: 60, localAddress: undefined, window: 4, nth: 0 },
      subscriptions: () => ['fleet/a/command'],
    },
    {
      will: () => ({ topic: 'fleet/a/status', payload: '{}' }),
      opened: () => undefined,
      closed: () => link.open(),
      message: () => undefined,
    },
  )
  link.open()
  await expect.poll(() => link.isOpen).toBe(true)
  const say = (...texts: readonly string[]) => {
    for (const text of texts) link.publish('fleet/a/telemetry', text, MESSAGE)
    writeBuffer.flush()
  }
  const texts = () => heard.map(({ payload }) => String(payload))
  return { link, peers, heard, texts, say, counts }
}

test('unacknowledged messages are sent again in order over the next connection, before those that waited', async () => {
  const { link, peers, heard, texts, say, counts } = await open()
  say('1', '2', '3', '4', '5', '6', '7')
  await expect.poll(texts).toEqual(['1', '2', '3', '4'])
  // Acknowledging the first two messages makes room for two more.
  for (const { messageId = 0 } of heard.slice(0, 2)) peers[0]?.write(Buffer.from([0x40, 2, 0, messageId]))
  await expect.poll(texts).toEqual(['1', '2', '3', '4', '5', '6'])
  expect(link.unacked).toBe(5)
  heard.length = 0
  peers[0]?.destroy()
  await expect.poll(texts).toEqual(['3', '4', '5', '6'])
  for (const { messageId = 0 } of heard) peers[1]?.write(Buffer.from([0x40, 2, 0, messageId]))
  await expect.poll(texts).toEqual(['3', '4', '5', '6', '7'])
  expect([link.unacked, counts.acked]).toEqual([1, 6])
  link.leave()
})

test('a message of QoS 0 is sent or dropped, and one of QoS 1 waits for the connection', async () => {
  const { link, texts, say } = await open()
  link.publish('fleet/a/telemetry', 'grüße', { qos: 0, retain: false })
  say('1')
  await expect.poll(texts).toEqual(['grüße', '1'])
  link.cut()
  link.publish('fleet/a/telemetry', 'lost', { qos: 0, retain: false })
  say('2')
  link.open()
  await expect.poll(texts).toEqual(['grüße', '1', '1', '2'])
  link.leave()
})

test('a message that is too large for any broker is sent once, so that the device recovers from it', async () => {
  const { link, peers, texts, say } = await open()
  const sizes = () => texts().map(({ length }) => length)
  const tooLarge = MQTT_LIMITS.payloadBytesMax + 1
  say('1', 'x'.repeat(tooLarge), '22')
  await expect.poll(sizes).toEqual([1, tooLarge, 2])
  peers[0]?.destroy()
  await expect.poll(sizes).toEqual([1, tooLarge, 2, 1, 2])
  link.leave()
})
