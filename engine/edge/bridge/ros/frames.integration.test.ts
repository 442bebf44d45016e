// Tests the connection to rosbridge against a server that writes its bytes in two pieces, cut at every possible place.
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FakeClock } from '../testing/fake-clock.ts'
import { Rosbridge } from './rosbridge.ts'

const CONTINUATION = 0
const TEXT = 1
const PING = 9
const PONG = 10
/** This constant is defined by RFC 6455. */
const KEY_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const SHORT_BYTES_MAX = 125

let server: Server
let upgraded: (request: IncomingMessage, socket: Duplex) => Promise<void>
let connections: Rosbridge[]
let sockets: Duplex[]

beforeEach(async () => {
  connections = []
  sockets = []
  server = createServer()
  server.on('upgrade', (request, socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined).resume()
    void upgraded(request, socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(async () => {
  for (const connection of connections) connection.close()
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})

function frame(opcode: number, payload: Buffer, isLast = true): Buffer {
  const head = Buffer.from([(isLast ? 0x80 : 0) | opcode, Math.min(payload.length, SHORT_BYTES_MAX + 1)])
  const length = Buffer.alloc(payload.length > SHORT_BYTES_MAX ? 2 : 0)
  if (length.length > 0) length.writeUInt16BE(payload.length)
  return Buffer.concat([head, length, payload])
}

const publish = (topic: string, data: string) =>
  Buffer.from(JSON.stringify({ op: 'publish', topic, msg: { data } }))

/** Returns messages in one frame and in several, with control frames in between and cuts within characters. */
function framesOf(): Buffer {
  const parts = publish('/parts', 'é漢🙂'.repeat(20))
  const cuts = [0, 47, 48, 170, parts.length]
  const pieces = cuts.slice(1).map((end, n) => parts.subarray(cuts[n], end))
  const [first = parts, second = parts, third = parts, last = parts] = pieces
  return Buffer.concat([
    frame(TEXT, publish('/whole', 'a')),
    frame(TEXT, first, false),
    frame(PING, Buffer.from('are you there')),
    frame(CONTINUATION, second, false),
    frame(CONTINUATION, Buffer.alloc(0), false),
    frame(PONG, Buffer.alloc(0)),
    frame(CONTINUATION, third, false),
    frame(PING, Buffer.alloc(0)),
    frame(CONTINUATION, last),
    frame(TEXT, publish('/after', 'b')),
    frame(TEXT, publish('/last', 'c')),
  ])
}

function answerTo({ headers }: IncomingMessage): Buffer {
  const accept = createHash('sha1').update(`${headers['sec-websocket-key']}${KEY_SUFFIX}`).digest('base64')
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade']
  return Buffer.from([...lines, `Sec-WebSocket-Accept: ${accept}`, '', ''].join('\r\n'))
}

test('messages arrive whole and in order, wherever the upgrade response and its frames are cut', async () => {
  const frames = framesOf()
  const clock = new FakeClock()
  const heard: string[][] = []
  const complaints: string[] = []
  const nothing = () => undefined
  let bytes = 0
  upgraded = async (request, socket) => {
    const cut = Number(request.url?.slice(1))
    const whole = Buffer.concat([answerTo(request), frames])
    bytes = whole.length
    await new Promise<unknown>((resolve) => socket.write(whole.subarray(0, cut), resolve))
    // Gives the client time to read the first piece separately.
    await setImmediate()
    await setImmediate()
    socket.write(whole.subarray(cut))
  }
  // A TCP server has an object as its address.
  const { port } = server.address() as AddressInfo
  const open = (cut: number) => {
    const topics: string[] = []
    heard.push(topics)
    const connection = new Rosbridge(
      {
        ...{ url: `ws://127.0.0.1:${port}/${cut}`, token: undefined, connectTimeoutMs: 60_000 },
        ...{ subscriptions: [], advertisements: [], clock, random: () => 0 },
      },
      {
        ...{
          opened: nothing,
          closed: (reason) => complaints.push(reason),
          unreachable: (reason) => complaints.push(reason),
        },
        message: (topic, { data }) => void topics.push(`${topic} ${String(data)}`),
        oversized: nothing,
        complaint: (text) => complaints.push(text),
      },
    )
    connections.push(connection)
    connection.open()
  }
  const wanted = ['/whole a', `/parts ${'é漢🙂'.repeat(20)}`, '/after b', '/last c']
  const isDone = () => {
    // Ends the pause of bursts, so that the rest is read.
    clock.pass(10)
    return heard.every((topics) => topics.length >= wanted.length)
  }
  open(0)
  await expect.poll(isDone, { interval: 1, timeout: 60_000 }).toBe(true)
  for (let cut = 1; cut < bytes; cut++) open(cut)
  await expect.poll(isDone, { interval: 1, timeout: 120_000 }).toBe(true)
  expect(complaints).toEqual([])
  for (const topics of heard) expect(topics).toEqual(wanted)
  expect(heard.length).toBe(bytes)
})
