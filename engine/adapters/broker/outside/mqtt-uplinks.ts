// Passes a lane's packets to the host: finds their devices, and tracks the sessions that the broker reports.
//
// - Every packet is acknowledged in the end: at once if it is ignored, otherwise when it is durable (R1).
// - Messages of a device may arrive without its connect event, because lanes change hands. A session whose start was
//   not seen has a time in place of a number (`DeviceSession.isAssumed`).
// - A device may publish on any topic of its own, even one that looks like an event of EMQX. Messages of devices
//   have an id, and events have none.
// U3. A plain broker reports no connections. A device that sends counts as connected, and as subscribed to everything,
//     until it is silent for long.
// U4. A disconnect ends the session that it belongs to. One that comes late does not end the next session.
// U5. EMQX publishes the will before it reports why the session ended. So a will waits for that report, and is dropped if
//     the device has taken over its own session. A delayed will has no report. How long the report takes to be read says
//     nothing while the lane is not read (mqtt-lane N5), so a will is published once the lane has caught up with a later
//     time (mqtt-lane N4). Messages are acknowledged in order, so a will waits for no more of them than may be in flight.
// U6. EMQX lets anybody in while its authentication is unavailable. Such a client has no rights, so its connect is ignored
//     and it is expelled. If it took a session over, it may acknowledge what waited there: that counts only from the
//     address at which the session began. If no process saw that, the broker is asked whether the client is verified.
// U7. An empty message clears a retained one. The cloud sends those too, and on a plain broker nobody can tell who did: so
//     it does not count as a sign of life.
import { Buffer } from 'node:buffer'
import type { IPublishPacket } from 'mqtt-packet'
import { type DeviceId, Micros, type Partition, parseDeviceId } from '../../../../schemas/ids.ts'
import { isRetainable, suffixOf } from '../../../../schemas/topics.ts'
import { unreachable } from '../../../domain/unreachable.ts'
import { LIMITS } from '../../../limits.ts'
import type { EndCause, UplinkHost, UplinkMessage } from '../../../ports/broker.ts'
import type { Clock } from '../../../ports/clock.ts'
import { type EmqxEvent, parseEvent } from './emqx-events.ts'
import type { Lane } from './mqtt-lane.ts'
import { MqttSession, type MqttSessionFacts } from './mqtt-session.ts'
import { parseLaneTopic } from './mqtt-topics.ts'

export interface UplinkTotals {
  connects: number
  readonly publishes: [number, number, number]
  bytesIn: number
  /** Messages without a device, and messages that our rules do not send. */
  refused: number
  lostSessions: number
}

export interface UplinksOptions {
  readonly host: UplinkHost
  readonly clock: Clock
  readonly partitionOf: (deviceId: DeviceId) => Partition
  readonly totals: UplinkTotals
  readonly isPlain: boolean
  /** Reads the subscriptions of a resumed session, which no event reports. */
  readonly subscriptionsOf: (
    deviceId: DeviceId,
  ) => Promise<readonly { readonly topic: string; readonly qos: 0 | 1 | 2 }[]>
  /** Ends the session of a client that EMQX let in without asking for its credentials. */
  readonly expel: (deviceId: DeviceId) => void
  /** Asks whether the device's present client is verified. */
  readonly isVerified: (deviceId: DeviceId) => Promise<boolean>
  readonly lane: () => Pick<Lane, 'done'>
}

interface Uplink {
  readonly suffix: string
  readonly payload: Buffer
  readonly packet: IPublishPacket
}

interface Will extends Uplink {
  readonly seq: number
  readonly at: number
}

type DeliveredEvent = Extract<EmqxEvent, { readonly kind: 'delivered' }>
type Message = { -readonly [Key in keyof UplinkMessage]: UplinkMessage[Key] }

const NOTHING = new Uint8Array(0)
const ORIGIN_BYTES = 16

export class LaneUplinks {
  readonly #options: UplinksOptions
  readonly #lane: Pick<Lane, 'done'> = { done: (seq) => this.#options.lane().done(seq) }
  readonly #sessions = new Map<string, MqttSession>()
  /** One object, refilled for every message: the host copies what it keeps. */
  readonly #message: Message = { suffix: '', payload: NOTHING, qos: 0, retain: false, will: false }
  readonly #origin = Buffer.alloc(ORIGIN_BYTES)
  readonly #wills = new Map<DeviceId, Will>()

  constructor(options: UplinksOptions) {
    this.#options = options
  }

