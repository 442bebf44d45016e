import { Buffer } from 'node:buffer'
import { duplexPair } from 'node:stream'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LIMITS } from '../../../limits.ts'
import { until } from '../testing/fake-host.ts'
import { WebSocketPeer } from './websocket.ts'

const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 }

/** A client's frame. */
function frame(
  opcode: number,
  payload: Uint8Array,
  { isFinal = true, isMasked = true, reserved = 0 } = {},
): Buffer {
  const { length } = payload
  const extended = Buffer.alloc(length < 126 ? 0 : length < 0x1_0000 ? 2 : 8)
  if (extended.length === 2) extended.writeUInt16BE(length)
  if (extended.length === 8) extended.writeBigUInt64BE(BigInt(length))
  const short = length < 126 ? length : length < 0x1_0000 ? 126 : 127
  const mask = Buffer.from([0x12, 0x34, 0x56, 0x78])
  return Buffer.concat([
    Buffer.from([(isFinal ? 0x80 : 0) | (reserved << 4) | opcode, (isMasked ? 0x80 : 0) | short]),
    extended,
    isMasked ? mask : Buffer.alloc(0),
    isMasked
      ? Buffer.from(payload.map((byte, index) => byte ^ (mask[index & 3] ?? 0)))
      : Buffer.from(payload),
  ])
}

function open(head: Buffer = Buffer.alloc(0), ticks = () => 0) {
  const [client, server] = duplexPair()
  const peer = new WebSocketPeer(server, head, ticks)
  const read: Buffer[] = []
  const said: Buffer[] = []
  peer.on('data', (chunk: Buffer) => read.push(chunk))
  client.on('data', (chunk: Buffer) => said.push(chunk))
  return { client, peer, read: () => Buffer.concat(read), said: () => Buffer.concat(said) }
}

const bytesOf = (length: number) => Buffer.from(Array.from({ length }, (_, index) => index & 0xff))
const closing = (code: number) => Buffer.from([0x88, 2, code >> 8, code & 0xff])

test('payload comes out as it went in, however frames and reads cut it', async () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(pieces, fc.infiniteStream(fc.integer({ min: 1, max: 40 })), async (payloads, cuts) => {
      const frames = payloads.map((payload, index) =>
        frame(index === 0 ? OPCODE.binary : OPCODE.continuation, payload, {
          isFinal: index === payloads.length - 1,
        }),
      )
      const { client, read } = open()
      let rest = Buffer.concat([
        ...frames,
        frame(OPCODE.ping, Buffer.from('x')),
        frame(OPCODE.binary, Buffer.from('end')),
      ])
      while (rest.length > 0) {
        const length = cuts.next().value ?? 1
        client.write(rest.subarray(0, length))
        rest = rest.subarray(length)
      }
      const expected = Buffer.concat([...payloads, Buffer.from('end')])
      await until(() => read().length >= expected.length, 'the payload')
      expect(read()).toEqual(expected)
    }),
    { numRuns: 100 },
  )
})

test.each([5, 125, 126, 65_535, 65_536, 300_000])('%i bytes pass in one frame, both ways', async (length) => {
  const { client, peer, read, said } = open()
  client.write(frame(OPCODE.binary, bytesOf(length)))
  await until(() => read().length === length, 'the payload')
  // Compared as a whole, since a comparison byte by byte takes seconds.
  expect(read().equals(bytesOf(length))).toBe(true)
  peer.write(bytesOf(length))
  const header = length < 126 ? 2 : length < 0x1_0000 ? 4 : 10
  await until(() => said().length === length + header, 'the frame')
  expect(said().subarray(header).equals(bytesOf(length))).toBe(true)
  expect(said()[0]).toBe(0x82)
})

test('bytes that came with the upgrade are read first', async () => {
  const { client, read } = open(frame(OPCODE.binary, Buffer.from('one')))
  client.write(frame(OPCODE.binary, Buffer.from('two')))
  await until(() => read().length === 6, 'both')
  expect(read().toString()).toBe('onetwo')
})

