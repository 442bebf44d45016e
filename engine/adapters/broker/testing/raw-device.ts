// For tests: a device on a bare socket, which can send any bytes and shows every packet that comes back.
import { Buffer } from 'node:buffer'
import { connect as dial, type Socket } from 'node:net'
import mqtt, { type IConnectPacket, type IPublishPacket, type Packet } from 'mqtt-packet'
import { PASSWORD, until } from './fake-host.ts'

export type ReceivedPacket<Command extends Packet['cmd']> = Extract<Packet, { cmd: Command }>

export interface PublishOptions {
  readonly qos?: 0 | 1 | 2
  readonly retain?: boolean
  readonly dup?: boolean
  readonly messageId?: number
  readonly properties?: IPublishPacket['properties']
  readonly protocolVersion?: number
}

export class RawDevice {
  readonly socket: Socket
  readonly packets: Packet[] = []
  isClosed = false
  onPacket: ((packet: Packet) => void) | undefined
  readonly #protocolVersion: number
  #id = 0

  private constructor(socket: Socket, protocolVersion: number) {
    this.socket = socket
    this.#protocolVersion = protocolVersion
    const parser = mqtt.parser({ protocolVersion })
    parser.on('packet', (packet) => {
      this.packets.push(packet)
      this.onPacket?.(packet)
    })
    parser.on('error', () => {})
    socket.on('data', (bytes: Buffer) => parser.parse(bytes))
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isClosed = true
    })
  }

  static dial(port: number, protocolVersion = 4): Promise<RawDevice> {
    return new Promise((resolve, reject) => {
      const socket = dial({ port, host: '127.0.0.1', noDelay: true }, () =>
        resolve(new RawDevice(socket, protocolVersion)),
      )
      socket.once('error', reject)
    })
  }

  /** Dials, sends a CONNECT and waits for its answer. */
  static async connect(
    port: number,
    clientId: string,
    more: Partial<IConnectPacket> = {},
  ): Promise<RawDevice> {
    const device = await RawDevice.dial(port, more.protocolVersion)
    device.send(connectPacket(clientId, more))
    await until(() => device.isClosed || device.packets.length > 0, `CONNACK for ${clientId}`)
    return device
  }

  get connack(): ReceivedPacket<'connack'> | undefined {
    return this.all('connack')[0]
  }

  all<Command extends Packet['cmd']>(command: Command): readonly ReceivedPacket<Command>[] {
    return this.packets.filter((packet): packet is ReceivedPacket<Command> => packet.cmd === command)
  }

  send(bytes: Uint8Array): void {
    this.socket.write(bytes)
  }

  sendPacket(packet: Packet): void {
    this.send(mqtt.generate(packet, { protocolVersion: this.#protocolVersion }))
  }

  publish(topic: string, payload: string | Buffer, options: PublishOptions = {}): number {
    const messageId = options.messageId ?? ++this.#id
    this.send(
      publishPacket(topic, payload, { ...options, messageId, protocolVersion: this.#protocolVersion }),
    )
    return messageId
  }

  /** Resolves to the granted QoS, or 128, of each filter. */
  async subscribe(...filters: readonly (string | { readonly topic: string; readonly qos: 0 | 1 | 2 })[]) {
    const messageId = ++this.#id
    const subscriptions = filters.map((filter) =>
      typeof filter === 'string' ? { topic: filter, qos: 1 as const } : { ...filter },
    )
    this.sendPacket({ cmd: 'subscribe', messageId, subscriptions })
    const answer = () => this.all('suback').find((packet) => packet.messageId === messageId)
    await until(() => this.isClosed || answer() !== undefined, 'SUBACK')
    return answer()?.granted
  }

  received(): readonly { topic: string; text: string; qos: number; retain: boolean; dup: boolean }[] {
    return this.all('publish').map(({ topic, payload, qos, retain, dup }) => ({
      topic,
      text: payload.toString(),
      qos,
      retain,
      dup,
    }))
  }

  async closed(): Promise<void> {
    await until(() => this.isClosed, 'the socket to be closed')
  }

  drop(): void {
    this.socket.destroy()
  }
}

export function connectPacket(clientId: string, more: Partial<IConnectPacket> = {}): Buffer {
  return mqtt.generate({
    cmd: 'connect',
    clientId,
    protocolId: 'MQTT',
    protocolVersion: 4,
    clean: true,
    keepalive: 60,
    username: clientId,
    password: Buffer.from(PASSWORD),
    ...more,
  })
}

export function publishPacket(topic: string, payload: string | Buffer, options: PublishOptions = {}): Buffer {
  const { qos = 1, retain = false, dup = false, messageId = 1, properties, protocolVersion = 4 } = options
  return mqtt.generate(
    { cmd: 'publish', topic, payload, qos, retain, dup, messageId, ...(properties && { properties }) },
    { protocolVersion },
  )
}
