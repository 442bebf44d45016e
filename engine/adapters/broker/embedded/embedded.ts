// The embedded broker: MQTT 3.1.1 and 5 in this process. Connections (listeners.ts) become handshakes, and
// handshakes that pass the connect steps become sessions (session.ts).
//
// B1. A device has at most one live session. The newer one wins, and the older one's will is not published.
// B2. No connection has a timer. One sweep checks deadlines, keep-alives and expiries.
// B3. A session ends when the certificate it began with is revoked.
import { Buffer } from 'node:buffer'
import type { DeviceId } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import {
  type Broker,
  type BrokerCounts,
  CONNACK,
  type Downlink,
  type EndCause,
  type Listener,
  type ProvisioningGrant,
  type Refusal,
  type UplinkHost,
} from '../../../ports/broker.ts'
import type { Clock } from '../../../ports/clock.ts'
import { acceptConnect } from './accept-connect.ts'
import { ClosingPeers } from './closing-peers.ts'
import type { Connect } from './connect-fields.ts'
import { type ConnectPorts, type ConnectRequest, connectSteps } from './connect-steps.ts'
import { DelayedWills } from './delayed-wills.ts'
import { connack } from './encode.ts'
import { refuseV5 } from './encode-v5.ts'
import { Handshake } from './handshake.ts'
import { type CertificateReader, type ListenerOptions, Listeners } from './listeners.ts'
import { PausedSessions } from './paused-sessions.ts'
import type { Peer } from './peer.ts'
import { PendingConnections } from './pending-connections.ts'
import { ProvisioningSessions } from './provisioning-sessions.ts'
import { PublishLimit, sendersOf } from './publish-limit.ts'
import { reasonOfConnack } from './reasons.ts'
import { RetainedMessages } from './retained-messages.ts'
import { Session } from './session.ts'
import type { LiveSession, SessionHub } from './session-hub.ts'
import type { Message } from './session-state.ts'
import { SessionStates } from './session-states.ts'

export interface EmbeddedBrokerOptions extends ListenerOptions {
  readonly clock: Clock
  readonly sessionsMax?: number
  /** Files that the process may have open. Connections leave some of them for everything else. */
  readonly openFilesMax?: number
  /** Connections per address that may wait to be admitted. 0 or undefined: as many as there is room for. */
  readonly handshakesPerAddressMax?: number
  /** Messages per second that one device may publish. 0 or undefined: any number. */
  readonly publishRateMax?: number
  /** Called with the number of connections closed because `connectionsMax` were open. Once a minute at most. */
  readonly turnedAway?: (count: number, connectionsMax: number) => void
}

interface ReceivedConnect {
  readonly hub: SessionHub
  readonly connect: Connect
  readonly certificate: CertificateReader
}

/** A sweep this late means that the process was asleep, not that devices were silent. */
const ASLEEP_MS = LIMITS.brokerSweepEveryMs * 4

export class EmbeddedBroker implements Broker {
  readonly #options: EmbeddedBrokerOptions
  readonly #handshakes = new Set<Handshake>()
  readonly #pendingConnections: PendingConnections
  readonly #live = new Map<DeviceId, LiveSession>()
  /** Sessions that have ended with messages that are not yet durable. */
  readonly #draining = new Set<LiveSession>()
  readonly #paused = new PausedSessions(() => this.#hub?.host.isCongested() !== false)
  readonly #peers = new Set<Peer>()
  readonly #listeners: Listeners
  /** Serial numbers of the certificates that live sessions began with (B3). */
  readonly #serials = new Map<LiveSession, string>()
  readonly #states = new SessionStates()
  readonly #wills = new DelayedWills()
  readonly #closingPeers: ClosingPeers
  readonly #retained = new RetainedMessages()
  readonly #provisionings: ProvisioningSessions
  readonly #publishLimit: PublishLimit
  readonly #connectPorts: ConnectPorts
  #hub: SessionHub | undefined
  #sweeper: NodeJS.Timeout | undefined
  #isClosed = false
  #admitted = 0
  #denied = 0

