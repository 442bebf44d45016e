// For tests: the front of the stand-in for EMQX. It lets devices and services in, and knows who is connected.
import { once } from 'node:events'
import { createServer, connect as dial, type Server, type Socket } from 'node:net'
import mqtt, { type IConnectPacket } from 'mqtt-packet'
import { type EmqxEventName, EmqxRules } from '../../../../../deploy/testing/emqx.ts'
import type { Columns } from '../../../../../deploy/testing/rule.ts'
import {
  type Admission,
  FrontConnection,
  type Hub,
  type Subscription,
  type VerifiedClient,
} from './connection.ts'
import { Republisher } from './rules.ts'

interface Attempt {
  readonly clientId: string
  readonly username: string | undefined
  readonly password: string | undefined
}

export interface FrontOptions {
  /** Returns what the credentials of a device say, or whether they are right. By default all are. */
  readonly authenticate?: (attempt: Attempt) => VerifiedClient | boolean | Promise<VerifiedClient | boolean>
}

export interface Account {
  readonly user: string
  readonly password: string
  readonly verified: VerifiedClient
}

interface MoreFrontOptions extends FrontOptions {
  readonly accounts: readonly Account[]
  readonly isPlain: boolean
}

type Door = 'devices' | 'services'

const NOT_AUTHORIZED = 5
const BANNED_V5 = 0x8a
const NOT_AUTHORIZED_V5 = 0x87
const DEVICE_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

export class EmqxFront {
  readonly #ports: Readonly<Record<Door, number>>
  readonly #options: MoreFrontOptions
  readonly #republisher: Republisher
  readonly #rules = new EmqxRules()
  readonly #devices = createServer((socket) => this.#accept(socket, 'devices'))
  readonly #services = createServer((socket) => this.#accept(socket, 'services'))
  readonly #live = new Map<string, FrontConnection>()
  readonly #sockets = new Set<Socket>()
  /** When each ban ends. */
  readonly #banned = new Map<string, number>()
  #connectedAt = 0
  /** Subscriptions by client id, including persistent sessions of clients that are away. */
  readonly #sessions = new Map<string, Map<string, Subscription>>()
  /** EMQX's listeners are open before its authentication and authorization are up, and after they are gone. */
  isUnguarded = false

  constructor(ports: Readonly<Record<Door, number>>, options: MoreFrontOptions) {
    this.#ports = ports
    this.#options = options
    this.#republisher = new Republisher(ports.services)
  }

  /** How often a rule has failed. */
  get exceptions(): number {
    return this.#rules.exceptions
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
    if (!this.#options.isPlain) await this.#republisher.open()
  }

  async close(): Promise<void> {
    this.#devices.close()
    this.#services.close()
    for (const socket of this.#sockets) socket.destroy()
    await this.#republisher.close()
  }

  clients(): readonly { readonly clientId: string; readonly attributes: Readonly<Record<string, string>> }[] {
    return [...this.#live].map(([clientId, { verified }]) => ({
      clientId,
      attributes: verified.attributes ?? {},
    }))
  }