  get connected(): number {
    let count = 0
    for (const { isAssumed } of this.#sessions.values()) if (!isAssumed) count++
    return count
  }

  isConnected(deviceId: DeviceId): boolean {
    return this.#sessions.has(deviceId)
  }

  take(packet: IPublishPacket, seq: number): void {
    const topic = parseLaneTopic(packet.topic)
    // The parser returns bytes unless told otherwise.
    const payload = packet.payload as Buffer
    this.#options.totals.bytesIn += payload.length
    const id = topic && (this.#sessions.get(topic.deviceId)?.deviceId ?? parseDeviceId(topic.deviceId))
    const isGood = id !== undefined && payload.length <= LIMITS.payloadBytesMax
    if (topic === undefined || !isGood) this.#refuse(seq)
    // U7.
    else if (payload.length === 0 && isRetainable(topic.suffix)) this.#skip(seq)
    // An event has no id.
    else if (topic.suffix.startsWith('$') && packet.properties?.userProperties?.['id'] === undefined)
      this.#event(id, parseEvent(topic.suffix, payload), seq)
    else {
      const uplink = { suffix: topic.suffix, payload, packet }
      const isWill = packet.properties?.userProperties?.['will'] === 'true'
      if (isWill) this.#holdWill(id, { ...uplink, payload: Buffer.from(payload) }, seq)
      else {
        this.#publishWill(id)
        this.#uplink(id, uplink, seq)
      }
    }
    if (this.#wills.size > 0) this.#publishWills((will) => seq - will.seq >= LIMITS.laneReceiveMax - 1)
  }

  /** Everything that the broker had for the lane at these ticks has been read (U5). */
  caughtUp(ticks: number): void {
    this.#publishWills(({ at }) => ticks - at >= LIMITS.willWaitMs)
  }

  /** Called when another process reads the lane from now on. */
  leave(): void {
    this.#wills.clear()
    for (const session of this.#sessions.values()) this.#options.host.left(session)
    this.#sessions.clear()
  }

  /** Forgets assumed sessions that have been silent for long, since their end may never be reported here. */
  sweep(): void {
    const now = this.#options.clock.ticks()
    const { host, isPlain } = this.#options
    for (const [id, session] of this.#sessions) {
      const isReported = !session.isAssumed && !isPlain
      if (isReported || session.pending > 0 || now - session.heardTicks < LIMITS.assumedSessionMs) continue
      this.#sessions.delete(id)
      if (isPlain) host.closed(session, 'lost')
      else host.left(session)
    }
  }

  /** Warns devices before their token expires, because EMQX then ends the session without a word. */
  warnOfExpiry(): void {
    const { host, clock } = this.#options
    const now = clock.now()
    for (const session of this.#sessions.values()) {
      const expiresAt = session.takeExpiry(now)
      if (expiresAt !== undefined) host.expiring?.(session, expiresAt)
    }
  }

  #uplink(deviceId: DeviceId, { suffix, payload, packet }: Uplink, seq: number): void {
    const { host, clock, totals, isPlain } = this.#options
    const properties = packet.properties?.userProperties
    const known = this.#sessions.get(deviceId)
    const session =
      known ?? (isPlain ? this.#openPlain(deviceId) : this.#assume(deviceId, toMicros(properties?.['ts'])))
    session.heardTicks = clock.ticks()
    const message = this.#message
    message.suffix = suffix
    message.payload = payload
    message.qos = properties === undefined ? packet.qos : toQos(properties['qos'])
    message.retain =
      (properties === undefined ? packet.retain : properties['retain'] === 'true') && isRetainable(suffix)
    message.isDup = packet.dup
    message.will = properties?.['will'] === 'true'
    const id = properties?.['id']
    const isNamed = typeof id === 'string' && this.#origin.write(id, 'hex') === ORIGIN_BYTES
    message.origin = isNamed ? this.#origin : undefined
    totals.publishes[message.qos]++
    session.handedOver(seq)
    host.uplink(session, message)
  }

  #event(deviceId: DeviceId, event: EmqxEvent | undefined, seq: number): void {
    if (event === undefined) {
      this.#refuse(seq)
      return
    }
    const { host } = this.#options
    // U6.
    if (event.kind === 'connected' && !event.isVerified) {
      this.#options.expel(deviceId)
      this.#skip(seq)
      return
    }
    // A stranger may use the device's id, so this says nothing about the device's session.
    if (event.kind === 'rejected') {
      host.rejected?.({ clientId: deviceId, ip: event.ip }, event.reason)
      this.#skip(seq)
      return
    }
    // U5.
    if (event.kind === 'disconnected' && event.cause === undefined) this.#forgetWill(deviceId)
    else this.#publishWill(deviceId)
    const known = this.#sessions.get(deviceId)
    switch (event.kind) {
      case 'connected':
        this.#connected(deviceId, event, seq)
        return
      case 'disconnected':
        // U4.
        if (event.cause === undefined || (known !== undefined && known.number > event.at)) this.#skip(seq)
        else this.#ended(known ?? this.#assume(deviceId, event.at), event.cause, seq)
        return
      case 'subscribed': {
        const session = known ?? this.#assume(deviceId, event.at)
        this.#grant(session, event)
        host.subscribed(session)
        this.#sync(session, seq)
        return
      }
      case 'delivered': {
        const session = known ?? this.#assume(deviceId, event.at)
        const suffix = suffixOf(deviceId, event.topic)
        // U6.
        if (suffix !== undefined && session.peer === '') void this.#confirm(session, suffix, event)
        else if (suffix !== undefined && session.peer === event.peer)
          host.delivered(session, suffix, event.requestId)
        this.#sync(session, seq)
        return
      }
      case 'refused': {
        const session = known ?? this.#assume(deviceId, event.at)
        const message = { topic: event.topic, payload: NOTHING }
        host.refused(session, event.wanted, event.wanted === 'publish' ? message : undefined)
        this.#sync(session, seq)
        return
      }
      default:
        unreachable(event)
    }
  }

  /** A will after a waiting one is the same, sent again after the lane's connection was lost. */
  #holdWill(deviceId: DeviceId, uplink: Uplink, seq: number): void {
    this.#forgetWill(deviceId)
    this.#wills.set(deviceId, { ...uplink, seq, at: this.#options.clock.ticks() })
  }

  /** Publishes wills, oldest first, until one may wait on. */
  #publishWills(isDue: (will: Will) => boolean): void {
    for (const [deviceId, will] of this.#wills) {
      if (!isDue(will)) return
      this.#publishWill(deviceId)
    }
  }

  #publishWill(deviceId: DeviceId): void {
    const will = this.#wills.get(deviceId)
    if (will === undefined) return
    this.#wills.delete(deviceId)
    this.#uplink(deviceId, will, will.seq)
  }

