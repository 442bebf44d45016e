// One lane: an MQTT 5 session in which the messages of some partitions wait until a process reads them.
//
// N1. A message is acknowledged once it is durable (R1), in the order of arrival, many with one write.
// - The session outlives connections and processes. Its client id is fixed: a process that connects with it takes over the
//   session, and is sent everything that the earlier one did not acknowledge.
// N3. An acknowledgement is sent only on the connection that its message came by. It is dropped if that connection is gone.
// N4. The broker answers a ping after everything it has sent before. It holds messages back only while the window of
//     unacknowledged messages is full. If the window was not full meanwhile, the lane was caught up when the ping left.
// N5. While the log is behind, the socket is not read: messages wait at the broker.
// N6. While nobody can say who owns the lane, two processes may read it. Each connection ends the other, and the broker
//     sends again what is not acknowledged. So the delay grows with each loss, and begins anew only after a connection
//     that lasted longer than the longest delay: then nobody has taken the lane back. A broker that is away is tried at
//     short intervals: what it acknowledges after its start, before it knows the lane, nobody gets.
// N7. EMQX sends the messages that were not acknowledged again in the order of their packet ids, right after the CONNACK
//     (`emqx_session_mem:replay`). If the ids began anew meanwhile, the later messages come first. They are put in order,
//     because a message after a later one counts as repeated (runtime/shard/repeats.ts).
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import mqtt, { type IConnackPacket, type IPublishPacket, type Packet } from 'mqtt-packet'
import type { Millis } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Schedule } from '../../../ports/schedule.ts'
import { PACKET } from '../embedded/packets.ts'

export interface MqttAccount {
  readonly user: string
  readonly password: string
}

export interface LaneOptions {
  /** `mqtt:` or `mqtts:`. */
  readonly url: URL
  readonly account: MqttAccount
  readonly clientId: string
  readonly filters: readonly string[]
  readonly take: (message: IPublishPacket, seq: number) => void
  readonly isCongested: () => boolean
  /** Everything that the broker had for the lane at that time, and at those ticks, has been read. */
  readonly caughtUp: (at: Millis, ticks: number) => void
  readonly clock: Clock
  readonly schedule: Pick<Schedule, 'after' | 'every'>
  /** The broker has admitted the lane. `isLost`: it has lost an earlier session, and the messages that waited in it. */
  readonly opened: (about: { readonly isLost: boolean }) => void
  readonly warn: (message: string, about: object) => void
}

/** Stands for the packet id of a message of QoS 0, which is not acknowledged. */
const NO_ACK = -1

const TAKEN_OVER = 0x8e
/** Packet ids that are in flight at the same time are closer to each other, unless they began anew in between. */
const ID_DISTANCE_MAX = 0x8000
const PINGREQ = mqtt.generate({ cmd: 'pingreq' })
const GRANTED_MAX = 2

export class Lane {
  readonly #options: LaneOptions
  #socket: Socket | undefined
  #cancelRetry: (() => void) | undefined
  readonly #stopTicking: () => void
  #delayMs: number = LIMITS.mqttReconnectMs
  #isTakenOver = false
  /** Packet ids of this connection that are not acknowledged, oldest first. The first has the number `#base`. */
  #ids: number[] = []
  #isDone: boolean[] = []
  #base = 0
  #isFlushing = false
  /** What the broker has sent again since the CONNACK; undefined once it sends anything else (N7). */
  #resent: IPublishPacket[] | undefined
  #heardTicks = 0
  #hadSession = false
  /** The broker has answered the present attempt to connect. */
  #isAnswered = false
  #isOpen = false
  /** Ticks at which the broker granted the subscriptions; undefined until it has. */
  #subscribedTicks: number | undefined
  #isPinging = false
  #pingedTicks = 0
  /** Time at which the ping in flight left, while its answer can still prove that the lane is caught up (N4). */
  #pingLeftAt: Millis | undefined
  #isReading = true
  #isClosed = false
  #drained: (() => void) | undefined

  constructor(options: LaneOptions) {
    this.#options = options
    this.#stopTicking = options.schedule.every(LIMITS.brokerSweepEveryMs, () => this.#tick())
    this.#connect()
  }

  /** True while connected, unless the broker has refused the subscriptions. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Messages that have been read but not acknowledged. */
  get pending(): number {
    return this.#ids.length
  }

