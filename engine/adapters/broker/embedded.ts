// The embedded broker: MQTT 3.1.1 on a TCP port, in this process. Sockets become handshakes, admitted handshakes
// become sessions; uplinks are ours (session.ts), downlinks are aedes (downlinks.ts).
//
// B1. At most one live session per device; the newer one wins and the older one's will is not spoken.
// B2. No connection has a timer: one sweep looks at deadlines, keep-alives and expiries.
import { createServer, type Server, type Socket } from 'node:net'
import type { DeviceId } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import {
  type Admission,
  type Broker,
  type BrokerCounts,
  CONNACK,
  type Downlink,
  type EndCause,
  type UplinkHost,
} from '../../ports/broker.ts'
import type { Clock } from '../../ports/clock.ts'
import { Fault } from '../../ports/fault.ts'
import { allowWill, type Connect } from './connect.ts'
import { Downlinks } from './downlinks.ts'
import { Handshake } from './handshake.ts'
import { connack } from './packets.ts'
import { PublishLimit } from './publish-limit.ts'
import { Session } from './session.ts'
import type { SessionHub } from './session-hub.ts'

export interface EmbeddedBrokerOptions {
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  readonly clock: Clock
  readonly sessionsMax?: number
  /** Messages per second of one device; 0 or nothing is no limit. */
  readonly publishRateMax?: number
}

type Admitted = Extract<Admission, { kind: 'admitted' }>

/** A sweep this late means that the process was asleep, not that devices were silent. */
const ASLEEP_MS = LIMITS.brokerSweepEveryMs * 4
const BACKLOG = 4_096

export class EmbeddedBroker implements Broker {
  readonly #options: EmbeddedBrokerOptions
  readonly #handshakes = new Set<Handshake>()
  readonly #live = new Map<DeviceId, Session>()
  /** Ended, with messages that are not yet durable. */
  readonly #draining = new Set<Session>()
  readonly #paused = new Set<Session>()
  readonly #sockets = new Set<Socket>()
  readonly #downlinks = new Downlinks((deviceId) => this.#live.get(deviceId)?.wire)
  readonly #publishLimit: PublishLimit
  #hub: Hub | undefined
  #server: Server | undefined
  #sweeper: NodeJS.Timeout | undefined
  #isRelieved = false
  #isClosed = false
  #admitted = 0
  #denied = 0

  constructor(options: EmbeddedBrokerOptions) {
    this.#options = options
    this.#publishLimit = new PublishLimit(options.publishRateMax ?? 0, options.clock.ticks())
  }

