// Ports that devices connect to: MQTT in plain text, over TLS, and in WebSockets over TLS. All lead to one `onPeer`.
import { createServer as createHttpsServer } from 'node:https'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import type { Millis } from '../../../../schemas/ids.ts'
import { listenProblem } from '../../../../schemas/listen-problem.ts'
import { LIMITS } from '../../../limits.ts'
import type { Listener } from '../../../ports/broker.ts'
import { type ClientCertificate, readClientCertificate } from '../../../ports/client-certificate.ts'
import { Fault } from '../../../ports/fault.ts'
import { endSocket } from '../../../sockets/end-socket.ts'
import type { Peer } from './peer.ts'
import type { PendingConnections } from './pending-connections.ts'
import type { BrokerTls } from './tls.ts'
import { acceptUpgrade, refuseUpgrade, WebSocketPeer } from './websocket.ts'

export interface ListenerOptions {
  readonly host: string
  /** Port for plain text; undefined opens none. 0 picks a free port, here and below. */
  readonly port: number | undefined
  readonly secure?: SecureListeners | undefined
}

export interface SecureListeners {
  readonly port: number
  /** Port for MQTT in WebSockets, at `/mqtt`. */
  readonly wsPort: number
  readonly tls: BrokerTls
  /** The oldest version of TLS that a device may use. */
  readonly minVersion?: '1.2' | '1.3'
}

/** Judges the peer's certificate as of now. Undefined if the peer showed none. */
export type CertificateReader = (now: Millis) => ClientCertificate | undefined

export interface ListenerPorts {
  readonly connectionsMax: number
  readonly pendingConnections: PendingConnections
  /** Monotonic milliseconds. */
  ticks(): number
  onPeer(peer: Peer, certificate: CertificateReader): void
  onTurnedAway(count: number): void
}

const BACKLOG = 4_096
const REPORT_EVERY_MS = 60_000
const NONE: CertificateReader = () => undefined

export class Listeners {
  readonly #servers: Server[] = []
  /** Open sockets, including those still in their TLS handshake, which nothing else tracks. */
  readonly #sockets = new Set<Socket>()
  readonly #ports: ListenerPorts
  #turnedAway = 0
  /** How many of them were reported, and when. */
  #reported = { count: 0, at: Number.NEGATIVE_INFINITY }

  constructor(ports: ListenerPorts) {
    this.#ports = ports
  }

