import mqttPacket from 'mqtt-packet'
import { expect, test } from 'vitest'
import {
  AckReader,
  DISCONNECT,
  encodeConnect,
  encodePublish,
  encodeRing,
  encodeSubscribe,
  PacketReader,
} from './packets.ts'

function parse(bytes: Buffer): mqttPacket.Packet[] {
  const packets: mqttPacket.Packet[] = []
  const parser = mqttPacket.parser()
  parser.on('packet', (packet) => packets.push(packet))
  parser.parse(bytes)
  return packets
}

test('CONNECT carries the device id as client id and user name, and the token', () => {
  const packet = parse(encodeConnect({ clientId: 'd1', password: 'x'.repeat(300), keepAliveSec: 600 }))[0]
  expect(packet).toMatchObject({
    cmd: 'connect',
    clientId: 'd1',
    username: 'd1',
    password: Buffer.from('x'.repeat(300)),
    keepalive: 600,
    clean: true,
    protocolVersion: 4,
  })
})

test('an anonymous CONNECT has neither user name nor password', () => {
  const packet = parse(encodeConnect({ clientId: 'd1', password: undefined, keepAliveSec: 60 }))[0]
  expect(packet).toMatchObject({ cmd: 'connect', clientId: 'd1' })
  expect(packet).not.toHaveProperty('username')
})

test('PUBLISH has QoS 1 and a packet id, also beyond 127 bytes', () => {
  const payload = Buffer.alloc(200, 'a')
  const packet = parse(encodePublish({ topic: 'fleet/d1/telemetry', payload, packetId: 513 }))[0]
  expect(packet).toMatchObject({
    cmd: 'publish',
    qos: 1,
    messageId: 513,
    topic: 'fleet/d1/telemetry',
    payload,
  })
})

test('any run of a ring is one slice with consecutive ids', () => {
  const payloads = ['aa', 'bb', 'cc'].map((value) => Buffer.from(value))
  const ring = encodeRing({ topic: 't', payloads, offset: 2, size: 4 })
  const slice = ring.bytes.subarray(3 * ring.packetBytes, 6 * ring.packetBytes)
  expect(parse(slice)).toMatchObject([
    { messageId: 4, payload: Buffer.from('cc') },
    { messageId: 1, payload: Buffer.from('cc') },
    { messageId: 2, payload: Buffer.from('aa') },
  ])
})

test('payloads of different lengths are refused', () => {
  const payloads = [Buffer.from('a'), Buffer.from('bb')]
  expect(() => encodeRing({ topic: 't', payloads, offset: 0, size: 2 })).toThrow('differ in length')
})

test('PUBACKs are counted wherever the bytes are split', () => {
  const bytes = Buffer.from([0x20, 2, 0, 0, 0x40, 2, 0, 1, 0xd0, 0, 0x40, 2, 0, 2, 0x40, 2, 1, 3])
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const reader = new AckReader()
      const parts = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]
      const acks = parts.reduce((sum, part) => sum + reader.read(part, part.length), 0)
      expect({ acks, connack: reader.connack, lastId: reader.lastId }).toEqual({
        acks: 3,
        connack: 0,
        lastId: 259,
      })
    }
  }
})

test('a packet that no publisher should get is an error', () => {
  expect(() => new AckReader().read(Buffer.from([0x30, 2]), 2)).toThrow('unexpected packet 0x30')
})

test('packets of any kind and length are recognised wherever the bytes are split', () => {
  const short = encodePublish({ topic: 't', payload: Buffer.from('x'), packetId: 7 })
  const long = encodePublish({ topic: 't', payload: Buffer.alloc(20_000, 'y'), packetId: 8 })
  const bytes = Buffer.concat([short, encodeSubscribe('fleet/a/command', 1), long, DISCONNECT])
  for (const cut of [1, 2, short.length, short.length + 1, short.length + 30, bytes.length]) {
    const reader = new PacketReader()
    const packets = [...reader.read(bytes.subarray(0, cut)), ...reader.read(bytes.subarray(cut))]
    expect(packets.map(({ head, body }) => [head, body.length])).toEqual([
      [0x32, short.length - 2],
      [0x82, 20],
      [0x32, long.length - 4],
      [0xe0, 0],
    ])
  }
})
