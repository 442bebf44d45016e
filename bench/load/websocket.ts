// A small WebSocket client (RFC 6455) for text frames, so that measuring /ws needs no package.
import { randomBytes } from 'node:crypto'
import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'

const OPCODE = { continuation: 0, text: 1, close: 8, ping: 9, pong: 10 } as const

export interface WsFrame {
  readonly opcode: number
  readonly isFinal: boolean
  readonly payload: Buffer
}

/** Reads the frames of a server at the start of `bytes`, and returns the rest. */
export function parseFrames(bytes: Buffer): { readonly frames: readonly WsFrame[]; readonly rest: Buffer } {
  const frames: WsFrame[] = []
  let at = 0
  while (at + 2 <= bytes.length) {
    const short = (bytes[at + 1] ?? 0) & 0x7f
    const header = short === 126 ? 4 : short === 127 ? 10 : 2
    if (at + header > bytes.length) break
    const length =
      short === 126
        ? bytes.readUInt16BE(at + 2)
        : short === 127
          ? Number(bytes.readBigUInt64BE(at + 2))
          : short
    const end = at + header + length
    if (end > bytes.length) break
    const first = bytes[at] ?? 0
    frames.push({
      opcode: first & 0x0f,
      isFinal: (first & 0x80) !== 0,
      payload: bytes.subarray(at + header, end),
    })
    at = end
  }
  return { frames, rest: bytes.subarray(at) }
}

/** Encodes a masked frame, which a client has to send. */
export function encodeFrame(opcode: number, payload: Buffer, mask: Buffer): Buffer {
  const { length } = payload
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10)
  head[0] = 0x80 | opcode
  head[1] = 0x80 | (length < 126 ? length : length < 65_536 ? 126 : 127)
  if (head.length === 4) head.writeUInt16BE(length, 2)
  if (head.length === 10) head.writeBigUInt64BE(BigInt(length), 2)
  const masked = Buffer.alloc(length)
  for (let at = 0; at < length; at++) masked[at] = (payload[at] ?? 0) ^ (mask[at & 3] ?? 0)
  return Buffer.concat([head, mask, masked])
}

export class WebSocketClient {
  readonly #socket: Socket
  readonly #onText: (text: string) => void
  #rest: Buffer = Buffer.alloc(0)
  #parts: Buffer[] = []

  static open(url: string, onText: (text: string) => void): Promise<WebSocketClient> {
    return new Promise((resolve, reject) => {
      const headers = {
        Connection: 'Upgrade',
        Upgrade: 'websocket',
        'Sec-WebSocket-Version': '13',
        'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
      }
      const handshake = request(url.replace(/^ws/, 'http'), { headers, agent: false })
      handshake.on('error', reject)
      handshake.on('response', ({ statusCode }: IncomingMessage) =>
        reject(new Error(`/ws answered ${statusCode}`)),
      )
      handshake.on('upgrade', (_, socket: Socket, head: Buffer) => {
        const client = new WebSocketClient(socket, onText)
        client.#onBytes(head)
        resolve(client)
      })
      handshake.end()
    })
  }

  private constructor(socket: Socket, onText: (text: string) => void) {
    this.#socket = socket
    this.#onText = onText
    socket.setNoDelay(true)
    socket.on('data', (bytes: Buffer) => this.#onBytes(bytes))
    // If the socket breaks, events do not arrive, and the caller counts that.
    socket.on('error', () => socket.destroy())
  }

  send(text: string): void {
    this.#write(OPCODE.text, Buffer.from(text))
  }

  close(): void {
    this.#write(OPCODE.close, Buffer.from([0x03, 0xe8]))
    this.#socket.end()
  }

  #write(opcode: number, payload: Buffer): void {
    if (this.#socket.writable) this.#socket.write(encodeFrame(opcode, payload, randomBytes(4)))
  }

  #onBytes(bytes: Buffer): void {
    const { frames, rest } = parseFrames(this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]))
    this.#rest = rest
    for (const frame of frames) this.#onFrame(frame)
  }

  #onFrame({ opcode, isFinal, payload }: WsFrame): void {
    if (opcode === OPCODE.ping) this.#write(OPCODE.pong, payload)
    if (opcode === OPCODE.close) this.#socket.end()
    if (opcode !== OPCODE.text && opcode !== OPCODE.continuation) return
    this.#parts.push(payload)
    if (!isFinal) return
    const text = Buffer.concat(this.#parts).toString()
    this.#parts = []
    this.#onText(text)
  }
}
