// Turns MQTT in a WebSocket (RFC 6455, subprotocol `mqtt`) into the stream of bytes that it carries.
//
// Payload is passed on as it arrives: only the few bytes of a header or of a control frame are kept, so that a peer without
// a CONNACK cannot make the broker hold a whole message (R9). Frames may split MQTT packets anywhere. An invalid frame
// ends the connection with the matching close code. While the peer does not read, only its newest ping is kept to be
// answered [RFC 6455, 5.5.3], so pings that arrive faster than pongs leave need no memory.
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import { LIMITS } from '../../../limits.ts'
import type { Peer } from './peer.ts'

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const PATH = '/mqtt'
const PROTOCOL = 'mqtt'
const OPCODE = { continuation: 0, binary: 2, close: 8, ping: 9, pong: 10 } as const
const CLOSE = { normal: 1000, protocol: 1002, unsupported: 1003, policy: 1008 } as const
const CONTROL_BYTES_MAX = 125
const HEADER_BYTES_MAX = 14

/** The response that refuses an upgrade. Undefined if the request does ask for MQTT in a WebSocket. */
export function refuseUpgrade({ method, url, headers }: IncomingMessage): string | undefined {
  if ((url ?? '').split('?', 1)[0] !== PATH) return 'HTTP/1.1 404 Not Found'
  const isWebSocket =
    method === 'GET' &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers['sec-websocket-version'] === '13' &&
    headers['sec-websocket-key']?.length === 24
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim())
  return isWebSocket && offered.includes(PROTOCOL) ? undefined : 'HTTP/1.1 400 Bad Request'
}

