// A socket before its CONNACK. It may send one CONNECT, within limits of size and time, and nothing else.
import { Buffer } from 'node:buffer'
import { LIMITS } from '../../../limits.ts'
import { parseConnect } from './connect.ts'
import type { Connect } from './connect-fields.ts'
import { locate, type Span } from './packets.ts'
import type { Peer } from './peer.ts'

const CONNECT_FIRST_BYTE = 0x10

export class Handshake {
  readonly socket: Peer
  /** Monotonic milliseconds after which the connection is cut off. Postponed by the time that the whole process slept. */
  deadline: number
  /** Bytes that followed the CONNECT immediately. */
  rest: Buffer = Buffer.alloc(0)
  #received: Buffer = Buffer.alloc(0)
  readonly #onConnect: (connect: Connect) => void

  constructor(socket: Peer, deadline: number, onConnect: (connect: Connect) => void) {
    this.socket = socket
    this.deadline = deadline
    this.#onConnect = onConnect
    socket.on('data', this.#read)
  }

  /** Sends a refusal. The peer has until the deadline to read it. */
  refuse(reply: Uint8Array): void {
    this.#detach()
    this.socket.resume()
    this.socket.end(reply)
  }

  readonly #read = (chunk: Buffer): void => {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
    const received = this.#received
    const span: Span = { first: 0, bodyStart: 0, end: 0 }
    const located = locate(received, 0, span)
    const isWrong = received[0] !== CONNECT_FIRST_BYTE || located === 'malformed'
    // Judged by the length that the header claims, before a byte of the packet is collected.
    if (isWrong || span.end > LIMITS.connectBytesMax) {
      this.socket.destroy()
      return
    }
    if (located === 'incomplete') return
    this.#detach()
    this.socket.pause()
    this.rest = received.subarray(span.end)
    this.#received = Buffer.alloc(0)
    const parsed = parseConnect(received.subarray(0, span.end), span.bodyStart)
    if (parsed.kind === 'malformed') this.socket.destroy()
    else if (parsed.kind === 'refused') this.refuse(parsed.reply)
    else this.#onConnect(parsed.connect)
  }

  #detach(): void {
    this.socket.off('data', this.#read)
  }
}