  /** Called when a message is durable. Ignored if it came by an earlier connection (N3). */
  done(seq: number): void {
    const index = seq - this.#base
    if (index < 0 || index >= this.#isDone.length) return
    this.#isDone[index] = true
    if (index > 0 || this.#isFlushing) return
    this.#isFlushing = true
    // Messages that became durable together are acknowledged with one write (N1).
    queueMicrotask(() => this.#flush())
  }

  /** Stops reading. Resolves once everything read is acknowledged and the connection is closed. */
  async handOver(): Promise<void> {
    this.#isReading = false
    this.#socket?.pause()
    if (this.#ids.length > 0) await new Promise<void>((resolve) => (this.#drained = resolve))
    const socket = this.#socket
    if (socket === undefined || !this.#isOpen) {
      this.close()
      return
    }
    // The last acknowledgements are still sent, and the session stays at the broker.
    this.#stop()
    await new Promise<void>((resolve) => {
      socket.once('close', () => resolve())
      socket.resume()
      socket.end(mqtt.generate({ cmd: 'disconnect', reasonCode: 0 }, { protocolVersion: 5 }))
    })
  }

  close(): void {
    this.#stop()
    this.#socket?.destroy()
  }

  #stop(): void {
    this.#isClosed = true
    this.#cancelRetry?.()
    this.#stopTicking()
  }

  #connect(): void {
    const { url, account, clientId } = this.#options
    const isTls = url.protocol === 'mqtts:'
    const at = { host: url.hostname, port: Number(url.port || (isTls ? 8883 : 1883)) }
    const socket = isTls ? connectTls({ ...at, servername: at.host }) : connectTcp(at)
    this.#socket = socket
    this.#isAnswered = false
    this.#heardTicks = this.#options.clock.ticks()
    socket.setNoDelay(true)
    const parser = mqtt.parser({ protocolVersion: 5 })
    parser.on('packet', (packet) => this.#packet(packet, socket))
    parser.on('error', (error) => socket.destroy(error))
    socket.on('data', (bytes: Buffer) => {
      if (!this.#isReading) return
      this.#heardTicks = this.#options.clock.ticks()
      parser.parse(bytes)
      if (this.#options.isCongested()) socket.pause()
    })
    socket.on('error', () => {})
    socket.on('close', () => this.#lost(socket))
    socket.write(
      mqtt.generate({
        cmd: 'connect',
        protocolId: 'MQTT',
        protocolVersion: 5,
        clean: false,
        clientId,
        username: account.user,
        password: Buffer.from(account.password),
        keepalive: LIMITS.keepAliveSecDefault,
        properties: {
          sessionExpiryInterval: LIMITS.laneSessionSec,
          receiveMaximum: LIMITS.laneReceiveMax,
          maximumPacketSize: LIMITS.lanePacketBytesMax,
        },
      }),
    )
  }

  #packet(packet: Packet, socket: Socket): void {
    switch (packet.cmd) {
      case 'publish':
        if (packet.dup && this.#resent !== undefined) {
          this.#resent.push(packet)
          return
        }
        this.#takeResent()
        this.#published(packet)
        return
      case 'connack':
        this.#accepted(packet, socket)
        return
      case 'suback': {
        this.#takeResent()
        const refused = packet.granted.filter((code) => Number(code) > GRANTED_MAX)
        if (refused.length === 0) this.#subscribedTicks = this.#options.clock.ticks()
        else
          this.#refused(
            'the broker refuses the ingress its subscriptions: check its account',
            { codes: refused },
            socket,
          )
        return
      }
      case 'disconnect':
        // Another process reads the lane now. Ownership decides whether to take it back.
        this.#isTakenOver = packet.reasonCode === TAKEN_OVER
        socket.destroy()
        return
      case 'pingresp':
        this.#pongReceived()
        return
      default:
    }
  }

  /** See N7. */
  #takeResent(): void {
    const messages = this.#resent ?? []
    this.#resent = undefined
    const idAt = (index: number) => messages.at(index)?.messageId ?? 0
    const isTorn = idAt(-1) - idAt(0) > ID_DISTANCE_MAX
    const first = isTorn ? messages.findIndex(({ messageId = 0 }) => messageId > ID_DISTANCE_MAX) : 0
    for (const message of [...messages.slice(first), ...messages.slice(0, first)]) this.#published(message)
  }

  #published(message: IPublishPacket): void {
    const seq = message.qos === 0 ? NO_ACK : this.#base + this.#ids.length
    if (message.qos > 0) {
      this.#ids.push(message.messageId ?? 0)
      this.#isDone.push(false)
      if (this.#ids.length >= LIMITS.laneReceiveMax) this.#pingLeftAt = undefined
    }
    this.#options.take(message, seq)
  }

  #accepted({ sessionPresent, reasonCode }: IConnackPacket, socket: Socket): void {
    const { filters, opened } = this.#options
    this.#isAnswered = true
    if (reasonCode !== 0) {
      this.#refused('the broker refuses the ingress: check its account', { code: reasonCode }, socket)
      return
    }
    opened({ isLost: !sessionPresent && this.#hadSession })
    this.#hadSession = true
    this.#isOpen = true
    this.#resent = []
    const subscriptions = filters.map((topic) => ({ topic, qos: 1 as const, rap: true, rh: 2 }))
    socket.write(mqtt.generate({ cmd: 'subscribe', messageId: 1, subscriptions }, { protocolVersion: 5 }))
  }

  /** EMQX refuses everybody right after its start, so the next attempt comes soon. */
  #refused(message: string, about: object, socket: Socket): void {
    this.#options.warn(message, { clientId: this.#options.clientId, ...about })
    socket.destroy()
  }

  #lost(socket: Socket): void {
    if (this.#socket !== socket) return
    this.#socket = undefined
    this.#isOpen = false
    this.#isPinging = false
    this.#base += this.#ids.length
    this.#ids = []
    this.#isDone = []
    this.#resent = undefined
    this.#drained?.()
    const waitMs = this.#nextWaitMs()
    this.#subscribedTicks = undefined
    this.#isTakenOver = false
    if (this.#isClosed || !this.#isReading) return
    this.#cancelRetry = this.#options.schedule.after(waitMs, () => this.#connect())
  }

  /** See N6. The wait is random, so that lanes do not all return at once and two processes do not stay in step. */
  #nextWaitMs(): number {
    const since = this.#subscribedTicks
    const isSteady = since !== undefined && this.#options.clock.ticks() - since > LIMITS.mqttReconnectMsMax
    const delayMs = isSteady || !this.#isAnswered ? LIMITS.mqttReconnectMs : this.#delayMs
    this.#delayMs = this.#isAnswered ? Math.min(delayMs * 2, LIMITS.mqttReconnectMsMax) : delayMs
    return Math.max(this.#isTakenOver ? LIMITS.ownershipSilenceMs : 0, delayMs * (0.5 + Math.random() / 2))
  }

  #flush(): void {
    this.#isFlushing = false
    let count = this.#isDone.indexOf(false)
    if (count < 0) count = this.#isDone.length
    if (count === 0) return
    const ids = this.#ids.splice(0, count)
    this.#isDone.splice(0, count)
    this.#base += count
    const bytes = Buffer.allocUnsafe(count * 4)
    ids.forEach((id, index) => {
      bytes[index * 4] = PACKET.puback << 4
      bytes[index * 4 + 1] = 2
      bytes.writeUInt16BE(id, index * 4 + 2)
    })
    this.#socket?.write(bytes)
    if (this.#ids.length === 0) this.#drained?.()
  }

  #tick(): void {
    const socket = this.#socket
    if (socket === undefined) return
    const ticks = this.#options.clock.ticks()
    if (socket.isPaused()) {
      // Nothing is read, so nothing can be heard (N5).
      this.#heardTicks = ticks
      this.#pingLeftAt = undefined
      if (this.#isReading && !this.#options.isCongested()) socket.resume()
    } else if (ticks - this.#heardTicks > LIMITS.laneSilenceMs) socket.destroy()
    if (
      this.#subscribedTicks === undefined ||
      this.#isPinging ||
      ticks - this.#pingedTicks < LIMITS.lanePingEveryMs
    )
      return
    this.#isPinging = true
    this.#pingedTicks = ticks
    this.#pingLeftAt = this.#ids.length < LIMITS.laneReceiveMax ? this.#options.clock.now() : undefined
    socket.write(PINGREQ)
  }

  /** See N4. */
  #pongReceived(): void {
    const at = this.#pingLeftAt
    this.#isPinging = false
    this.#pingLeftAt = undefined
    if (at !== undefined) this.#options.caughtUp(at, this.#pingedTicks)
  }
}
