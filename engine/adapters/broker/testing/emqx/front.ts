// For tests: the front of the stand-in for EMQX. It lets devices and services in, and knows who is connected.
import { once } from 'node:events'
import { createServer, connect as dial, type Server, type Socket } from 'node:net'
import mqtt, { type IConnectPacket } from 'mqtt-packet'
import { FrontConnection, type Hub, type Subscription } from './connection.ts'
import { Republisher, type RuleMessage } from './rules.ts'

export interface FrontOptions {
  /** Returns whether a device may connect. By default any may. */
  readonly authenticate?: (attempt: {
    readonly clientId: string
    readonly username: string | undefined
    readonly password: string | undefined
  }) => boolean | Promise<boolean>
}

interface MoreFrontOptions extends FrontOptions {
  readonly accounts: readonly { readonly user: string; readonly password: string }[]
  readonly isPlain: boolean
}

const NOT_AUTHORIZED = 5
const BANNED_V5 = 0x8a
const NOT_AUTHORIZED_V5 = 0x87

export class EmqxFront implements Hub {
  readonly #ports: { readonly devices: number; readonly services: number }
  readonly #options: MoreFrontOptions
  readonly #rules: Republisher
  readonly #devices = createServer((socket) => this.#acceptDevice(socket))
  readonly #services = createServer((socket) => this.#acceptService(socket))
  readonly #live = new Map<string, FrontConnection>()
  readonly #sockets = new Set<Socket>()
  readonly #banned = new Set<string>()
  #connectedAt = 0
  /** Subscriptions by client id, including persistent sessions of devices that are away. */
  readonly #sessions = new Map<string, Map<string, Subscription>>()

  constructor(ports: { devices: number; services: number }, options: MoreFrontOptions) {
    this.#ports = ports
    this.#options = options
    this.#rules = new Republisher(ports.services)
  }

  get devicePort(): number {
    return portOf(this.#devices)
  }

  get servicePort(): number {
    return portOf(this.#services)
  }

  async open(): Promise<void> {
    await this.reopen()
    for (const server of [this.#devices, this.#services]) {
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
    }
  }

  /** Connects the rules again after a start of the broker. */
  async reopen(): Promise<void> {
    if (!this.#options.isPlain) await this.#rules.open()
  }

  async close(): Promise<void> {
    this.#devices.close()
    this.#services.close()
    for (const socket of this.#sockets) socket.destroy()
    await this.#rules.close()
  }

  clientIds(): readonly string[] {
    return [...this.#live.keys()]
  }

  banned(): readonly string[] {
    return [...this.#banned]
  }

  async republish(message: RuleMessage): Promise<void> {
    if (!this.#options.isPlain) await this.#rules.send(message)
  }

  /** Ends the session and publishes the will, as EMQX does. */
  async kick(clientId: string): Promise<boolean> {
    const connection = this.#live.get(clientId)
    const isKnown = connection !== undefined || this.#sessions.delete(clientId)
    if (!isKnown) return false
    connection?.end('kicked')
    this.#sessions.delete(clientId)
    await this.#forget(clientId)
    return true
  }

  async ban(clientId: string): Promise<boolean> {
    if (this.#banned.has(clientId)) return false
    this.#banned.add(clientId)
    await this.kick(clientId)
    return true
  }

  unban(clientId: string): boolean {
    return this.#banned.delete(clientId)
  }

  subscriptions(clientId: string): readonly Subscription[] | undefined {
    const session = this.#sessions.get(clientId)
    return session && [...session.values()]
  }

  takeOver(clientId: string, isKept: boolean): void {
    this.#live.get(clientId)?.end(isKept ? 'takenover' : 'discarded')
  }

  connectedAt(): number {
    this.#connectedAt = Math.max(this.#connectedAt + 1, Date.now())
    return this.#connectedAt
  }

  async refusal({ clientId, username, password, protocolVersion }: IConnectPacket): Promise<number> {
    const isV5 = protocolVersion === 5
    if (this.#banned.has(clientId)) return isV5 ? BANNED_V5 : NOT_AUTHORIZED
    const attempt = { clientId, username, password: password?.toString() }
    const isRight = (await this.#options.authenticate?.(attempt)) ?? true
    return isRight ? 0 : isV5 ? NOT_AUTHORIZED_V5 : NOT_AUTHORIZED
  }

  connected(connection: FrontConnection, isKept: boolean): void {
    const { clientId } = connection
    this.#live.set(clientId, connection)
    if (!isKept || !this.#sessions.has(clientId)) this.#sessions.set(clientId, new Map())
  }

  subscribed({ clientId }: FrontConnection, subscription: Subscription): void {
    this.#sessions.get(clientId)?.set(subscription.topic, subscription)
  }

  unsubscribed({ clientId }: FrontConnection, topic: string): void {
    this.#sessions.get(clientId)?.delete(topic)
  }

  ended(connection: FrontConnection, isKept: boolean): void {
    if (this.#live.get(connection.clientId) !== connection) return
    this.#live.delete(connection.clientId)
    if (!isKept) this.#sessions.delete(connection.clientId)
  }

  track(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
    socket.setNoDelay(true)
  }

  #acceptDevice(socket: Socket): void {
    this.track(socket)
    const upstream = dial(this.#ports.devices, '127.0.0.1')
    this.track(upstream)
    new FrontConnection(this, socket, upstream).open()
  }

  /** Checks a service's password and passes everything else through. */
  #acceptService(socket: Socket): void {
    this.track(socket)
    const parser = mqtt.parser()
    const chunks: Buffer[] = []
    const read = (bytes: Buffer) => {
      chunks.push(bytes)
      parser.parse(bytes)
    }
    socket.on('data', read)
    parser.on('error', () => socket.destroy())
    parser.once('packet', (packet) => {
      socket.off('data', read)
      const isRight = this.#options.accounts.some(
        ({ user, password }) =>
          packet.cmd === 'connect' && packet.username === user && packet.password?.toString() === password,
      )
      if (!isRight) return void socket.destroy()
      const upstream = dial(this.#ports.services, '127.0.0.1')
      this.track(upstream)
      upstream.write(Buffer.concat(chunks))
      socket.pipe(upstream)
      upstream.pipe(socket)
      // Ends with all that the service has sent: unread bytes must not make the end an abrupt one.
      socket.on('close', () => upstream.resume().end())
      upstream.on('close', () => socket.destroy())
    })
  }

  /** mosquitto forgets a session when its client connects without it. */
  async #forget(clientId: string): Promise<void> {
    const socket = dial(this.#ports.devices, '127.0.0.1')
    this.track(socket)
    socket.write(
      mqtt.generate({
        cmd: 'connect',
        protocolId: 'MQTT',
        protocolVersion: 4,
        clean: true,
        clientId,
        keepalive: 10,
      }),
    )
    await Promise.race([once(socket, 'data'), once(socket, 'close')])
    socket.end(mqtt.generate({ cmd: 'disconnect' }))
  }
}

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('not listening')
  return address.port
}