export function acceptUpgrade({ headers }: IncomingMessage): string {
  const accept = createHash('sha1').update(`${headers['sec-websocket-key']}${GUID}`).digest('base64')
  return [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${accept}`,
    `Sec-WebSocket-Protocol: ${PROTOCOL}`,
    '\r\n',
  ].join('\r\n')
}

interface Frame {
  readonly opcode: number
  readonly mask: Uint8Array
  left: number
  /** Payload bytes read so far: the position in the mask. */
  at: number
  /** Payload of a control frame. */
  readonly body: Buffer[]
}

export class WebSocketPeer extends Duplex implements Peer {
  readonly remoteAddress: string | undefined
  readonly remotePort: number | undefined
  readonly localPort: number | undefined
  readonly #socket: Peer
  readonly #ticks: () => number
  #header = Buffer.alloc(0)
  #frame: Frame | undefined
  #isInMessage = false
  #hasClosed = false
  /** The newest ping, while the socket is too full for its answer. */
  #ping: readonly Buffer[] | undefined
  #controlFrames = 0
  /** Monotonic time at which the count of control frames began. */
  #countedFrom = 0
  /** True once nothing more is to be read. */
  #isReadingDone = false

  /** `ticks`: monotonic milliseconds. */
  constructor(socket: Peer, head: Buffer, ticks: () => number) {
    super()
    this.#socket = socket
    this.#ticks = ticks
    this.remoteAddress = socket.remoteAddress
    this.remotePort = socket.remotePort
    this.localPort = socket.localPort
    socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    socket.on('drain', () => this.#answerPing())
    socket.on('end', () => this.#endReading())
    socket.on('close', () => this.destroy())
    socket.on('error', () => {})
    if (head.length > 0) this.#receive(head)
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#send(OPCODE.binary, [chunk], done)
  }

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.#send(
      OPCODE.binary,
      chunks.map(({ chunk }) => chunk),
      done,
    )
  }

  override _final(done: () => void): void {
    this.#sendClose(CLOSE.normal)
    this.#socket.end(() => done())
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy()
    done(error)
  }

  #receive(chunk: Buffer): void {
    let from = 0
    while (from < chunk.length && !this.#isReadingDone) {
      if (this.#frame === undefined) from += this.#readHeader(chunk.subarray(from))
      else from += this.#readBody(this.#frame, chunk.subarray(from))
      if (this.#frame?.left === 0) this.#end(this.#frame)
    }
  }

  /** Returns the number of bytes consumed. */
  #readHeader(chunk: Buffer): number {
    const before = this.#header.length
    const header = Buffer.concat([this.#header, chunk.subarray(0, HEADER_BYTES_MAX - before)])
    const size = headerSize(header)
    if (size === undefined || header.length < size) {
      this.#header = header
      return header.length - before
    }
    this.#header = Buffer.alloc(0)
    this.#begin(header.subarray(0, size))
    return size - before
  }

  #begin(header: Buffer): void {
    const [first = 0, second = 0] = header
    const opcode = first & 0x0f
    const short = second & 0x7f
    const left =
      short < 126 ? short : short === 126 ? header.readUInt16BE(2) : Number(header.readBigUInt64BE(2))
    const isControl = opcode >= OPCODE.close
    const isFinal = (first & 0x80) !== 0
    const isWrong =
      (first & 0x70) !== 0 ||
      (second & 0x80) === 0 ||
      left > Number.MAX_SAFE_INTEGER ||
      (isControl
        ? !isFinal || left > CONTROL_BYTES_MAX || opcode > OPCODE.pong
        : (opcode === OPCODE.continuation) !== this.#isInMessage)
    const isUnknown = !isControl && opcode !== OPCODE.binary && opcode !== OPCODE.continuation
    if (isWrong || isUnknown) {
      this.#fail(isWrong ? CLOSE.protocol : CLOSE.unsupported)
      return
    }
    if (isControl && this.#isFlood()) {
      this.#fail(CLOSE.policy)
      return
    }
    if (!isControl) this.#isInMessage = !isFinal
    this.#frame = { opcode, mask: header.subarray(-4), left, at: 0, body: [] }
  }

  #readBody(frame: Frame, chunk: Buffer): number {
    // A copy to unmask, since the chunk belongs to the socket.
    const bytes = Buffer.from(chunk.subarray(0, frame.left))
    for (let index = 0; index < bytes.length; index++)
      bytes[index] = (bytes[index] ?? 0) ^ (frame.mask[(frame.at + index) & 3] ?? 0)
    frame.at += bytes.length
    frame.left -= bytes.length
    if (frame.opcode >= OPCODE.close) frame.body.push(bytes)
    else if (!this.push(bytes)) this.#socket.pause()
    return bytes.length
  }

  #end({ opcode, body }: Frame): void {
    this.#frame = undefined
    if (opcode === OPCODE.ping) {
      this.#ping = body
      this.#answerPing()
    }
    if (opcode !== OPCODE.close) return
    this.#sendClose(CLOSE.normal)
    this.#endReading()
  }

  #answerPing(): void {
    if (this.#ping === undefined || this.#socket.writableNeedDrain) return
    this.#send(OPCODE.pong, this.#ping, () => {})
    this.#ping = undefined
  }

  #isFlood(): boolean {
    const now = this.#ticks()
    if (now - this.#countedFrom >= 1_000) {
      this.#countedFrom = now
      this.#controlFrames = 0
    }
    return ++this.#controlFrames > LIMITS.webSocketControlFramesPerSecMax
  }

  #fail(code: number): void {
    this.#sendClose(code)
    this.#socket.end(() => this.destroy())
    this.#endReading()
  }

  #endReading(): void {
    if (this.#isReadingDone) return
    this.#isReadingDone = true
    this.push(null)
  }

  #sendClose(code: number): void {
    if (this.#hasClosed) return
    this.#send(OPCODE.close, [Buffer.from([code >> 8, code & 0xff])], () => {})
    this.#hasClosed = true
  }

  #send(opcode: number, parts: readonly Buffer[], done: () => void): void {
    // Nothing may follow a close frame.
    if (this.#hasClosed || !this.#socket.writable) {
      done()
      return
    }
    const length = parts.reduce((sum, part) => sum + part.length, 0)
    this.#socket.write(Buffer.concat([headerOf(opcode, length), ...parts]), () => done())
  }
}

/** Undefined until the second byte has arrived. Counts the mask in any case: a frame without one is refused anyway. */
function headerSize([, second]: Buffer): number | undefined {
  if (second === undefined) return undefined
  const short = second & 0x7f
  return 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + 4
}

function headerOf(opcode: number, length: number): Buffer {
  const first = 0x80 | opcode
  if (length < 126) return Buffer.from([first, length])
  if (length < 0x1_0000) return Buffer.from([first, 126, length >> 8, length & 0xff])
  const header = Buffer.alloc(10)
  header[0] = first
  header[1] = 127
  header.writeBigUInt64BE(BigInt(length), 2)
  return header
}
