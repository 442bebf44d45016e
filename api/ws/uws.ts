// The WebSocket server on uWebSockets.js, listening on loopback. It knows frames and buffers, but not the protocol.
// A WebSocket of uWebSockets.js must not be used once it is closed, and its ArrayBuffers are valid only during the
// callback. `UwsWire` and the handlers below hide both facts from the rest of this folder.

import {
  App,
  type HttpRequest,
  type us_listen_socket_close,
  us_socket_local_port,
  type WebSocket,
  type WebSocketBehavior,
} from 'uWebSockets.js'
import { timingSafeEqual } from 'node:crypto'
import { Fault } from '../../engine/ports/fault.ts'
import {
  CLOSE_CODES,
  type CloseReason,
  SOCKET_PATHS,
  SOCKET_PROTOCOL,
  TOKEN_PROTOCOL_PREFIX,
} from '../../schemas/ws.ts'
import type { API_LIMITS } from '../limits.ts'
import type { Tally } from './tally.ts'
import { CLIENT_HEADER, SECRET_HEADER, TUNNEL_HEADER, type Tunnel } from './tunnel.ts'
import type { Handshake, Wire, WireEvents } from './wire.ts'

export interface WireServer {
  readonly port: number
  close(): void
}

type WireLimit = keyof Pick<
  typeof API_LIMITS,
  | 'frameInBytesMax'
  | 'socketOutBytesMax'
  | 'socketInFlightBytesMax'
  | 'socketPingEverySec'
  | 'socketPongSecMax'
>

export interface WireServerOptions {
  readonly limits: { readonly [Name in WireLimit]: number }
  readonly tally: Tally
  /** Requests that lack this secret are refused. */
  readonly secret: string
  readonly tunnel: (id: string) => Tunnel | undefined
  readonly accept: (wire: Wire, handshake: Handshake) => WireEvents
}

interface Peer {
  readonly handshake: Handshake
  readonly tunnel: Tunnel
  wire: UwsWire | undefined
  events: WireEvents | undefined
}

const ABNORMAL = 1006

/** The close frames that clients get, by the reason for which uWebSockets.js closes a socket without one. A client that has
 *  closed its own direction gets none, and any other reason is a broken frame. */
const CLOSE_FRAMES: ReadonlyMap<string, readonly [CloseReason, string] | undefined> = new Map([
  ['', undefined],
  ['Received TCP FIN before WebSocket close frame', undefined],
  ['Received too big message', ['tooLarge', 'frame too large']],
  ['Received invalid UTF-8', ['invalidText', 'text that is not UTF-8']],
  ['WebSocket timed out from inactivity', ['silent', 'no answer to a ping']],
])
const BROKEN_FRAME = ['protocol', 'not a valid frame'] as const

export async function openWireServer(options: WireServerOptions): Promise<WireServer> {
  const app = App()
  const open = new Set<WebSocket<Peer>>()
  for (const path of SOCKET_PATHS) app.ws<Peer>(path, behaviourOf(options, open))
  const listening = await new Promise<Parameters<typeof us_listen_socket_close>[0] | false>((resolve) => {
    app.listen('127.0.0.1', 0, resolve)
  })
  if (listening === false)
    throw new Fault('PORT_IN_USE', { retryable: false, message: 'no free loopback port for /ws' })
  // uWebSockets.js itself has a fixed timeout for the answer to a ping.
  const pings = setInterval(() => {
    for (const ws of open) ws.ping()
  }, options.limits.socketPingEverySec * 1000)
  pings.unref()
  return {
    // The typings separate the two kinds of socket, but the function accepts both.
    port: us_socket_local_port(listening as Parameters<typeof us_socket_local_port>[0]),
    close: () => {
      clearInterval(pings)
      app.close()
    },
  }
}

