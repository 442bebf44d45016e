// A small WebSocket client for tests, on a bare socket. It can stop reading, and send invalid frames.
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'

export interface ReceivedFrame {
  readonly type: string
  readonly [key: string]: unknown
}

export interface RawClient {
  readonly socket: Socket
  /** The status line and headers of the handshake. */
  readonly handshake: string
  /** Every text frame so far. */
  readonly frames: readonly ReceivedFrame[]
  readonly closed: { readonly code: number; readonly reason: string } | undefined
  send(frame: unknown): void
  sendText(text: string, opcode?: number): void
  /** Resolves with the first matching frame, past or future. */
  next(type: string, fits?: (frame: ReceivedFrame) => boolean): Promise<ReceivedFrame>
  until(condition: () => boolean, what?: string): Promise<void>
  close(): void
}

export interface Dial {
  readonly port: number
  readonly path?: string
  readonly protocols?: string
  readonly headers?: Readonly<Record<string, string>>
}

const DEADLINE_MS = 60_000

export async function dial({ port, path = '/ws', protocols, headers = {} }: Dial): Promise<RawClient> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  const lines = [
    `GET ${path} HTTP/1.1`,
    'host: localhost',
    'upgrade: websocket',
    'connection: Upgrade',
    `sec-websocket-key: ${randomBytes(16).toString('base64')}`,
    'sec-websocket-version: 13',
    ...(protocols === undefined ? [] : [`sec-websocket-protocol: ${protocols}`]),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ]
  const client = new Client(socket)
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  await client.until(() => client.handshake !== '' || socket.destroyed, 'the handshake')
  return client
}

class Client implements RawClient {
  readonly socket: Socket
  readonly frames: ReceivedFrame[] = []
  readonly #watchers = new Set<() => void>()
  handshake = ''
  closed: { readonly code: number; readonly reason: string } | undefined
  #chunks: Buffer[] = []
  #bytes = 0

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk)
      this.#bytes += chunk.length
      this.#read()
      for (const watcher of [...this.#watchers]) watcher()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      for (const watcher of [...this.#watchers]) watcher()
    })
  }

  send(frame: unknown): void {
    this.sendText(JSON.stringify(frame))
  }

  sendText(text: string, opcode = 1): void {
    const body = Buffer.from(text)
    const head = headOf(body.length, opcode)
    const mask = randomBytes(4)
    for (let i = 0; i < body.length; i++) body[i] = (body[i] ?? 0) ^ (mask[i & 3] ?? 0)
    this.socket.write(Buffer.concat([head, mask, body]))
  }

  async next(type: string, fits: (frame: ReceivedFrame) => boolean = () => true): Promise<ReceivedFrame> {
    const find = () => this.frames.find((frame) => frame.type === type && fits(frame))
    await this.until(() => find() !== undefined, `a frame ${type}`)
    return find() ?? { type }
  }

  until(condition: () => boolean, what = 'a condition'): Promise<void> {
    return new Promise((resolve, reject) => {
      const finish = (error?: Error) => {
        clearTimeout(timer)
        this.#watchers.delete(check)
        if (error === undefined) resolve()
        else reject(error)
      }
      const check = () => {
        if (condition()) finish()
      }
      const timer = setTimeout(() => {
        const seen = JSON.stringify(this.frames.slice(-5))
        finish(new Error(`${what} did not come; closed: ${JSON.stringify(this.closed)}; last: ${seen}`))
      }, DEADLINE_MS)
      this.#watchers.add(check)
      check()
    })
  }

  close(): void {
    this.socket.destroy()
  }

  #read(): void {
    const bytes =
      this.#chunks.length === 1 ? (this.#chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#chunks)
    let at = 0
    if (this.handshake === '') {
      const end = bytes.indexOf('\r\n\r\n')
      if (end < 0) return
      this.handshake = bytes.toString('latin1', 0, end)
      at = end + 4
    }
    // Frames follow only if the upgrade succeeded.
    while (this.handshake.startsWith('HTTP/1.1 101') && this.#bytes - at >= 2) {
      const short = (bytes[at + 1] ?? 0) & 127
      const head = short < 126 ? 2 : short === 126 ? 4 : 10
      if (bytes.length - at < head) break
      const length =
        short < 126
          ? short
          : short === 126
            ? bytes.readUInt16BE(at + 2)
            : Number(bytes.readBigUInt64BE(at + 2))
      if (bytes.length - at < head + length) break
      this.#take((bytes[at] ?? 0) & 15, bytes.subarray(at + head, at + head + length))
      at += head + length
    }
    const rest = bytes.subarray(at)
    this.#chunks = rest.length > 0 ? [rest] : []
    this.#bytes = rest.length
  }

  #take(opcode: number, body: Buffer): void {
    // The tests' own server wrote the frame.
    if (opcode === 1) this.frames.push(JSON.parse(body.toString()) as ReceivedFrame)
    if (opcode === 8) {
      this.closed = { code: body.readUInt16BE(0), reason: body.toString('utf8', 2) }
      this.socket.end()
    }
  }
}

function headOf(length: number, opcode: number): Buffer {
  const first = 0x80 | opcode
  if (length < 126) return Buffer.from([first, 0x80 | length])
  const head = Buffer.alloc(length < 65_536 ? 4 : 10)
  head[0] = first
  head[1] = 0x80 | (length < 65_536 ? 126 : 127)
  if (length < 65_536) head.writeUInt16BE(length, 2)
  else head.writeBigUInt64BE(BigInt(length), 2)
  return head
}