  /** Clients that are banned for ever. */
  banned(): readonly string[] {
    return [...this.#banned].filter(([, until]) => until === Number.POSITIVE_INFINITY).map(([id]) => id)
  }

  async republish(message: {
    topic: string
    payload: Buffer
    up?: Readonly<Record<string, string>> | undefined
  }) {
    if (!this.#options.isPlain) await this.#republisher.send(message)
  }

  /** Ends the session and publishes the will, as EMQX does. */
  kick(clientId: string): Promise<boolean> {
    return this.#end(clientId, { isSilent: false })
  }

  /** EMQX ends the session of a client that it bans, and publishes no will. */
  async ban(clientId: string, until = Number.POSITIVE_INFINITY): Promise<number | undefined> {
    const earlier = this.#banned.get(clientId)
    if (earlier !== undefined && earlier > Date.now()) return earlier
    this.#banned.set(clientId, until)
    await this.#end(clientId, { isSilent: true })
    return undefined
  }

  unban(clientId: string): boolean {
    return this.#banned.delete(clientId)
  }

  subscriptions(clientId: string): readonly Subscription[] | undefined {
    const session = this.#sessions.get(clientId)
    return session && [...session.values()]
  }

  track(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
    socket.setNoDelay(true)
  }

  #accept(socket: Socket, door: Door): void {
    this.track(socket)
    const upstream = dial(this.#ports[door], '127.0.0.1')
    this.track(upstream)
    new FrontConnection(this.#hub(door), socket, upstream).open()
  }

  #hub(door: Door): Hub {
    const front = this
    const { isPlain } = this.#options
    return {
      isPlain,
      get isUnguarded() {
        return front.isUnguarded
      },
      onMessage: async (columns: Columns & { readonly topic: string }) => {
        if (isPlain) return
        await Promise.all(this.#rules.onMessage(columns).map((message) => this.republish(message)))
      },
      onEvent: (name: EmqxEventName, columns: Columns) => {
        if (isPlain) return
        // What happens while the broker is away reaches nobody.
        for (const message of this.#rules.onEvent(name, columns)) this.republish(message).catch(() => {})
      },
      connectedAt: () => {
        this.#connectedAt = Math.max(this.#connectedAt + 1, Date.now())
        return this.#connectedAt
      },
      admit: (connect) => (door === 'devices' ? this.#admitDevice(connect) : this.#admitService(connect)),
      takeOver: (clientId, isKept) => {
        // mosquitto ends a service's earlier connection itself, without the reason that EMQX gives. So a lane that was taken
        // over comes back sooner than it would there.
        if (door === 'devices') this.#live.get(clientId)?.end(isKept ? 'takenover' : 'discarded')
      },
      connected: (connection, isKept) => {
        const { clientId } = connection
        this.#live.set(clientId, connection)
        if (!isKept || !this.#sessions.has(clientId)) this.#sessions.set(clientId, new Map())
      },
      subscribed: ({ clientId }, subscription) => {
        this.#sessions.get(clientId)?.set(subscription.topic, subscription)
      },
      unsubscribed: ({ clientId }, topic) => {
        this.#sessions.get(clientId)?.delete(topic)
      },
      ended: (connection, isKept) => {
        if (this.#live.get(connection.clientId) !== connection) return
        this.#live.delete(connection.clientId)
        if (!isKept) this.#sessions.delete(connection.clientId)
      },
    }
  }

  async #admitDevice(connect: IConnectPacket): Promise<Admission> {
    // As `clientid_override` in emqx.conf.
    if (!this.#options.isPlain && !DEVICE_ID.test(connect.clientId)) connect.clientId = 'refused'
    const { clientId, username, password, protocolVersion } = connect
    const isV5 = protocolVersion === 5
    if ((this.#banned.get(clientId) ?? 0) > Date.now()) return isV5 ? BANNED_V5 : NOT_AUTHORIZED
    if (this.isUnguarded) return {}
    const attempt = { clientId, username, password: password?.toString() }
    const result = (await this.#options.authenticate?.(attempt)) ?? true
    if (result === true) return { attributes: { device: clientId } }
    return result === false ? (isV5 ? NOT_AUTHORIZED_V5 : NOT_AUTHORIZED) : result
  }

  async #admitService({ username, password, protocolVersion }: IConnectPacket): Promise<Admission> {
    if (this.isUnguarded) return {}
    const account = this.#options.accounts.find(
      (each) => each.user === username && each.password === password?.toString(),
    )
    return account?.verified ?? (protocolVersion === 5 ? NOT_AUTHORIZED_V5 : NOT_AUTHORIZED)
  }

  async #end(clientId: string, options: { readonly isSilent: boolean }): Promise<boolean> {
    const connection = this.#live.get(clientId)
    const isKnown = connection !== undefined || this.#sessions.delete(clientId)
    if (!isKnown) return false
    connection?.end('kicked', options)
    this.#sessions.delete(clientId)
    await this.#forget(clientId)
    return true
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