function behaviourOf(options: WireServerOptions, sockets: Set<WebSocket<Peer>>): WebSocketBehavior<Peer> {
  const { limits, tally } = options
  return {
    // Twice the limit, so that a frame slightly above the limit gets an answer. Anything larger is cut.
    maxPayloadLength: 2 * limits.frameInBytesMax,
    maxBackpressure: 2 * limits.socketOutBytesMax,
    closeOnBackpressureLimit: false,
    idleTimeout: limits.socketPingEverySec + limits.socketPongSecMax,
    sendPingsAutomatically: false,
    upgrade(res, req, context) {
      const isTunnelled = isSecret(req.getHeader(SECRET_HEADER), options.secret)
      const tunnel = isTunnelled ? options.tunnel(req.getHeader(TUNNEL_HEADER)) : undefined
      if (tunnel === undefined) {
        res.writeStatus('403 Forbidden').end('', true)
        return
      }
      const { handshake, protocol } = parseHandshake(req, req.getHeader(CLIENT_HEADER))
      const peer: Peer = { handshake, tunnel, wire: undefined, events: undefined }
      res.upgrade(peer, req.getHeader('sec-websocket-key'), protocol, '', context)
    },
    open(ws) {
      sockets.add(ws)
      const peer = ws.getUserData()
      const wire = new UwsWire(ws, peer.tunnel, { limits, tally })
      peer.wire = wire
      const events = options.accept(wire, peer.handshake)
      peer.events = events
      peer.tunnel.onProgress = () => events.drained()
      if (wire.isClosed) events.closed()
    },
    message(ws, bytes, isBinary) {
      const { events } = ws.getUserData()
      if (bytes.byteLength > limits.frameInBytesMax) events?.tooLarge(bytes.byteLength)
      else events?.received(isBinary ? undefined : Buffer.from(bytes).toString('utf8'))
    },
    drain(ws) {
      ws.getUserData().events?.drained()
    },
    close(ws, code, reason) {
      sockets.delete(ws)
      const { wire, events, tunnel } = ws.getUserData()
      wire?.markClosed()
      if (code === ABNORMAL) setCloseFrame(tunnel, Buffer.from(reason).toString('utf8'))
      events?.closed()
    },
  }
}

/** uWebSockets.js sends no close frame of its own, so the tunnel sends it. */
function setCloseFrame(tunnel: Tunnel, reason: string): void {
  const frame = CLOSE_FRAMES.has(reason) ? CLOSE_FRAMES.get(reason) : BROKEN_FRAME
  if (frame !== undefined) tunnel.setCloseFrame(CLOSE_CODES[frame[0]], frame[1])
}

function parseHandshake(
  req: HttpRequest,
  ip: string,
): { readonly handshake: Handshake; readonly protocol: string } {
  const offered = req
    .getHeader('sec-websocket-protocol')
    .split(',')
    .map((name) => name.trim())
  const bearer = offered.find((name) => name.startsWith(TOKEN_PROTOCOL_PREFIX))
  const token =
    bearer?.slice(TOKEN_PROTOCOL_PREFIX.length) ??
    (req.getQuery('token') || undefined) ??
    /^bearer +(\S+)$/i.exec(req.getHeader('authorization'))?.[1]
  return {
    handshake: { ip, token, ticket: req.getQuery('ticket') || undefined },
    protocol: offered.includes(SOCKET_PROTOCOL) ? SOCKET_PROTOCOL : '',
  }
}

function isSecret(given: string, secret: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(secret)]
  return a.length === b.length && timingSafeEqual(a, b)
}

class UwsWire implements Wire {
  readonly #ws: WebSocket<Peer>
  readonly #tunnel: Tunnel
  readonly #ports: Pick<WireServerOptions, 'limits' | 'tally'>
  #sentBytes = 0
  isClosed = false

  constructor(ws: WebSocket<Peer>, tunnel: Tunnel, ports: Pick<WireServerOptions, 'limits' | 'tally'>) {
    this.#ws = ws
    this.#tunnel = tunnel
    this.#ports = ports
  }

  send(frame: string): void {
    if (this.isClosed) return
    this.#sentBytes += Buffer.byteLength(frame) + headBytesOf(frame.length)
    // 2 means dropped. The caller has checked the pressure before, so this client cannot be helped.
    if (this.#ws.send(frame) === 2) this.end('tryLater', 'too slow')
  }

  cork(run: () => void): void {
    if (!this.isClosed) this.#ws.cork(run)
  }

  pressure(): number {
    if (this.isClosed) return 0
    const { socketOutBytesMax, socketInFlightBytesMax } = this.#ports.limits
    const own = this.#ws.getBufferedAmount() / socketOutBytesMax
    const delivered = this.#tunnel.deliveredBytes()
    // Pings and the handshake pass the tunnel uncounted. Once the tunnel is empty, the count is corrected.
    if (delivered > this.#sentBytes) this.#sentBytes = delivered
    return Math.max(own, (this.#sentBytes - delivered) / socketInFlightBytesMax)
  }

  deliveredBytes(): number {
    return this.#tunnel.deliveredBytes()
  }

  end(why: CloseReason, text: string): void {
    if (this.isClosed) return
    this.isClosed = true
    const code = CLOSE_CODES[why]
    const { closed } = this.#ports.tally
    closed[code] = (closed[code] ?? 0) + 1
    this.#tunnel.endSoon()
    // Calls the close handler before it returns.
    this.#ws.end(code, text)
  }

  markClosed(): void {
    this.isClosed = true
  }
}

/** Size of the header of a server's frame. Counts characters instead of bytes, which is off by a few bytes at most. */
function headBytesOf(length: number): number {
  if (length < 126) return 2
  return length < 65_536 ? 4 : 10
}