test('a ping is answered, in the middle of a message too', async () => {
  const { client, said } = open()
  client.write(frame(OPCODE.binary, Buffer.from('a'), { isFinal: false }))
  client.write(frame(OPCODE.ping, Buffer.from('still there?')))
  await until(() => said().length > 0, 'the pong')
  expect(said()).toEqual(Buffer.concat([Buffer.from([0x8a, 12]), Buffer.from('still there?')]))
})

test('a peer that takes no answers to its pings gets only the answer to the newest', async () => {
  const [client, server] = duplexPair()
  let now = 0
  // A second passes between two pings, so there are never too many of them.
  const peer = new WebSocketPeer(server, Buffer.alloc(0), () => (now += 1_000))
  peer.resume()
  const count = 1_000
  for (let index = 0; index <= count; index++)
    client.write(frame(OPCODE.ping, Buffer.from(`${index}`.padEnd(125, '.'))))
  await until(() => client.writableLength === 0, 'the pings to be read')
  expect(server.writableLength).toBeLessThanOrEqual(server.writableHighWaterMark + 127)
  const said: Buffer[] = []
  client.on('data', (chunk: Buffer) => said.push(chunk))
  await until(() => Buffer.concat(said).includes(`${count}.`), 'the answer to the newest')
  expect(Buffer.concat(said).length).toBeLessThan((count * 127) / 2)
})

test('a peer that sends more control frames in a second than anyone needs is ended', async () => {
  const { client, peer, said } = open()
  const closed = new Promise((resolve) => peer.once('close', resolve))
  for (let index = 0; index <= LIMITS.webSocketControlFramesPerSecMax; index++)
    client.write(frame(OPCODE.pong, Buffer.alloc(0)))
  await closed
  expect(said().subarray(-4)).toEqual(closing(1008))
})

test('a close frame is answered, and nothing is read after it', async () => {
  const { client, peer, said } = open()
  const ended = new Promise((resolve) => peer.once('end', resolve))
  client.write(frame(OPCODE.close, Buffer.from([0x03, 0xe8])))
  await ended
  await until(() => said().length > 0, 'the goodbye')
  expect(said()).toEqual(closing(1000))
})

test.each([
  ['is not masked', frame(OPCODE.binary, bytesOf(8), { isMasked: false }), 1002],
  ['sets a reserved bit', frame(OPCODE.binary, bytesOf(8), { reserved: 4 }), 1002],
  ['continues nothing', frame(OPCODE.continuation, bytesOf(8)), 1002],
  [
    'that interrupts a message',
    Buffer.concat([frame(OPCODE.binary, bytesOf(8), { isFinal: false }), frame(OPCODE.binary, bytesOf(8))]),
    1002,
  ],
  ['is a control frame in parts', frame(OPCODE.ping, bytesOf(8), { isFinal: false }), 1002],
  ['is a control frame that is too long', frame(OPCODE.ping, bytesOf(126)), 1002],
  ['is of an unknown kind', frame(11, bytesOf(8)), 1002],
  [
    'longer than anything',
    Buffer.from([0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4]),
    1002,
  ],
  ['is text', frame(OPCODE.text, bytesOf(8)), 1003],
])('a frame %s ends the connection, and says why', async (_, bytes, code) => {
  const { client, peer, said } = open()
  const closed = new Promise((resolve) => peer.once('close', resolve))
  client.write(bytes)
  await closed
  await until(() => said().length > 0, 'the goodbye')
  expect(said()).toEqual(closing(code))
})

test('nothing is kept for a frame that is announced and does not come', async () => {
  const { client, peer, read } = open()
  client.write(Buffer.from([0x82, 0xff, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]))
  client.write(bytesOf(1_000))
  await until(() => read().length === 1_000, 'the first part')
  expect([peer.readableLength, peer.destroyed]).toEqual([0, false])
})
