// For tests: one client's connection to the stand-in for EMQX. It sits before mosquitto, reads both directions, judges
// what the client may do, and has EMQX's rules run, in order.
import type { Socket } from 'node:net'
import mqtt, {
  type IConnectPacket,
  type IPublishPacket,
  type ISubscribePacket,
  type Packet,
} from 'mqtt-packet'
import { type AclRule, type Client, judge } from '../../../../../deploy/testing/acl.ts'
import { EMQX_ACL, type EmqxEventName } from '../../../../../deploy/testing/emqx.ts'
import type { Columns } from '../../../../../deploy/testing/rule.ts'
import { MessageIds } from './rules.ts'

export interface Subscription {
  readonly topic: string
  readonly qos: number
}

/** What the credentials of a client say of it. Empty for one that was let in while authentication was away. */
export interface VerifiedClient {
  readonly attributes?: Readonly<Record<string, string>> | undefined
  /** The list in its token. */
  readonly acl?: readonly AclRule[] | undefined
  readonly expiresAt?: number | undefined
}

/** A client that is let in, or the code of the CONNACK that refuses it. */
export type Admission = VerifiedClient | number

/** The part of the front that a connection needs. */
export interface Hub {
  /** True on a plain broker, which judges by itself and has no rules. */
  readonly isPlain: boolean
  /** True while nobody may do anything, since EMQX's authorization is away. */
  readonly isUnguarded: boolean
  /** Resolves once the broker has what the rules make of the message. */
  onMessage(columns: Columns & { readonly topic: string }): Promise<void>
  onEvent(name: EmqxEventName, columns: Columns): void
  /** Returns a time in milliseconds that is later than that of any earlier connection. */
  connectedAt(): number
  admit(connect: IConnectPacket): Promise<Admission>
  /** Ends the client's present connection before another one opens. */
  takeOver(clientId: string, isKept: boolean): void
  connected(connection: FrontConnection, isKept: boolean): void
  subscribed(connection: FrontConnection, subscription: Subscription): void
  unsubscribed(connection: FrontConnection, topic: string): void
  ended(connection: FrontConnection, isKept: boolean): void
}

export type EndReason =
  | 'normal'
  | 'tcp_closed'
  | 'kicked'
  | 'takenover'
  | 'discarded'
  | 'not_authorized'
  | 'topic_name_invalid'

/** A client's packet that waits until its republished message is acknowledged. */
interface HeldPacket {
  readonly bytes: Buffer
  isReady: boolean
}

const NOT_AUTHORIZED = 0x87
const TOPIC_NAME_INVALID = 0x90
/** EMQX's names for the codes of a CONNACK that tests see. It names those of MQTT 3.1.1 by their successors. */
const REJECTIONS: Readonly<Record<number, string>> = {
  4: 'bad_username_or_password',
  5: 'not_authorized',
  134: 'bad_username_or_password',
  135: 'not_authorized',
  138: 'banned',
}
const TOPIC_LEVELS_MAX = 16
/** A timer holds no more. No test lasts so long. */
const TIMER_MS_MAX = 2 ** 31 - 1

export class FrontConnection {
  clientId = ''
  verified: VerifiedClient = {}
  readonly #hub: Hub
  readonly #socket: Socket
  readonly #upstream: Socket
  readonly #ids = new MessageIds()
  readonly #held: HeldPacket[] = []
  /** Subscriptions asked for by packet id; undefined for one that is denied. */
  readonly #subscribing = new Map<number, readonly (Subscription | undefined)[]>()
  /** Messages on their way to the client, by packet id. */
  readonly #unacked = new Map<number, { readonly topic: string; readonly payload: Buffer }>()
  /** Packet ids of QoS 2 messages that are received and not yet released. */
  readonly #unreleased = new Set<number>()
  #connect: IConnectPacket | undefined
  #expiry: NodeJS.Timeout | undefined
  #isAdmitted = false
  #isGoodbye = false
  #isConnected = false
  #connectedAt = 0
  #isEnded = false

  constructor(hub: Hub, socket: Socket, upstream: Socket) {
    this.#hub = hub
    this.#socket = socket
    this.#upstream = upstream
  }

  get #protocol(): { readonly protocolVersion: number } {
    return { protocolVersion: this.#connect?.protocolVersion ?? 4 }
  }