  #forgetWill(deviceId: DeviceId): void {
    const will = this.#wills.get(deviceId)
    this.#wills.delete(deviceId)
    if (will !== undefined) this.#skip(will.seq)
  }

  #connected(deviceId: DeviceId, event: Extract<EmqxEvent, { kind: 'connected' }>, seq: number): void {
    const { host, totals } = this.#options
    const earlier = this.#sessions.get(deviceId)
    // This session or a later one was reported before.
    if (earlier?.isAssumed === false && earlier.number >= event.at) {
      this.#skip(seq)
      return
    }
    const session = this.#create(deviceId, {
      number: event.at,
      ip: event.ip,
      peer: event.peer,
      isAssumed: false,
      token: event.token,
    })
    totals.connects++
    host.opened(session)
    if (earlier?.isAssumed === true) host.left(earlier)
    else if (earlier !== undefined) host.closed(earlier, 'takeover')
    this.#sync(session, seq)
    if (event.isResumed) void this.#resume(session)
  }

  async #resume(session: MqttSession): Promise<void> {
    const subscriptions = await this.#options.subscriptionsOf(session.deviceId)
    if (this.#sessions.get(session.deviceId) !== session || subscriptions.length === 0) return
    for (const subscription of subscriptions) this.#grant(session, subscription)
    this.#options.host.subscribed(session)
  }

  #ended(session: MqttSession, cause: EndCause, seq: number): void {
    this.#sessions.delete(session.deviceId)
    this.#options.host.closed(session, cause)
    this.#sync(session, seq)
  }

  async #confirm(session: MqttSession, suffix: string, { peer, requestId }: DeliveredEvent): Promise<void> {
    if (!(await this.#options.isVerified(session.deviceId))) return
    session.peer ||= peer
    this.#options.host.delivered(session, suffix, requestId)
  }

  #grant(session: MqttSession, { topic, qos }: { readonly topic: string; readonly qos: 0 | 1 | 2 }): void {
    const suffix = suffixOf(session.deviceId, topic)
    if (suffix !== undefined && session.filters.size < LIMITS.subscriptionsPerSessionMax)
      session.filters.set(suffix, qos)
  }

  /** Opens a session for a device of a plain broker (U3). */
  #openPlain(deviceId: DeviceId): MqttSession {
    const { host } = this.#options
    const session = this.#create(deviceId, {
      number: host.sessionNumber(),
      ip: '',
      peer: '',
      isAssumed: false,
    })
    session.filters.set('#', 1)
    host.opened(session)
    host.subscribed(session)
    return session
  }

  #assume(deviceId: DeviceId, at: Micros | undefined): MqttSession {
    const number = at ?? Micros(this.#options.clock.now() * 1_000)
    return this.#create(deviceId, { number, ip: '', peer: '', isAssumed: true })
  }

  #create(deviceId: DeviceId, facts: Omit<MqttSessionFacts, 'deviceId' | 'partition'>): MqttSession {
    const partition = this.#options.partitionOf(deviceId)
    const session = new MqttSession(this.#lane, { ...facts, deviceId, partition })
    this.#sessions.set(deviceId, session)
    session.heardTicks = this.#options.clock.ticks()
    return session
  }

  #sync(session: MqttSession, seq: number): void {
    session.handedOver(seq)
    this.#options.host.sync(session)
  }

  #refuse(seq: number): void {
    this.#options.totals.refused++
    this.#skip(seq)
  }

  #skip(seq: number): void {
    this.#lane.done(seq)
  }
}

function toMicros(millis: unknown): Micros | undefined {
  const value = typeof millis === 'string' ? Number(millis) : Number.NaN
  return Number.isSafeInteger(value) ? Micros(value * 1_000) : undefined
}

function toQos(text: unknown): 0 | 1 | 2 {
  return text === '0' ? 0 : text === '2' ? 2 : 1
}
