// A WebSocket client (RFC 6455), as small as /ws needs: text both ways, answers to pings, the reason of a close.
// Node 20 has none of its own.
import { createHash, randomBytes } from 'node:crypto'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Duplex } from 'node:stream'
import { decodeFrames, encodeFrame, type Frame, OPCODES } from './socket-frames.ts'

export interface Socket {
  send(text: string): void
  close(): void
  /** The texts that come, up to the close. */
  texts(): AsyncGenerator<string, SocketEnd, undefined>
}

export interface SocketEnd {
  /** 1006 where the connection broke without a word. */
  readonly code: number
  readonly reason: string
}

const BROKEN: SocketEnd = { code: 1006, reason: 'the connection broke' }
const ACCEPT_KEY = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const OPEN_MS = 10_000
/** The service pings every 30 s. */
const SILENCE_MS = 95_000

export async function openSocket(url: URL, signal: AbortSignal): Promise<Socket> {
  const key = randomBytes(16).toString('base64')
  const { stream, head } = await upgrade(url, key, signal)
  return socketOn(stream, head, signal)
}

function upgrade(url: URL, key: string, signal: AbortSignal): Promise<{ stream: Duplex; head: Buffer }> {
  const headers = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': key,
    'sec-websocket-protocol': 'fleet.v1',
  }
  return new Promise((resolve, reject) => {
    const ask = url.protocol === 'https:' ? requestHttps : requestHttp
    const asking = ask(url, { headers, signal, timeout: OPEN_MS })
    asking.once('timeout', () => asking.destroy(new Error('no answer')))
    asking.once('error', reject)
    asking.once('response', (response: IncomingMessage) => {
      response.resume()
      reject(new Error(`no WebSocket there: HTTP ${response.statusCode}`))
    })
    asking.once('upgrade', (response, stream, head) => {
      const accepted = createHash('sha1').update(`${key}${ACCEPT_KEY}`).digest('base64')
      response.socket.setTimeout(SILENCE_MS, () => stream.destroy())
      if (response.headers['sec-websocket-accept'] === accepted) return resolve({ stream, head })
      stream.destroy()
      reject(new Error('no WebSocket there: the handshake is wrong'))
    })
    asking.end()
  })
}

function socketOn(stream: Duplex, head: Buffer, signal: AbortSignal): Socket {
  const close = () => {
    if (stream.writable) stream.end(encodeFrame(OPCODES.close, Buffer.from([0x03, 0xe8])))
    stream.destroy()
  }
  signal.addEventListener('abort', close, { once: true })
  // The end is told by `texts`; what went wrong on the way to it says no more.
  stream.on('error', () => undefined)
  return {
    send: (text) => void stream.write(encodeFrame(OPCODES.text, Buffer.from(text))),
    close,
    async *texts() {
      try {
        for await (const frame of decodeFrames(bytesOf(stream, head))) {
          if (frame.opcode === OPCODES.text) yield frame.body.toString('utf8')
          if (frame.opcode === OPCODES.ping) stream.write(encodeFrame(OPCODES.pong, frame.body))
          if (frame.opcode === OPCODES.close) return toEnd(frame)
        }
        return BROKEN
      } finally {
        signal.removeEventListener('abort', close)
        stream.destroy()
      }
    },
  }
}

async function* bytesOf(stream: Duplex, head: Buffer): AsyncGenerator<Buffer, void, undefined> {
  if (head.length > 0) yield head
  try {
    // A socket without an encoding gives buffers.
    for await (const chunk of stream) yield chunk as Buffer
  } catch {
    // Broken, or closed by us: either way it is over.
  }
}

function toEnd({ body }: Frame): SocketEnd {
  return body.length < 2
    ? { code: 1005, reason: '' }
    : { code: body.readUInt16BE(0), reason: body.toString('utf8', 2) }
}
