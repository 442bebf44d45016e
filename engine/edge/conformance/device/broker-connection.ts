// The broker side of one connection of the device, for MQTT 3.1.1 and 5.
import type { Socket } from 'node:net'
import { generate, type IConnectPacket, type IPublishPacket, type Packet, parser } from 'mqtt-packet'
import { parsePayload } from '../../payload.ts'
import type { BrokerBehaviour } from './broker-behaviour.ts'
import { matchesFilter, type PublishedMessage, type Recording, type SubscribedTopic } from './recording.ts'

export interface BrokerConnectionPorts {
  readonly behaviour: Readonly<BrokerBehaviour>
  readonly seen: () => void
  readonly nextNumber: () => number
  readonly published: (message: PublishedMessage) => void
  readonly accepted: (connection: BrokerConnection) => void
}

interface ReceivedPublish extends PublishedMessage {
  isAcknowledged: boolean
}

const NOT_AUTHORISED = { v3: 5, v5: 0x87 } as const

export class BrokerConnection implements Recording {
  readonly openedAt = Date.now()
  connect: IConnectPacket | undefined
  acceptedAt: number | undefined
  closedAt: number | undefined
  alteredAt: number | undefined
  readonly published: ReceivedPublish[] = []
  readonly subscribed: SubscribedTopic[] = []
  readonly #socket: Socket
  readonly #ports: BrokerConnectionPorts
  readonly #parser: ReturnType<typeof parser>
  #messageId = 0

  constructor(socket: Socket, ports: BrokerConnectionPorts) {
    this.#socket = socket
    this.#ports = ports
    this.#parser = parser()
    this.#parser.on('packet', (packet: Packet) => this.#onPacket(packet))
    this.#parser.on('error', () => this.cut())
    socket.setNoDelay(true)
    socket.on('data', (bytes) => {
      if (!ports.behaviour.answers) this.alteredAt ??= Date.now()
      this.#parser.parse(bytes)
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.closedAt ??= Date.now()
      ports.seen()
    })
  }

  /** The local address that the device has connected to. */
  get localAddress(): string {
    return this.#socket.localAddress ?? '127.0.0.1'
  }

  /** True if the broker has withheld a PUBACK. */
  get hasWithheld(): boolean {
    return this.published.some(({ qos, isAcknowledged }) => qos > 0 && !isAcknowledged)
  }

  isSubscribedTo(topic: string): boolean {
    return this.subscribed.some((subscription) => matchesFilter(subscription.topic, topic))
  }

  send(topic: string, payload: Buffer): void {
    const messageId = (this.#messageId % 65_535) + 1
    this.#messageId = messageId
    this.#write({ cmd: 'publish', topic, payload, qos: 1, retain: false, dup: false, messageId })
  }

  cut(): void {
    if (this.closedAt !== undefined) return
    this.closedAt = Date.now()
    // Resetting a socket that is already closing would fail and leave it open.
    if (this.#socket.writableEnded) this.#socket.destroy()
    else this.#socket.resetAndDestroy()
  }

  #onPacket(packet: Packet): void {
    const { behaviour, seen } = this.#ports
    if (packet.cmd === 'connect') this.#onConnect(packet)
    else if (packet.cmd === 'publish') this.#onPublish(packet)
    else if (packet.cmd === 'subscribe') {
      const at = Date.now()
      for (const { topic, qos } of packet.subscriptions) this.subscribed.push({ at, topic, qos })
      const { messageId } = packet
      if (behaviour.answers)
        this.#write({
          cmd: 'suback',
          ...withMessageId(messageId),
          granted: packet.subscriptions.map(({ qos }) => Math.min(qos, 1)),
        })
    } else if (behaviour.answers) this.#respond(packet)
    seen()
  }

  #respond(packet: Packet): void {
    const { messageId } = packet
    if (packet.cmd === 'pingreq') this.#write({ cmd: 'pingresp' })
    else if (packet.cmd === 'pubrel') this.#write({ cmd: 'pubcomp', ...withMessageId(messageId) })
    else if (packet.cmd === 'unsubscribe')
      this.#write({
        cmd: 'unsuback',
        ...withMessageId(messageId),
        granted: packet.unsubscriptions.map(() => 0),
      })
    else if (packet.cmd === 'disconnect') this.#socket.end()
  }

  #onConnect(packet: IConnectPacket): void {
    this.connect = packet
    const { onConnect, answers } = this.#ports.behaviour
    if (!answers) return
    if (onConnect === 'cut') {
      this.cut()
      return
    }
    const isV5 = packet.protocolVersion === 5
    const code = onConnect === 'refuse' ? (isV5 ? NOT_AUTHORISED.v5 : NOT_AUTHORISED.v3) : 0
    const how = isV5 ? { reasonCode: code } : { returnCode: code }
    this.#write({ cmd: 'connack', sessionPresent: false, ...how })
    if (code !== 0) return void this.#socket.end()
    this.acceptedAt = Date.now()
    this.#ports.accepted(this)
  }

  #onPublish(packet: IPublishPacket): void {
    const { topic, qos, retain, dup, messageId } = packet
    const payload = Buffer.from(packet.payload)
    const { behaviour, nextNumber, published } = this.#ports
    const message: ReceivedPublish = {
      ...{ number: nextNumber(), at: Date.now(), topic, payload, qos, retain, dup, messageId },
      body: parsePayload(payload),
      isAcknowledged: false,
    }
    this.published.push(message)
    if (behaviour.answers && qos > 0) {
      if (behaviour.acknowledges(message)) {
        message.isAcknowledged = true
        this.#write({ cmd: qos === 2 ? 'pubrec' : 'puback', ...withMessageId(messageId) })
      } else this.alteredAt ??= Date.now()
    }
    published(message)
  }

  #write(packet: Packet): void {
    const version = this.connect?.protocolVersion ?? 4
    if (this.#socket.writable) this.#socket.write(generate(packet, { protocolVersion: version }))
  }
}

function withMessageId(messageId: number | undefined): { readonly messageId?: number } {
  return messageId === undefined ? {} : { messageId }
}
