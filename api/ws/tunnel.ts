// Serves REST and /ws on one public port: an upgrade request to the HTTP server is replayed to the WebSocket server on
// loopback, and the two sockets are connected.
// - Only headers that the handshake needs are passed on. So nobody outside can pretend to come through a tunnel, and a
//   browser's cookies cannot overflow the other side's header buffer (4 KiB).
// - Backpressure works in both directions: at most one read and one high-water mark of bytes are buffered in between.
// - When one side closes, bytes in flight still reach the other within the linger time, unless a new client needs the
//   place. Otherwise peers that never take the last bytes could keep others out, even without a login.
import type { IncomingMessage, Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Schedule } from '../../engine/ports/schedule.ts'
import { endSocket } from '../../engine/sockets/end-socket.ts'
import { toProblem } from '../../schemas/problem.ts'
import { REFUSALS } from '../../schemas/refusals.ts'
import { SOCKET_PATHS } from '../../schemas/ws.ts'
import { refusal, type SocketRefusal } from './refusal-frame.ts'

export const SECRET_HEADER = 'x-fleet-tunnel-secret'
export const TUNNEL_HEADER = 'x-fleet-tunnel'
export const CLIENT_HEADER = 'x-fleet-client'

export interface TunnelsOptions {
  /** Loopback port of the WebSocket server. */
  readonly port: number
  readonly secret: string
  readonly tunnelsMax: number
  readonly lingerMs: number
  readonly isKnownHost: (header: string | undefined) => boolean
  /** The address of a request's sender. */
  readonly clientOf: (request: IncomingMessage) => string
  readonly schedule: Pick<Schedule, 'after'>
  readonly onRefused: () => void
}

/** [RFC 6455 4.1] 16 bytes in base64. */
const HANDSHAKE_KEY = /^[+/0-9A-Za-z]{22}==$/
const SWITCHING_PROTOCOLS = 'HTTP/1.1 101'

const PASSED_HEADERS = new Set([
  'authorization',
  'host',
  'origin',
  'upgrade',
  'connection',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-protocol',
])

export class Tunnels {
  readonly #options: TunnelsOptions
  readonly #open = new Map<string, Tunnel>()
  #isClosing = false
  #onEmpty: (() => void) | undefined
  #next = 0

  constructor(options: TunnelsOptions) {
    this.#options = options
  }

  attach(server: Server): void {
    server.on('upgrade', (request, socket, head) => {
      // Node hands over the request's net.Socket; the type allows for other streams.
      const outer = socket as Socket
      if (isForSockets(request)) this.#accept(request, outer, head)
      else replay(server, request, outer, head)
    })
  }

  find(id: string): Tunnel | undefined {
    return this.#open.get(id)
  }