  /** Lists the ports over TLS first: devices are told the first one. */
  async open({ host, port, secure }: ListenerOptions): Promise<readonly [Listener, ...Listener[]]> {
    const { onPeer } = this.#ports
    const planned: { scheme: Listener['scheme']; server: Server; port: number }[] = []
    if (secure !== undefined) {
      const [mqtts, wss] = [this.#overTls(secure), this.#inWebSockets(secure)]
      planned.push({ scheme: 'mqtts', server: mqtts, port: secure.port })
      planned.push({ scheme: 'wss', server: wss, port: secure.wsPort })
      secure.tls.onChange(() => {
        // A new context replaces all of the old one, the oldest version of TLS included.
        for (const server of [mqtts, wss]) server.setSecureContext(contextOf(secure))
      })
    }
    if (port !== undefined) {
      const server = createServer({ noDelay: true }, (socket) => onPeer(socket, NONE))
      planned.push({ scheme: 'mqtt', server, port })
    }
    const opened: Listener[] = []
    for (const { scheme, server, port: wanted } of planned)
      opened.push({ scheme, host, port: await this.#bind(server, { host, port: wanted }) })
    const [first, ...more] = opened
    if (first === undefined)
      throw new Fault('BROKER_UNAVAILABLE', { retryable: false, message: 'no port to listen on' })
    return [first, ...more]
  }

  /** Resolves once every socket is gone. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await Promise.all(
      this.#servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))),
    )
  }

  #overTls(secure: SecureListeners) {
    const { tls } = secure
    const server = createTlsServer(tlsOptions(secure), (socket) =>
      this.#ports.onPeer(socket, certificateReader(socket, tls)),
    )
    server.on('tlsClientError', ignore)
    return server
  }

  #inWebSockets(secure: SecureListeners) {
    const { tls } = secure
    // A request for anything but a WebSocket is answered with 426. A peer that sends no request is not waited for.
    const timeouts = { headersTimeout: LIMITS.handshakeTimeoutMs, requestTimeout: LIMITS.handshakeTimeoutMs }
    const server = createHttpsServer(
      { ...tlsOptions(secure), ...timeouts, maxHeaderSize: LIMITS.connectBytesMax },
      (_, reply) => {
        reply
          .writeHead(426, { connection: 'close', upgrade: 'websocket' })
          .end('MQTT in a WebSocket, at /mqtt\n')
      },
    )
    server.on('tlsClientError', ignore)
    server.on('upgrade', (request, stream, head) => {
      // The sockets of an HTTPS server are TLS sockets; the type allows for other streams.
      const socket = stream as TLSSocket
      socket.on('error', ignore)
      const refusal = refuseUpgrade(request)
      if (refusal !== undefined)
        return endSocket(socket, `${refusal}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
      socket.setNoDelay(true)
      socket.write(acceptUpgrade(request))
      const { onPeer, ticks } = this.#ports
      onPeer(new WebSocketPeer(socket, head, ticks), certificateReader(socket, tls))
    })
    return server
  }

  /** Connections that were closed at once because the maximum number was open. */
  get turnedAway(): number {
    return this.#turnedAway
  }

  /** Reports connections that were turned away, once a minute at most. */
  sweep(ticks: number): void {
    const { count, at } = this.#reported
    if (this.#turnedAway === count || ticks - at < REPORT_EVERY_MS) return
    this.#reported = { count: this.#turnedAway, at: ticks }
    this.#ports.onTurnedAway(this.#turnedAway - count)
  }

  #bind(server: Server, { host, port }: { readonly host: string; readonly port: number }): Promise<number> {
    const { connectionsMax, pendingConnections } = this.#ports
    server.maxConnections = connectionsMax
    server.on('drop', () => this.#turnedAway++)
    // With TLS this is the plain socket, before the handshake costs anything.
    server.on('connection', (socket: Socket) => {
      const { remoteAddress, remotePort, localPort } = socket
      if (!pendingConnections.add(socket)) {
        socket.destroy()
        return
      }
      this.#sockets.add(socket)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        // A closed socket no longer knows its addresses.
        pendingConnections.remove({ remoteAddress, remotePort, localPort })
      })
    })
    return new Promise((resolve, reject) => {
      server.once('error', (cause: NodeJS.ErrnoException) => {
        const code = cause.code === 'EADDRINUSE' ? 'PORT_IN_USE' : 'BROKER_UNAVAILABLE'
        const setting = 'FLEET_MQTT_PORT (or that of the listener)'
        const message =
          listenProblem(cause, { host, port: `MQTT port ${port} on ${host}`, setting }) ??
          `cannot listen on ${host}:${port}: ${cause.message}`
        reject(new Fault(code, { retryable: false, message, cause }))
      })
      server.listen({ host, port, backlog: BACKLOG }, () => {
        this.#servers.push(server)
        const address = server.address()
        resolve(address !== null && typeof address === 'object' ? address.port : port)
      })
    })
  }
}

function tlsOptions(secure: SecureListeners) {
  const context = contextOf(secure)
  return {
    ...context,
    noDelay: true,
    handshakeTimeout: LIMITS.handshakeTimeoutMs,
    // A device may show a certificate or a token. Admission decides which it needs, and can say so in words.
    requestCert: context.ca !== undefined,
    rejectUnauthorized: false,
  }
}

/** [spec: Ports and transport] TLS 1.3, unless small devices that know 1.2 only are let in. */
function contextOf({ tls, minVersion = '1.3' }: SecureListeners) {
  return { ...tls.context(), minVersion: `TLSv${minVersion}` } as const
}

function certificateReader(socket: TLSSocket, tls: BrokerTls): CertificateReader {
  return (now) => readClientCertificate(socket, { tls, now })
}

function ignore(): void {}