  get #about() {
    const { remoteAddress, remotePort } = this.#socket
    return {
      clientid: this.clientId,
      username: this.#connect?.username,
      peername: `${remoteAddress}:${remotePort}`,
      client_attrs: this.verified.attributes ?? {},
    }
  }

  open(): void {
    const parser = mqtt.parser()
    parser.on('packet', (packet) => this.#fromClient(packet))
    parser.on('error', () => this.#socket.destroy())
    this.#socket.on('data', (bytes: Buffer) => parser.parse(bytes))
    this.#socket.on('close', () => {
      this.end(this.#isGoodbye ? 'normal' : 'tcp_closed')
    })
    this.#upstream.on('close', () => this.#socket.destroy())
  }

  /** Publishes the will, unless the client has said goodbye or is ended in silence, as by a ban. */
  end(reason: EndReason, { isSilent = false } = {}): void {
    if (this.#isEnded) return
    this.#isEnded = true
    clearTimeout(this.#expiry)
    this.#socket.destroySoon()
    if (this.#isGoodbye) this.#upstream.end()
    else if (isSilent) this.#upstream.end(mqtt.generate({ cmd: 'disconnect' }))
    else this.#upstream.destroy()
    const connect = this.#connect
    if (connect === undefined || !this.#isConnected) return
    this.#hub.ended(this, isKept(connect))
    const { will } = connect
    if (!this.#isGoodbye && !isSilent && will !== undefined && this.#may('publish', will.topic))
      // A will has no peer, since no client sent it.
      this.#hub
        .onMessage({ ...this.#columnsOf({ ...will, payload: will.payload }), peerhost: undefined })
        // The broker is away, and the will with it.
        .catch(() => {})
    // Connects that come together are told apart by times that run ahead of the clock.
    const disconnected_at = Math.max(Date.now(), this.#connectedAt)
    this.#hub.onEvent('client_disconnected', { ...this.#about, reason, disconnected_at })
  }

  #fromClient(packet: Packet): void {
    if (packet.cmd === 'connect') return void this.#admit(packet)
    if (packet.cmd === 'puback' || packet.cmd === 'pubrec') this.#acked(packet.messageId ?? 0)
    if (packet.cmd === 'pubrel') this.#unreleased.delete(packet.messageId ?? 0)
    if (packet.cmd === 'disconnect') this.#isGoodbye = true
    if (packet.cmd === 'unsubscribe')
      for (const topic of packet.unsubscriptions) this.#hub.unsubscribed(this, topic)
    if (packet.cmd === 'subscribe') this.#subscribe(packet)
    else if (packet.cmd === 'publish') this.#publish(packet)
    else this.#hold(packet)
  }

  #publish(packet: IPublishPacket): void {
    const { topic, qos } = packet
    if (!this.#may('publish', topic)) {
      const answer = { messageId: packet.messageId ?? 0, reasonCode: NOT_AUTHORIZED }
      if (qos === 1) this.#answer({ cmd: 'puback', ...answer })
      if (qos === 2) this.#answer({ cmd: 'pubrec', ...answer })
      return
    }
    if (!this.#hub.isPlain && (topic.split('/').length > TOPIC_LEVELS_MAX || /[+#]/.test(topic))) {
      this.#disconnect('topic_name_invalid', TOPIC_NAME_INVALID)
      return
    }
    const held = this.#hold(packet, !this.#isFirst(packet))
    if (held.isReady) return
    this.#hub.onMessage({ ...this.#columnsOf(packet), peerhost: this.#socket.remoteAddress }).then(
      () => {
        held.isReady = true
        this.#forward()
      },
      () => this.#socket.destroy(),
    )
  }

  #subscribe(packet: ISubscribePacket): void {
    const { messageId = 0 } = packet
    const wanted = packet.subscriptions.map(({ topic, qos }) =>
      this.#may('subscribe', topic) ? { topic, qos } : undefined,
    )
    const subscriptions = packet.subscriptions.filter((_, index) => wanted[index] !== undefined)
    if (subscriptions.length === 0) {
      this.#answer({ cmd: 'suback', messageId, granted: wanted.map(() => this.#deniedCode) })
      return
    }
    this.#subscribing.set(messageId, wanted)
    this.#hold({ ...packet, subscriptions })
  }

  get #deniedCode(): number {
    return this.#protocol.protocolVersion === 5 ? NOT_AUTHORIZED : 0x80
  }

  #may(action: 'publish' | 'subscribe', topic: string): boolean {
    if (this.#hub.isPlain) return true
    if (this.#hub.isUnguarded) return false
    const { attributes = {}, acl = [] } = this.verified
    const client: Client = {
      clientid: this.clientId,
      username: this.#connect?.username,
      client_attrs: attributes,
    }
    const result = judge([...acl, ...EMQX_ACL], client, { action, topic })
    this.#hub.onEvent('client_check_authz_complete', { ...this.#about, action, topic, result })
    return result === 'allow'
  }

  #columnsOf(message: Pick<IPublishPacket, 'topic' | 'payload'> & { qos?: number; retain?: boolean }) {
    const { topic, payload, qos = 0, retain = false } = message
    return {
      ...this.#about,
      event: 'message.publish',
      id: this.#ids.next(),
      topic,
      payload: Buffer.from(payload),
      qos,
      flags: { retain, dup: false },
      publish_received_at: Date.now(),
      timestamp: Date.now(),
    }
  }

  #isFirst({ qos, messageId = 0 }: IPublishPacket): boolean {
    if (qos < 2) return true
    const isFirst = !this.#unreleased.has(messageId)
    this.#unreleased.add(messageId)
    return isFirst
  }

  #hold(packet: Packet, isReady = true): HeldPacket {
    const held: HeldPacket = { bytes: mqtt.generate(packet, this.#protocol), isReady }
    this.#held.push(held)
    this.#forward()
    return held
  }

  #forward(): void {
    if (!this.#isAdmitted) return
    for (let next = this.#held[0]; next?.isReady; next = this.#held[0]) {
      this.#held.shift()
      if (!this.#upstream.destroyed) this.#upstream.write(next.bytes)
    }
  }

  #answer(packet: Packet): void {
    this.#socket.write(mqtt.generate(packet, this.#protocol))
  }

  #disconnect(reason: EndReason, reasonCode: number, options: { isSilent?: boolean } = {}): void {
    if (this.#protocol.protocolVersion === 5) this.#answer({ cmd: 'disconnect', reasonCode })
    this.end(reason, options)
  }

  async #admit(connect: IConnectPacket): Promise<void> {
    this.#connect = connect
    const admission = await this.#hub.admit(connect)
    this.clientId = connect.clientId
    if (typeof admission === 'number') {
      const code = connect.protocolVersion === 5 ? { reasonCode: admission } : { returnCode: admission }
      this.#socket.end(mqtt.generate({ cmd: 'connack', sessionPresent: false, ...code }, this.#protocol))
      this.#hub.onEvent('client_connack', { ...this.#about, reason_code: REJECTIONS[admission] ?? 'unknown' })
      this.#upstream.destroy()
      return
    }
    this.verified = admission
    const { expiresAt } = admission
    if (expiresAt !== undefined)
      // EMQX speaks no will then.
      this.#expiry = setTimeout(
        () => this.#disconnect('not_authorized', NOT_AUTHORIZED, { isSilent: true }),
        Math.min(expiresAt - Date.now(), TIMER_MS_MAX),
      )
    this.#hub.takeOver(this.clientId, connect.clean !== true)
    const parser = mqtt.parser(this.#protocol)
    parser.on('packet', (packet) => this.#fromBroker(packet))
    this.#upstream.on('data', (bytes: Buffer) => parser.parse(bytes))
    // mosquitto would publish a will that is not the client's to publish.
    const { will, ...others } = connect
    const isOwn = will !== undefined && this.#may('publish', will.topic)
    this.#upstream.write(mqtt.generate(isOwn ? connect : others))
    this.#isAdmitted = true
    this.#forward()
  }

  #fromBroker(packet: Packet): void {
    if (packet.cmd === 'publish' && packet.qos > 0)
      this.#unacked.set(packet.messageId ?? 0, {
        topic: packet.topic,
        payload: Buffer.from(packet.payload),
      })
    if (packet.cmd === 'suback') packet.granted = this.#granted(packet.messageId ?? 0, packet.granted)
    this.#answer(packet)
    if (packet.cmd === 'connack' && (packet.returnCode ?? packet.reasonCode) === 0) this.#welcome()
  }

  #welcome(): void {
    const connect = this.#connect
    if (connect === undefined) return
    this.#isConnected = true
    this.#hub.onEvent('client_connack', { ...this.#about, reason_code: 'success' })
    this.#hub.connected(this, connect.clean !== true)
    this.#connectedAt = this.#hub.connectedAt()
    this.#hub.onEvent('client_connected', {
      ...this.#about,
      keepalive: connect.keepalive,
      clean_start: connect.clean === true,
      connected_at: this.#connectedAt,
    })
  }

  #granted(messageId: number, granted: readonly unknown[]): number[] {
    const codes = [...granted]
    const wanted = this.#subscribing.get(messageId) ?? []
    this.#subscribing.delete(messageId)
    return wanted.map((subscription) => {
      const code = subscription === undefined ? this.#deniedCode : Number(codes.shift())
      if (subscription === undefined || code > 2) return code
      this.#hub.subscribed(this, subscription)
      this.#hub.onEvent('session_subscribed', { ...this.#about, ...subscription })
      return code
    })
  }

  #acked(messageId: number): void {
    const message = this.#unacked.get(messageId)
    this.#unacked.delete(messageId)
    if (message === undefined) return
    const { client_attrs: _, ...about } = this.#about
    this.#hub.onEvent('message_acked', { ...about, ...message })
  }
}

function isKept({ clean, protocolVersion, properties }: IConnectPacket): boolean {
  return protocolVersion === 5 ? (properties?.sessionExpiryInterval ?? 0) > 0 : clean !== true
}
