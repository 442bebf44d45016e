// For tests: one device's connection to the stand-in for EMQX. It sits before mosquitto, reads both directions, and
// republishes by the rules, in order.
import type { Socket } from 'node:net'
import mqtt, { type IConnectPacket, type Packet } from 'mqtt-packet'
import { isCommand, isDevice, isUplink, MessageIds, type RuleMessage, toEvent, toUplink } from './rules.ts'

export interface Subscription {
  readonly topic: string
  readonly qos: number
}

/** The part of the front that a connection needs. */
export interface Hub {
  republish(message: RuleMessage): Promise<void>
  /** Returns a time in milliseconds that is later than that of any earlier connection. */
  connectedAt(): number
  /** Resolves to the code of the CONNACK: 0, or the reason of the refusal. */
  refusal(connect: IConnectPacket): Promise<number>
  /** Ends the device's present connection before another one opens. */
  takeOver(clientId: string, isKept: boolean): void
  connected(connection: FrontConnection, isKept: boolean): void
  subscribed(connection: FrontConnection, subscription: Subscription): void
  unsubscribed(connection: FrontConnection, topic: string): void
  ended(connection: FrontConnection, isKept: boolean): void
}

type EndReason = 'normal' | 'tcp_closed' | 'kicked' | 'takenover' | 'discarded'

/** A device's packet that waits until its republished message is acknowledged. */
interface HeldPacket {
  readonly bytes: Buffer
  isReady: boolean
}

export class FrontConnection {
  clientId = ''
  readonly #front: Hub
  readonly #socket: Socket
  readonly #upstream: Socket
  readonly #ids = new MessageIds()
  readonly #held: HeldPacket[] = []
  readonly #subscribing = new Map<number, readonly Subscription[]>()
  /** Commands on their way to the device, by packet id. */
  readonly #commands = new Map<number, { readonly topic: string; readonly payload: Buffer }>()
  /** Packet ids of QoS 2 messages that are received and not yet released. */
  readonly #unreleased = new Set<number>()
  #connect: IConnectPacket | undefined
  #isGoodbye = false
  #isConnected = false
  #isEnded = false

  constructor(front: Hub, socket: Socket, upstream: Socket) {
    this.#front = front
    this.#socket = socket
    this.#upstream = upstream
  }

  open(): void {
    const parser = mqtt.parser()
    parser.on('packet', (packet) => this.#fromDevice(packet))
    parser.on('error', () => this.#socket.destroy())
    this.#socket.on('data', (bytes: Buffer) => parser.parse(bytes))
    this.#socket.on('close', () => {
      this.end(this.#isGoodbye ? 'normal' : 'tcp_closed')
    })
    this.#upstream.on('close', () => this.#socket.destroy())
  }

  end(reason: EndReason): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#socket.destroy()
    if (this.#isGoodbye) this.#upstream.end()
    else this.#upstream.destroy()
    const connect = this.#connect
    if (connect === undefined || !this.#isConnected) return
    this.#front.ended(this, isKept(connect))
    if (!this.#isGoodbye && connect.will !== undefined && isUplink(connect.will.topic)) {
      const { topic, payload, qos = 0, retain = false } = connect.will
      this.#tell(
        toUplink(
          { topic, payload: Buffer.from(payload), qos, retain },
          { id: this.#ids.next(), isWill: true },
        ),
      )
    }
    this.#tell(
      toEvent('disconnected', this.clientId, {
        event: 'client.disconnected',
        reason,
        disconnected_at: Date.now(),
      }),
    )
  }

  #tell(message: RuleMessage): void {
    if (isDevice(this.clientId)) void this.#front.republish(message).catch(() => {})
  }

