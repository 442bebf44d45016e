// The embedded broker: MQTT 3.1.1 in this process. Connections (listeners.ts) become handshakes, admitted handshakes
// become sessions; uplinks are ours (session.ts), downlinks are aedes (downlinks.ts).
//
// B1. At most one live session per device; the newer one wins and the older one's will is not spoken.
// B2. No connection has a timer: one sweep looks at deadlines, keep-alives and expiries.
// B3. A session ends when the certificate it began with is revoked.
import type { DeviceId } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import {
  type Admission,
  type Broker,
  type BrokerCounts,
  CONNACK,
  type Downlink,
  type EndCause,
  type Listener,
  type UplinkHost,
} from '../../../ports/broker.ts'
import type { Clock } from '../../../ports/clock.ts'
import { allowWill, type Connect } from './connect.ts'
import { Downlinks } from './downlinks.ts'
import { Handshake } from './handshake.ts'
import { type ListenerOptions, Listeners, type ReadCertificate } from './listeners.ts'
import { connack } from './packets.ts'
import type { Peer } from './peer.ts'
import { PublishLimit } from './publish-limit.ts'
import { Session } from './session.ts'
import type { SessionHub } from './session-hub.ts'

export interface EmbeddedBrokerOptions extends ListenerOptions {
  readonly clock: Clock
  readonly sessionsMax?: number
  /** Messages per second of one device; 0 or nothing is no limit. */
  readonly publishRateMax?: number
}

type Admitted = Extract<Admission, { kind: 'admitted' }>

interface Asking {
  readonly connect: Connect
  readonly certificate: ReadCertificate
}

interface Welcome {
  readonly connect: Connect
  readonly admission: Admitted
}

/** A sweep this late means that the process was asleep, not that devices were silent. */
const ASLEEP_MS = LIMITS.brokerSweepEveryMs * 4

export class EmbeddedBroker implements Broker {
  readonly #options: EmbeddedBrokerOptions
  readonly #handshakes = new Set<Handshake>()
  readonly #live = new Map<DeviceId, Session>()
  /** Ended, with messages that are not yet durable. */
  readonly #draining = new Set<Session>()
  readonly #paused = new Set<Session>()
  readonly #peers = new Set<Peer>()
  readonly #listeners: Listeners
  /** Of live sessions that showed one: the certificate's serial number. */
  readonly #serials = new Map<Session, string>()
  readonly #downlinks = new Downlinks((deviceId) => this.#live.get(deviceId)?.wire)
  readonly #publishLimit: PublishLimit
  #hub: Hub | undefined
  #sweeper: NodeJS.Timeout | undefined
  #isRelieved = false
  #isClosed = false
  #admitted = 0
  #denied = 0

  constructor(options: EmbeddedBrokerOptions) {
    this.#options = options
    this.#publishLimit = new PublishLimit(options.publishRateMax ?? 0, options.clock.ticks())
    this.#listeners = new Listeners({
      connectionsMax: (options.sessionsMax ?? LIMITS.sessionsMax) + LIMITS.handshakesMax,
      peer: (peer, certificate) => this.#accept(peer, certificate),
    })
    options.secure?.tls.onChange(() => this.#endRevoked())
  }

  async listen(host: UplinkHost): Promise<readonly [Listener, ...Listener[]]> {
    this.#hub = this.#createHub(host)
    await this.#downlinks.open()
    try {
      const opened = await this.#listeners.open(this.#options)
      this.#sweeper = setInterval(() => this.sweep(), LIMITS.brokerSweepEveryMs)
      return opened
    } catch (error) {
      await this.#listeners.close()
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
    for (const peer of this.#peers) peer.destroy()
    await this.#listeners.close()
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

  #accept(peer: Peer, certificate: ReadCertificate): void {
    const hub = this.#hub
    if (hub === undefined || this.#isClosed) {
      peer.destroy()
      return
    }
    this.#peers.add(peer)
    const handshake = new Handshake(peer, hub.tick + LIMITS.handshakeTimeoutMs, (connect) => {
      // From here on it is the host that takes time, not the peer.
      this.#handshakes.delete(handshake)
      void this.#admit(hub, handshake, { connect, certificate })
    })
    this.#handshakes.add(handshake)
    // What an error is about is told by 'close', which follows.
    peer.on('error', () => {})
    peer.on('close', () => {
      this.#peers.delete(peer)
      this.#handshakes.delete(handshake)
    })
  }

  async #admit(hub: Hub, handshake: Handshake, { connect, certificate }: Asking): Promise<void> {
    const { clientId, username, password } = connect
    const ip = handshake.socket.remoteAddress ?? ''
    const shown = certificate(this.#options.clock.now())
    const attempt = { clientId, username, password, certificate: shown, ip }
    const admission = await hub.host.admit(attempt).catch(() => undefined)
    if (handshake.socket.destroyed || this.#isClosed) return
    if (admission === undefined) this.#deny(hub, handshake, CONNACK.unavailable)
    else if (admission.kind === 'denied') this.#deny(hub, handshake, admission.code)
    // It may have been revoked while the host was thinking.
    else if (this.#isRevoked(shown?.serial)) this.#deny(hub, handshake, CONNACK.unauthorized)
    else {
      const session = this.#open(hub, handshake, { connect, admission })
      if (session?.isEnded === false && shown !== undefined) this.#serials.set(session, shown.serial)
    }
  }

  #isRevoked(serial: string | undefined): boolean {
    return serial !== undefined && this.#options.secure?.tls.isRevoked(serial) === true
  }

  /** By B3. */
  #endRevoked(): void {
    for (const [session, serial] of [...this.#serials]) if (this.#isRevoked(serial)) session.end('revoked')
  }

  #deny(hub: Hub, handshake: Handshake, code: number): void {
    this.#denied++
    handshake.deadline = hub.tick + LIMITS.handshakeTimeoutMs
    this.#handshakes.add(handshake)
    handshake.refuse(connack(code, false))
  }

  #open(hub: Hub, handshake: Handshake, { connect, admission }: Welcome): Session | undefined {
    const { deviceId, mayPublish } = admission
    const earlier = this.#live.get(deviceId)
    if (earlier === undefined && this.#live.size >= (this.#options.sessionsMax ?? LIMITS.sessionsMax)) {
      this.#deny(hub, handshake, CONNACK.unavailable)
      return undefined
    }
    const will = connect.will && mayPublish ? allowWill(connect.will, deviceId) : undefined
    if (connect.will !== undefined && will === undefined) {
      this.#deny(hub, handshake, CONNACK.unauthorized)
      return undefined
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
    return session
  }

  #ended(session: Session): void {
    if (this.#live.get(session.deviceId) === session) this.#live.delete(session.deviceId)
    this.#paused.delete(session)
    this.#serials.delete(session)
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