  async listen(host: UplinkHost): Promise<{ readonly host: string; readonly port: number }> {
    this.#hub = this.#createHub(host)
    await this.#downlinks.open()
    const server = createServer({ noDelay: true }, (socket) => this.#accept(socket))
    server.maxConnections = (this.#options.sessionsMax ?? LIMITS.sessionsMax) + LIMITS.handshakesMax
    this.#server = server
    try {
      const port = await bind(server, this.#options)
      this.#sweeper = setInterval(() => this.sweep(), LIMITS.brokerSweepEveryMs)
      return { host: this.#options.host, port }
    } catch (error) {
      await this.#downlinks.close()
      throw error
    }
  }

  async publish({ deviceId, suffix, payload, qos, retain }: Downlink): Promise<boolean> {
    // A retained message is kept even when no more can be sent.
    if (this.#isClosed || (!retain && this.#downlinks.isFull(deviceId))) return false
    return this.#downlinks.publish(deviceId, { suffix, payload: Buffer.from(payload), qos, retain })
  }

  /** Every client is a device here, and may subscribe to its own topics only. */
  publishToGroup(): void {}

  cut(deviceId: DeviceId, cause: EndCause): void {
    for (const session of this.#draining) if (session.deviceId === deviceId) session.forget()
    const session = this.#live.get(deviceId)
    session?.forget()
    session?.end(cause)
    this.#downlinks.forget(deviceId)
  }

  isConnected(deviceId: DeviceId): boolean {
    return this.#live.has(deviceId)
  }

  counts(): BrokerCounts {
    const {
      publishes = [0, 0, 0],
      refusedTopics = 0,
      bytesIn = 0,
      cutFrozen = 0,
      shedQos0 = 0,
    } = this.#hub ?? {}
    const [qos0 = 0, qos1 = 0, qos2 = 0] = publishes
    return {
      connected: this.#live.size,
      admitted: this.#admitted,
      denied: this.#denied,
      publishes: [qos0, qos1, qos2],
      refusedTopics,
      bytesIn,
      cutFrozen,
      shedQos0,
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    clearInterval(this.#sweeper)
    for (const session of [...this.#live.values()]) session.end('shutdown')
    for (const socket of this.#sockets) socket.destroy()
    const server = this.#server
    // Calls back once every socket is gone.
    if (server?.listening) await new Promise<void>((resolve) => server.close(() => resolve()))
    await this.#downlinks.close()
  }

  /** Ends what its deadline has passed for (B2). Runs by itself; public for a test that owns the clock. */
  sweep(): void {
    const hub = this.#hub
    if (hub === undefined || this.#isClosed) return
    const ticks = this.#options.clock.ticks()
    const elapsed = ticks - hub.tick
    const asleepMs = elapsed > ASLEEP_MS ? elapsed : 0
    hub.tick = ticks
    for (const handshake of this.#handshakes) {
      handshake.deadline += asleepMs
      if (ticks >= handshake.deadline) handshake.socket.destroy()
    }
    this.#publishLimit.sweep(ticks, (deviceId) => this.#live.has(deviceId))
    const now = this.#options.clock.now()
    for (const session of this.#live.values()) session.sweep(ticks, now, asleepMs)
    hub.relieved()
  }

  #createHub(host: UplinkHost): Hub {
    return {
      host,
      message: { suffix: '', payload: Buffer.alloc(0), qos: 0, retain: false, will: false },
      publishes: [0, 0, 0],
      bytesIn: 0,
      refusedTopics: 0,
      cutFrozen: 0,
      shedQos0: 0,
      tick: this.#options.clock.ticks(),
      attach: (session) => this.#downlinks.attach(session),
      follow: (deviceId, followUp) => this.#downlinks.publish(deviceId, followUp),
      liveSession: (deviceId) => this.#live.get(deviceId),
      paused: (session) => this.#paused.add(session),
      relieved: () => this.#relieve(),
      ended: (session) => this.#ended(session),
    }
  }

  #accept(socket: Socket): void {
    const hub = this.#hub
    if (hub === undefined || this.#isClosed) {
      socket.destroy()
      return
    }
    this.#sockets.add(socket)
    const handshake = new Handshake(socket, hub.tick + LIMITS.handshakeTimeoutMs, (connect) => {
      // From here on it is the host that takes time, not the peer.
      this.#handshakes.delete(handshake)
      void this.#admit(hub, handshake, connect)
    })
    this.#handshakes.add(handshake)
    // What an error is about is told by 'close', which follows.
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#sockets.delete(socket)
      this.#handshakes.delete(handshake)
    })
  }

  async #admit(hub: Hub, handshake: Handshake, connect: Connect): Promise<void> {
    const { clientId, username, password } = connect
    const ip = handshake.socket.remoteAddress ?? ''
    const admission = await hub.host.admit({ clientId, username, password, ip }).catch(() => undefined)
    if (handshake.socket.destroyed || this.#isClosed) return
    if (admission === undefined) this.#deny(hub, handshake, CONNACK.unavailable)
    else if (admission.kind === 'denied') this.#deny(hub, handshake, admission.code)
    else this.#open(hub, handshake, connect, admission)
  }

  #deny(hub: Hub, handshake: Handshake, code: number): void {
    this.#denied++
    handshake.deadline = hub.tick + LIMITS.handshakeTimeoutMs
    this.#handshakes.add(handshake)
    handshake.refuse(connack(code, false))
  }

  #open(hub: Hub, handshake: Handshake, connect: Connect, admission: Admitted): void {
    const { deviceId, mayPublish } = admission
    const earlier = this.#live.get(deviceId)
    if (earlier === undefined && this.#live.size >= (this.#options.sessionsMax ?? LIMITS.sessionsMax)) {
      this.#deny(hub, handshake, CONNACK.unavailable)
      return
    }
    const will = connect.will && mayPublish ? allowWill(connect.will, deviceId) : undefined
    if (connect.will !== undefined && will === undefined) {
      this.#deny(hub, handshake, CONNACK.unauthorized)
      return
    }
    const { state, present } = this.#downlinks.states.claim(deviceId, connect.clean)
    const { socket, rest } = handshake
    const number = hub.host.sessionNumber()
    const { keepAliveMs } = connect
    const session = new Session(hub, socket, {
      ...admission,
      number,
      ip: socket.remoteAddress ?? '',
      keepAliveMs,
      will,
      state,
      allowance: this.#publishLimit.of(deviceId),
    })
    this.#admitted++
    hub.host.opened(session)
    // B1: the host hears of the new session first, so the device is never seen offline in between.
    this.#live.set(deviceId, session)
    earlier?.end('takeover')
    session.open(connack(CONNACK.accepted, present), rest)
  }

  #ended(session: Session): void {
    if (this.#live.get(session.deviceId) === session) this.#live.delete(session.deviceId)
    this.#paused.delete(session)
    if (session.pending > 0) this.#draining.add(session)
    else this.#draining.delete(session)
  }

  /** Later, not now: what may be read again leads to uplinks, and the host may be in the middle of something. */
  #relieve(): void {
    if (this.#isRelieved || this.#paused.size === 0) return
    this.#isRelieved = true
    setImmediate(() => {
      this.#isRelieved = false
      for (const session of this.#paused) {
        if (this.#hub?.host.isCongested() !== false) return
        session.resume()
        if (!session.isPaused) this.#paused.delete(session)
      }
    })
  }
}

type Hub = { -readonly [Key in keyof SessionHub]: SessionHub[Key] }

function bind(server: Server, { host, port }: EmbeddedBrokerOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const isTaken = cause.code === 'EADDRINUSE'
      const message = isTaken ? `port ${port} on ${host} is in use` : `cannot listen on ${host}:${port}`
      reject(new Fault(isTaken ? 'PORT_IN_USE' : 'BROKER_UNAVAILABLE', { retryable: false, message, cause }))
    })
    server.listen({ host, port, backlog: BACKLOG }, () => {
      const address = server.address()
      resolve(address !== null && typeof address === 'object' ? address.port : port)
    })
  })
}