  constructor(options: EmbeddedBrokerOptions) {
    this.#options = options
    this.#publishLimit = new PublishLimit(options.publishRateMax ?? 0, options.clock.ticks())
    this.#pendingConnections = toPendingConnections(options)
    const wantedMax = (options.sessionsMax ?? LIMITS.sessionsMax) + LIMITS.handshakesMax
    const connectionsMax = Math.min(wantedMax, Math.floor((options.openFilesMax ?? wantedMax * 2) / 2))
    const { clock } = options
    this.#closingPeers = new ClosingPeers(() => clock.ticks())
    const closeWith = (peer: Peer, lastBytes: Uint8Array) => this.#closingPeers.closeWith(peer, lastBytes)
    this.#provisionings = new ProvisioningSessions({ clock, closeWith })
    this.#listeners = new Listeners({
      connectionsMax,
      pendingConnections: this.#pendingConnections,
      ticks: () => options.clock.ticks(),
      onPeer: (peer, certificate) => this.#accept(peer, certificate),
      onTurnedAway: (count) => options.turnedAway?.(count, connectionsMax),
    })
    this.#connectPorts = {
      isRevoked: (serial) => options.secure?.tls.isRevoked(serial) === true,
      hasRoomFor: (deviceId) =>
        this.#live.size < (options.sessionsMax ?? LIMITS.sessionsMax) || this.#live.has(deviceId),
    }
    options.secure?.tls.onChange(() => this.#endRevoked())
  }

  async listen(host: UplinkHost): Promise<readonly [Listener, ...Listener[]]> {
    this.#hub = this.#createHub(host)
    try {
      const opened = await this.#listeners.open(this.#options)
      this.#sweeper = setInterval(() => this.sweep(), LIMITS.brokerSweepEveryMs)
      return opened
    } catch (error) {
      await this.#listeners.close()
      throw error
    }
  }

  publish({ deviceId, payload, ...message }: Downlink): Promise<boolean> {
    return this.#publish(deviceId, { ...message, payload: Buffer.from(payload) })
  }

  /** Does nothing: every client is a device here, and may subscribe to its own topics only. */
  publishToGroup(): void {}

  cut(deviceId: DeviceId, cause: EndCause): void {
    for (const session of this.#draining) if (session.deviceId === deviceId) session.forget()
    const session = this.#live.get(deviceId)
    session?.forget()
    session?.end(cause)
    this.#states.forget(deviceId)
    this.#wills.forget(deviceId)
    this.#retained.forget(deviceId)
  }

  /** Does nothing: every CONNECT is judged by the records. */
  async free(): Promise<void> {}

  end(deviceId: DeviceId): void {
    this.#live.get(deviceId)?.end('revoked')
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
      denied: this.#denied + this.#listeners.turnedAway,
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
  }

  /** Ends handshakes and sessions that are past their deadline (B2). Public for tests that own the clock. */
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
    this.#closingPeers.sweep(ticks)
    this.#wills.sweep(ticks)
    this.#states.sweep(ticks)
    this.#publishLimit.sweep(ticks, (deviceId) => sendersOf(this.#live.get(deviceId), hub.host))
    const now = this.#options.clock.now()
    for (const session of this.#live.values()) session.sweep(ticks, now, asleepMs)
    this.#provisionings.sweep(ticks, now, asleepMs)
    this.#listeners.sweep(ticks)
    hub.resumePaused()
  }

  async #publish(deviceId: DeviceId, message: Message): Promise<boolean> {
    if (this.#isClosed) return false
    if (message.retain) this.#retained.store(deviceId, message)
    const sent = this.#live.get(deviceId)?.publish(message)
    if (sent !== undefined) return sent
    this.#states.get(deviceId)?.acceptPublished(message)
    return false
  }

  #createHub(host: UplinkHost): SessionHub {
    return {
      host,
      retained: this.#retained,
      message: { suffix: '', payload: Buffer.alloc(0), qos: 0, retain: false, will: false },
      publishes: [0, 0, 0],
      bytesIn: 0,
      refusedTopics: 0,
      cutFrozen: 0,
      shedQos0: 0,
      tick: this.#options.clock.ticks(),
      now: () => this.#options.clock.now(),
      publish: (deviceId, message) => this.#publish(deviceId, message),
      liveSession: (deviceId) => this.#live.get(deviceId),
      paused: (session) => this.#paused.add(session),
      resumePaused: () => this.#paused.resumeSoon(),
      ended: (session) => this.#ended(session),
      closeWith: (peer, lastBytes) => this.#closingPeers.closeWith(peer, lastBytes),
      delayWill: (session, delaySec) =>
        this.#wills.add(session, this.#options.clock.ticks() + delaySec * 1000),
    }
  }

  #accept(peer: Peer, certificate: CertificateReader): void {
    const hub = this.#hub
    if (hub === undefined || this.#isClosed) {
      peer.destroy()
      return
    }
    this.#peers.add(peer)
    const handshake = new Handshake(peer, hub.tick + LIMITS.handshakeTimeoutMs, (connect) => {
      // From here on the host is waited for, not the peer: the deadline no longer applies.
      this.#handshakes.delete(handshake)
      void this.#connect(handshake, { hub, connect, certificate })
    })
    this.#handshakes.add(handshake)
    // 'close' follows every error, and is handled.
    peer.on('error', () => {})
    peer.on('close', () => {
      this.#peers.delete(peer)
      this.#closingPeers.remove(peer)
      this.#handshakes.delete(handshake)
    })
  }

  async #connect(handshake: Handshake, { hub, connect, certificate }: ReceivedConnect): Promise<void> {
    const { clientId, username, password } = connect
    const ip = handshake.socket.remoteAddress ?? ''
    const clientCertificate = certificate(this.#options.clock.now())
    const attempt = { clientId, username, password, certificate: clientCertificate, ip }
    const admission = await hub.host.admit(attempt).catch(() => undefined)
    if (handshake.socket.destroyed || this.#isClosed) return
    if (admission?.kind === 'provisioning') {
      this.#provision(hub, handshake, { connect, grant: admission })
      return
    }
    if (admission?.kind !== 'admitted') {
      const unavailable = {
        code: CONNACK.unavailable,
        reason: 'the service cannot check it now; try again later',
      }
      this.#deny(hub, handshake, { connect, refusal: admission ?? unavailable })
      return
    }
    const request: ConnectRequest = { connect, admission, serial: clientCertificate?.serial, will: undefined }
    // No await from here on: what a step finds stays true until the session is open.
    for (const step of connectSteps) {
      const refusal = step(request, this.#connectPorts)
      if (refusal !== undefined) {
        this.#deny(hub, handshake, { connect, refusal })
        return
      }
    }
    this.#open(hub, handshake, request)
  }

  #provision(
    hub: SessionHub,
    handshake: Handshake,
    { connect, grant }: { readonly connect: Connect; readonly grant: ProvisioningGrant },
  ): void {
    if (this.#provisionings.isFull) {
      const refusal = {
        code: CONNACK.unavailable,
        reason: 'too many devices are being registered; try again later',
      }
      this.#deny(hub, handshake, { connect, refusal })
    } else this.#provisionings.open(handshake, connect, grant)
  }

  #deny(
    hub: SessionHub,
    handshake: Handshake,
    { connect, refusal }: { readonly connect: Connect; readonly refusal: Refusal },
  ): void {
    this.#denied++
    handshake.deadline = hub.tick + LIMITS.handshakeTimeoutMs
    this.#handshakes.add(handshake)
    const { code, reason } = refusal
    handshake.refuse(
      connect.v5Options === undefined
        ? connack(code, false)
        : refuseV5({ reason: reasonOfConnack(code), text: reason }),
    )
  }

  #open(hub: SessionHub, { socket, rest }: Handshake, request: ConnectRequest): void {
    const { connect, admission, serial, will } = request
    const { deviceId } = admission
    const { clean, v5Options } = connect
    const expirySec = v5Options?.sessionExpirySec ?? (clean ? 0 : Number.POSITIVE_INFINITY)
    const { state, present } = this.#states.claim(deviceId, { clean, expirySec }, this.#options.clock.ticks())
    this.#wills.returned(deviceId, { isSessionKept: present })
    const session = new Session(hub, socket, {
      ...admission,
      number: hub.host.sessionNumber(),
      ip: socket.remoteAddress ?? '',
      keepAliveMs: connect.keepAliveMs,
      will,
      state,
      v5Options,
      allowance: this.#publishLimit.of(deviceId),
    })
    this.#admitted++
    this.#pendingConnections.remove(socket)
    hub.host.opened(session)
    // The host hears of the new session first, so that the device is never seen offline in between (B1).
    const earlier = this.#live.get(deviceId)
    this.#live.set(deviceId, session)
    if (serial !== undefined) this.#serials.set(session, serial)
    earlier?.end('takeover')
    session.open(acceptConnect(connect, present), rest)
  }

  #endRevoked(): void {
    for (const [session, serial] of [...this.#serials])
      if (this.#connectPorts.isRevoked(serial)) session.end('revoked')
  }

  #ended(session: LiveSession): void {
    if (this.#live.get(session.deviceId) === session) {
      this.#live.delete(session.deviceId)
      this.#states.release(session.deviceId, session.state, this.#options.clock.ticks())
    }
    this.#paused.remove(session)
    this.#serials.delete(session)
    if (session.pending > 0) this.#draining.add(session)
    else this.#draining.delete(session)
  }
}

function toPendingConnections({
  openFilesMax,
  handshakesPerAddressMax,
  clock,
}: EmbeddedBrokerOptions): PendingConnections {
  const max = Math.min(LIMITS.handshakesMax, Math.floor((openFilesMax ?? Number.POSITIVE_INFINITY) / 4))
  const perAddressMax = Math.min(handshakesPerAddressMax || max, max)
  return new PendingConnections({ max, perAddressMax, ticks: () => clock.ticks() })
}
