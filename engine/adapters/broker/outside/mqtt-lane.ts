// One lane: an MQTT 5 session that some partitions' messages wait in while nobody reads it.
//
// N1. A message is acknowledged once it is durable (R1), in the order in which it came, many by one write.
// N2. The session outlives connections and processes: its client id is fixed, and who connects with it takes it over from
//     whoever had it. What the earlier one did not acknowledge is sent again.
// N3. An acknowledgement is for the connection that the message came by; of an earlier one there is nothing to say.
// N4. A ping's answer comes behind all that was sent before it. The broker holds something back only while as much is
//     unacknowledged as it may send; without that, the lane was caught up when the ping left.
// N5. While the log is behind, the socket is not read: the broker keeps what waits.
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import mqtt, { type IConnackPacket, type IPublishPacket, type Packet } from 'mqtt-packet'
import type { Millis } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { Clock } from '../../../ports/clock.ts'
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
  /** All that the broker had for the lane by then was taken. */
  readonly caughtUp: (at: Millis) => void
  readonly clock: Clock
  /** The broker did not know the session that there was: what waited in it is lost. */
  readonly forgotten: () => void
  readonly warn: (message: string, about: object) => void
}

/** QoS 0, and what came by an earlier connection. */
const NO_ACK = -1

const TAKEN_OVER = 0x8e
const PINGREQ = mqtt.generate({ cmd: 'pingreq' })
const GRANTED_MAX = 2

export class Lane {
  readonly #options: LaneOptions
  #socket: Socket | undefined
  #retry: NodeJS.Timeout | undefined
  readonly #ticker: NodeJS.Timeout
  #delayMs: number = LIMITS.mqttReconnectMs
  /** Of what came by this connection and is not acknowledged, the oldest first; its first has the number `#base`. */
  #ids: number[] = []
  #isDone: boolean[] = []
  #base = 0
  #isFlushing = false
  #heardTicks = 0
  #hadSession = false
  #isOpen = false
  #isSubscribed = false
  #isPinging = false
  #pingedTicks = 0
  /** Of a ping that nothing has come in the way of. */
  #pingLeftAt: Millis | undefined
  #isReading = true
  #isClosed = false
  #drained: (() => void) | undefined

  constructor(options: LaneOptions) {
    this.#options = options
    this.#ticker = setInterval(() => this.#tick(), LIMITS.brokerSweepEveryMs)
    this.#connect()
  }

  /** Connected, and subscribed as far as the broker has said. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Read and not acknowledged. */
  get pending(): number {
    return this.#ids.length
  }

  /** By N3, unless it is over. */
  done(seq: number): void {
    const index = seq - this.#base
    if (index < 0 || index >= this.#isDone.length) return
    this.#isDone[index] = true
    if (index > 0 || this.#isFlushing) return
    this.#isFlushing = true
    // What became durable together goes out together.
    queueMicrotask(() => this.#flush())
  }

  /** Reads no more; resolves once what was read is acknowledged, and the connection is over. */
  async handOver(): Promise<void> {
    this.#isReading = false
    this.#socket?.pause()
    if (this.#ids.length > 0) await new Promise<void>((resolve) => (this.#drained = resolve))
    const socket = this.#socket
    if (socket === undefined || !this.#isOpen) {
      this.close()
      return
    }
    // With the last acknowledgements; the session stays.
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
    clearTimeout(this.#retry)
    clearInterval(this.#ticker)
  }

  #connect(): void {
    const { url, account, clientId } = this.#options
    const isTls = url.protocol === 'mqtts:'
    const at = { host: url.hostname, port: Number(url.port || (isTls ? 8883 : 1883)) }
    const socket = isTls ? connectTls({ ...at, servername: at.host }) : connectTcp(at)
    this.#socket = socket
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
        this.#published(packet)
        return
      case 'connack':
        this.#accepted(packet, socket)
        return
      case 'suback': {
        const refused = packet.granted.filter((code) => Number(code) > GRANTED_MAX)
        if (refused.length === 0) {
          this.#delayMs = LIMITS.mqttReconnectMs
          this.#isSubscribed = true
        } else this.#refused('the broker does not let the ingress subscribe', { codes: refused }, socket)
        return
      }
      case 'disconnect':
        // Whoever has it now keeps it: who owns the lane says whether it is to be taken back.
        if (packet.reasonCode === TAKEN_OVER) this.#delayMs = LIMITS.ownershipSilenceMs
        socket.destroy()
        return
      case 'pingresp':
        this.#ponged()
        return
      default:
    }
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
    const { filters, forgotten } = this.#options
    if (reasonCode !== 0) {
      this.#refused('the broker refuses the ingress', { code: reasonCode }, socket)
      return
    }
    if (!sessionPresent && this.#hadSession) forgotten()
    this.#hadSession = true
    this.#isOpen = true
    const subscriptions = filters.map((topic) => ({ topic, qos: 1 as const, rap: true, rh: 2 }))
    socket.write(mqtt.generate({ cmd: 'subscribe', messageId: 1, subscriptions }, { protocolVersion: 5 }))
  }

  #refused(message: string, about: object, socket: Socket): void {
    this.#options.warn(message, { clientId: this.#options.clientId, ...about })
    this.#delayMs = LIMITS.mqttReconnectMsMax
    socket.destroy()
  }

  #lost(socket: Socket): void {
    if (this.#socket !== socket) return
    this.#socket = undefined
    this.#isOpen = false
    this.#isSubscribed = false
    this.#isPinging = false
    this.#base += this.#ids.length
    this.#ids = []
    this.#isDone = []
    this.#drained?.()
    if (this.#isClosed || !this.#isReading) return
    this.#retry = setTimeout(() => this.#connect(), this.#delayMs)
    this.#delayMs = Math.min(this.#delayMs * 2, LIMITS.mqttReconnectMsMax)
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
      // N5. What it would have heard meanwhile it has not asked for.
      this.#heardTicks = ticks
      this.#pingLeftAt = undefined
      if (this.#isReading && !this.#options.isCongested()) socket.resume()
    } else if (ticks - this.#heardTicks > LIMITS.laneSilenceMs) socket.destroy()
    if (!this.#isSubscribed || this.#isPinging || ticks - this.#pingedTicks < LIMITS.lanePingEveryMs) return
    this.#isPinging = true
    this.#pingedTicks = ticks
    this.#pingLeftAt = this.#ids.length < LIMITS.laneReceiveMax ? this.#options.clock.now() : undefined
    socket.write(PINGREQ)
  }

  /** By N4. */
  #ponged(): void {
    const at = this.#pingLeftAt
    this.#isPinging = false
    this.#pingLeftAt = undefined
    if (at !== undefined) this.#options.caughtUp(at)
  }
}