  /** Resolves when all tunnels are gone. Those that do not close by themselves are cut after the linger time. */
  async close(): Promise<void> {
    this.#isClosing = true
    if (this.#open.size === 0) return
    const { schedule, lingerMs } = this.#options
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve
    })
    const stop = schedule.after(lingerMs, () => {
      for (const tunnel of [...this.#open.values()]) tunnel.cut()
    })
    await empty
    stop()
  }

  #accept(request: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on('error', ignoreError)
    const refused = this.#refusalOf(request)
    if (refused !== undefined) {
      this.#options.onRefused()
      refuse(socket, refused)
      return
    }
    this.#next += 1
    const id = String(this.#next)
    const { port, secret, clientOf } = this.#options
    const inner = connect({ host: '127.0.0.1', port, noDelay: true })
    const tunnel = new Tunnel(socket, inner, this.#options, () => this.#closed(id))
    this.#open.set(id, tunnel)
    // uWebSockets.js drops bytes that arrive with the request. A client may send frames only after the answer, but some do
    // not wait.
    inner.once('data', () => {
      inner.write(head)
      socket.resume()
    })
    const own = { [SECRET_HEADER]: secret, [TUNNEL_HEADER]: id, [CLIENT_HEADER]: clientOf(request) }
    inner.write(headOf(request, own), 'latin1')
    socket.pause()
  }

  #refusalOf({ headers }: IncomingMessage): SocketRefusal | undefined {
    const isFull = this.#open.size >= this.#options.tunnelsMax
    if (this.#isClosing || (isFull && !this.#cutClosing())) return refusal('DEPENDENCY_UNAVAILABLE')
    if (!this.#options.isKnownHost(headers.host)) return refusal('MISDIRECTED_REQUEST')
    const isHandshake =
      HANDSHAKE_KEY.test(headers['sec-websocket-key'] ?? '') && headers['sec-websocket-version'] === '13'
    return isHandshake ? undefined : refusal('BAD_REQUEST', 'a handshake of WebSocket version 13 is expected')
  }

  /** Cuts the first tunnel that only waits for its client to take the last bytes. */
  #cutClosing(): boolean {
    for (const [id, tunnel] of this.#open) {
      if (!tunnel.isClosing) continue
      this.#open.delete(id)
      tunnel.cut()
      return true
    }
    return false
  }

  #closed(id: string): void {
    this.#open.delete(id)
    if (this.#open.size === 0) this.#onEmpty?.()
  }
}

export class Tunnel {
  readonly #outer: Socket
  readonly #inner: Socket
  readonly #options: Pick<TunnelsOptions, 'schedule' | 'lingerMs'>
  readonly #onClosed: () => void
  readonly #before: number
  #closeFrame: Buffer | undefined
  #hasAnswered = false
  #stopTimer: (() => void) | undefined
  /** Called when the client has taken bytes. */
  onProgress: (() => void) | undefined

  constructor(
    outer: Socket,
    inner: Socket,
    options: Pick<TunnelsOptions, 'schedule' | 'lingerMs'>,
    onClosed: () => void,
  ) {
    this.#outer = outer
    this.#inner = inner
    this.#options = options
    this.#onClosed = onClosed
    // Excludes earlier answers on the same connection.
    this.#before = outer.bytesWritten
    outer.setTimeout(0)
    outer.setNoDelay(true)
    outer.setKeepAlive(true, 30_000)
    this.#connectSockets()
  }

  /** True once the other side has closed, or is about to. */
  get isClosing(): boolean {
    return this.#stopTimer !== undefined
  }

  /** Bytes of frames that the client's kernel has taken. */
  deliveredBytes(): number {
    return this.#outer.bytesWritten - this.#outer.writableLength - this.#before
  }

  /** Sets the client's last frame, for the case that the other side closes without one. */
  setCloseFrame(code: number, text: string): void {
    const body = Buffer.from(text)
    this.#closeFrame = Buffer.concat([Buffer.from([0x88, body.length + 2, code >> 8, code & 0xff]), body])
  }

  /** The close frame was sent. A client that does not take it is cut. */
  endSoon(): void {
    this.#cutLater()
  }

  cut(): void {
    this.#inner.destroy()
    this.#outer.destroy()
  }

  #connectSockets(): void {
    const [outer, inner] = [this.#outer, this.#inner]
    const onFlushed = () => this.onProgress?.()
    inner.on('data', (chunk: Buffer) => {
      // If the upgrade failed, the client must not be connected to the inner server.
      if (
        !this.#hasAnswered &&
        chunk.toString('latin1', 0, SWITCHING_PROTOCOLS.length) !== SWITCHING_PROTOCOLS
      ) {
        inner.destroy()
        return
      }
      this.#hasAnswered = true
      if (!outer.write(chunk, onFlushed)) inner.pause()
    })
    outer.on('drain', () => inner.resume())
    outer.on('data', (chunk: Buffer) => {
      if (!inner.write(chunk)) outer.pause()
    })
    inner.on('drain', () => outer.resume())
    outer.on('end', () => inner.end())
    // 'close' follows every error.
    inner.on('error', ignoreError)
    inner.on('close', () => this.#innerClosed())
    outer.on('close', () => {
      this.#stopTimer?.()
      inner.destroy()
      this.#onClosed()
    })
  }

  #innerClosed(): void {
    this.onProgress = undefined
    const outer = this.#outer
    // The remaining input is read and dropped, because a reset could overtake the last frame.
    outer.removeAllListeners('data')
    outer.resume()
    if (!this.#hasAnswered) refuse(outer, refusal('DEPENDENCY_UNAVAILABLE'))
    else outer.end(this.#closeFrame ?? '')
    this.#cutLater()
  }

  #cutLater(): void {
    const { schedule, lingerMs } = this.#options
    this.#stopTimer ??= schedule.after(lingerMs, () => this.cut())
  }
}

function isForSockets({ method, url, headers }: IncomingMessage): boolean {
  const path = (url ?? '').split('?', 1)[0]
  const isPath = SOCKET_PATHS.some((known) => known === path)
  return isPath && method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}

/** Hands a request back to the HTTP handler, without its upgrade headers. A server with an 'upgrade' listener gets all such
 *  requests there, for example the `h2c` offers of some HTTP clients. */
function replay(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
  const upgradeHeaders = new Set(['upgrade', 'http2-settings'])
  const lines = pairsOf(request.rawHeaders).flatMap(([name, value]) => {
    const key = name.toLowerCase()
    if (upgradeHeaders.has(key)) return []
    if (key !== 'connection') return [`${name}: ${value}`]
    const options = value.split(',').filter((word) => !upgradeHeaders.has(word.trim().toLowerCase()))
    return options.length === 0 ? [] : [`${name}: ${options.join(',')}`]
  })
  const start = `${request.method} ${request.url} HTTP/${request.httpVersion}`
  socket.unshift(Buffer.concat([Buffer.from([start, ...lines, '', ''].join('\r\n'), 'latin1'), head]))
  server.emit('connection', socket)
}

function headOf(request: IncomingMessage, own: Readonly<Record<string, string>>): string {
  const passed = pairsOf(request.rawHeaders).filter(([name]) => PASSED_HEADERS.has(name.toLowerCase()))
  const lines = [...passed, ...Object.entries(own)].map(([name, value]) => `${name}: ${value}`)
  return [`GET ${request.url} HTTP/1.1`, ...lines, '', ''].join('\r\n')
}

function pairsOf(rawHeaders: readonly string[]): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2)
    pairs.push([rawHeaders[i] ?? '', rawHeaders[i + 1] ?? ''])
  return pairs
}

function refuse(socket: Socket, about: SocketRefusal): void {
  const body = JSON.stringify(toProblem(about, { instance: '/ws', requestId: 'upgrade' }))
  const { status } = REFUSALS[about.code]
  const lines = [
    `HTTP/1.1 ${status} ${about.code}`,
    'content-type: application/problem+json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'sec-websocket-version: 13',
    ...(status === 503 ? ['retry-after: 2'] : []),
    'connection: close',
  ]
  endSocket(socket, `${lines.join('\r\n')}\r\n\r\n${body}`)
}

function ignoreError(): void {}