  #fromDevice(packet: Packet): void {
    const protocolVersion = this.#connect?.protocolVersion ?? 4
    if (packet.cmd === 'connect') return void this.#admit(packet)
    if (packet.cmd === 'puback' || packet.cmd === 'pubrec') this.#acked(packet.messageId ?? 0)
    if (packet.cmd === 'pubrel') this.#unreleased.delete(packet.messageId ?? 0)
    if (packet.cmd === 'disconnect') this.#isGoodbye = true
    if (packet.cmd === 'unsubscribe')
      for (const topic of packet.unsubscriptions) this.#front.unsubscribed(this, topic)
    if (packet.cmd === 'subscribe')
      this.#subscribing.set(
        packet.messageId ?? 0,
        packet.subscriptions.map(({ topic, qos }) => ({ topic, qos })),
      )
    const held: HeldPacket = { bytes: mqtt.generate(packet, { protocolVersion }), isReady: true }
    this.#held.push(held)
    if (packet.cmd === 'publish' && isUplink(packet.topic) && this.#isFirst(packet)) {
      held.isReady = false
      const payload = Buffer.from(packet.payload)
      this.#front.republish(toUplink({ ...packet, payload }, { id: this.#ids.next(), isWill: false })).then(
        () => {
          held.isReady = true
          this.#forward()
        },
        () => this.#socket.destroy(),
      )
    }
    this.#forward()
  }

  #isFirst({
    qos,
    messageId = 0,
  }: {
    readonly qos: number
    readonly messageId?: number | undefined
  }): boolean {
    if (qos < 2) return true
    const isFirst = !this.#unreleased.has(messageId)
    this.#unreleased.add(messageId)
    return isFirst
  }

  #forward(): void {
    for (let next = this.#held[0]; next?.isReady; next = this.#held[0]) {
      this.#held.shift()
      if (!this.#upstream.destroyed) this.#upstream.write(next.bytes)
    }
  }

  async #admit(connect: IConnectPacket): Promise<void> {
    this.#connect = connect
    this.clientId = connect.clientId
    const protocolVersion = connect.protocolVersion ?? 4
    const refusal = await this.#front.refusal(connect)
    if (refusal !== 0) {
      const code = protocolVersion === 5 ? { reasonCode: refusal } : { returnCode: refusal }
      this.#socket.end(mqtt.generate({ cmd: 'connack', sessionPresent: false, ...code }, { protocolVersion }))
      this.#upstream.destroy()
      return
    }
    this.#front.takeOver(this.clientId, connect.clean !== true)
    const parser = mqtt.parser({ protocolVersion })
    parser.on('packet', (packet) => this.#fromBroker(packet))
    this.#upstream.on('data', (bytes: Buffer) => {
      parser.parse(bytes)
      this.#socket.write(bytes)
    })
    this.#upstream.write(mqtt.generate(connect))
    this.#forward()
  }

  #fromBroker(packet: Packet): void {
    if (packet.cmd === 'connack' && (packet.returnCode ?? packet.reasonCode) === 0) this.#welcome()
    if (packet.cmd === 'publish' && packet.qos > 0 && isCommand(packet.topic))
      this.#commands.set(packet.messageId ?? 0, { topic: packet.topic, payload: Buffer.from(packet.payload) })
    if (packet.cmd === 'suback') this.#granted(packet.messageId ?? 0, packet.granted)
  }

  #welcome(): void {
    const connect = this.#connect
    if (connect === undefined) return
    this.#isConnected = true
    this.#front.connected(this, connect.clean !== true)
    this.#tell(
      toEvent('connected', this.clientId, {
        event: 'client.connected',
        peername: `${this.#socket.remoteAddress}:${this.#socket.remotePort}`,
        keepalive: connect.keepalive,
        clean_start: connect.clean === true,
        connected_at: this.#front.connectedAt(),
      }),
    )
  }

  #granted(messageId: number, granted: readonly unknown[]): void {
    const wanted = this.#subscribing.get(messageId) ?? []
    this.#subscribing.delete(messageId)
    wanted.forEach((subscription, index) => {
      if (Number(granted[index]) > 2) return
      this.#front.subscribed(this, subscription)
      this.#tell(toEvent('subscribed', this.clientId, { event: 'session.subscribed', ...subscription }))
    })
  }

  #acked(messageId: number): void {
    const command = this.#commands.get(messageId)
    this.#commands.delete(messageId)
    if (command === undefined) return
    const text = command.payload.toString()
    // The rule fails on a payload that is not JSON.
    if (!text.startsWith('{')) return
    // A command carries its request's id.
    const { request_id } = JSON.parse(text) as { readonly request_id?: string }
    this.#tell(
      toEvent('delivered', this.clientId, { event: 'message.acked', topic: command.topic, request_id }),
    )
  }
}

function isKept({ clean, protocolVersion, properties }: IConnectPacket): boolean {
  return protocolVersion === 5 ? (properties?.sessionExpiryInterval ?? 0) > 0 : clean !== true
}
