// A device of the run, on a raw socket, so that losses of a client library are not blamed on the service. It counts its
// messages, sends again in order what was not acknowledged, reports, and carries out its commands.
import { connect as dial, type Socket } from 'node:net'
import packets, { type IPublishPacket } from 'mqtt-packet'
import type { Random } from '../../../engine/edge/simulator/roaming/random.ts'
import type { Session } from './live-recording.ts'
import type { Message, Recorder, Series } from './recording.ts'

/** Most messages in flight; with more the device waits. */
const WINDOW = 8
const PACKET_IDS = 65_535
const RECONNECT_MS = 200
/** A connection without an answer for so long is closed. */
const STALLED_MS = 6_000
const TOPICS = ['command', 'shadow/desired', 'shadow/reported/+'] as const
/** Shares of its choices; the other messages are half timed and half plain. */
const REPORT_SHARE = 0.08
const IGNORED_SHARE = 0.06
const FAILED_SHARE = 0.1

export interface DeviceOptions {
  readonly id: string
  readonly token: string
  readonly perSecond: number
  /** The device's time of message 0, and the time between two messages. */
  readonly firstAt: number
  readonly stepMs: number
  readonly dice: Random
  readonly recorder: Recorder
  readonly address: () => { readonly host: string; readonly port: number }
}

interface Outgoing {
  readonly message: Message
  readonly topic: string
  readonly payload: string
}

export class ChaosDevice {
  readonly id: string
  readonly sessions: Session[] = []
  readonly #options: DeviceOptions
  readonly #counts: Record<Series, number> = { timed: 0, plain: 0, report: 0, answer: 0 }
  /** Unacknowledged messages by packet id, in the order in which they were made. */
  readonly #unacked = new Map<number, Outgoing>()
  readonly #ignored = new Set<unknown>()
  readonly #timer: NodeJS.Timeout
  #packets = 0
  #socket: Socket | undefined
  #redial: NodeJS.Timeout | undefined
  #isAdmitted = false
  #isDone = false
  #heardAt = 0
  #owedFrom = 0

  constructor(options: DeviceOptions) {
    this.id = options.id
    this.#options = options
    this.#dial()
    this.#timer = setInterval(() => this.#tick(), 1000 / options.perSecond)
  }

  get isConnected(): boolean {
    return this.#isAdmitted
  }

  get unacked(): number {
    return this.#unacked.size
  }

  /** Makes no more messages, but still answers and still sends what is not acknowledged. */
  quiet(): void {
    this.#isDone = true
  }

  close(): void {
    this.#isDone = true
    clearInterval(this.#timer)
    clearTimeout(this.#redial)
    this.#leave()
    this.#socket?.removeAllListeners('close').destroy()
  }

  #tick(): void {
    this.#giveUpStalled()
    if (this.#isDone || this.#unacked.size >= WINDOW) return
    const choice = this.#options.dice()
    if (choice < REPORT_SHARE) this.#report()
    else this.#measure(choice < 0.5 ? 'timed' : 'plain')
  }

  #measure(series: 'timed' | 'plain'): void {
    const { firstAt, stepMs } = this.#options
    const n = this.#counts[series]
    const timestamp = firstAt + n * stepMs
    this.#make(series, 'telemetry', series === 'timed' ? { timed: n, timestamp } : { plain: n })
  }

  /** Sends one report at a time: sent again after a later one, a report would be another change. */
  #report(): void {
    const isUnderWay = [...this.#unacked.values()].some(({ message }) => message.series === 'report')
    if (!isUnderWay) this.#make('report', 'shadow/reported', { report: this.#counts.report })
  }

  #obey(packet: IPublishPacket): void {
    const { dice, recorder } = this.#options
    // The service under test made it; the checkers find a wrong shape.
    const { request_id: commandId, data } = JSON.parse(packet.payload.toString()) as {
      readonly request_id: string
      readonly data: { readonly token?: string }
    }
    // A `$cancel` has no token. The device still finishes what it began.
    if (data.token === undefined) return
    recorder.receipts.push({ device: this.id, commandId, token: data.token, at: recorder.now() })
    if (dice() < IGNORED_SHARE) this.#ignored.add(commandId)
    if (this.#ignored.has(commandId)) return
    this.#answer(commandId, 'acked')
    this.#answer(commandId, this.#endOf(commandId))
  }

  /** Always the same answer to the same command. */
  #endOf(commandId: string): 'completed' | 'failed' {
    const mixed = [...commandId].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 1_000, 7)
    return mixed < 1_000 * FAILED_SHARE ? 'failed' : 'completed'
  }

  #answer(commandId: string, status: 'acked' | 'completed' | 'failed'): void {
    this.#make('answer', 'command/ack', { request_id: commandId, status }, { commandId, status })
  }

  #make(series: Series, suffix: string, body: object, answer?: Message['answer']): void {
    const message: Message = {
      device: this.id,
      series,
      n: this.#counts[series]++,
      sentAt: [],
      ...(answer === undefined ? {} : { answer }),
    }
    this.#options.recorder.messages.push(message)
    const packetId = (this.#packets++ % PACKET_IDS) + 1
    const outgoing = { message, topic: `fleet/${this.id}/${suffix}`, payload: JSON.stringify(body) }
    if (this.#unacked.size === 0) this.#owedFrom = performance.now()
    this.#unacked.set(packetId, outgoing)
    if (this.#isAdmitted) this.#send(packetId, outgoing)
  }

  #dial(): void {
    const { host, port } = this.#options.address()
    this.#heardAt = performance.now()
    const socket = dial({ host, port, noDelay: true }, () => socket.write(this.#hello()))
    this.#socket = socket
    const parser = packets.parser()
    parser.on('packet', (packet) => {
      if (packet.cmd === 'connack' && packet.returnCode === 0) this.#subscribe(socket)
      // EMQX refuses everything to a client that it let in while its authentication was away. MQTT 3.1.1 shows that here
      // alone: the PUBACK of a refused message looks like any other.
      else if (packet.cmd === 'suback' && packet.granted.some((code) => Number(code) > 2)) socket.destroy()
      else if (packet.cmd === 'suback') this.#admitted()
      // The broker refuses while a server is away; the device connects again.
      else if (packet.cmd === 'connack') socket.destroy()
      else if (packet.cmd === 'puback') this.#acknowledged(packet.messageId ?? 0)
      else if (packet.cmd === 'publish') this.#received(socket, packet)
    })
    parser.on('error', () => socket.destroy())
    socket.on('data', (bytes: Buffer) => {
      this.#heardAt = performance.now()
      parser.parse(bytes)
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#leave()
      this.#redial = setTimeout(() => this.#dial(), RECONNECT_MS * (1 + this.#options.dice()))
    })
  }

  #hello(): Buffer {
    return packets.generate({
      cmd: 'connect',
      protocolId: 'MQTT',
      protocolVersion: 4,
      clean: true,
      keepalive: 60,
      clientId: this.id,
      username: this.id,
      password: Buffer.from(this.#options.token),
    })
  }

  #subscribe(socket: Socket): void {
    const subscriptions = TOPICS.map((suffix) => ({ topic: `fleet/${this.id}/${suffix}`, qos: 1 as const }))
    socket.write(packets.generate({ cmd: 'subscribe', messageId: PACKET_IDS, subscriptions }))
  }

  #admitted(): void {
    this.#isAdmitted = true
    this.sessions.push({ from: this.#options.recorder.now() })
    for (const [packetId, outgoing] of this.#unacked) this.#send(packetId, outgoing)
  }

  #leave(): void {
    const session = this.sessions.at(-1)
    if (this.#isAdmitted && session !== undefined) session.to = this.#options.recorder.now()
    this.#isAdmitted = false
  }

  #send(messageId: number, { message, topic, payload }: Outgoing): void {
    const dup = message.sentAt.length > 0
    message.sentAt.push(this.#options.recorder.now())
    this.#socket?.write(
      packets.generate({ cmd: 'publish', topic, payload, qos: 1, dup, retain: false, messageId }),
    )
  }

  #acknowledged(packetId: number): void {
    const outgoing = this.#unacked.get(packetId)
    if (outgoing === undefined) return
    this.#unacked.delete(packetId)
    this.#owedFrom = performance.now()
    outgoing.message.ackedAt = this.#options.recorder.now()
  }

  #received(socket: Socket, packet: IPublishPacket): void {
    if (packet.qos === 1 && packet.messageId !== undefined)
      socket.write(packets.generate({ cmd: 'puback', messageId: packet.messageId }))
    if (packet.topic.endsWith('/command')) this.#obey(packet)
    else if (packet.topic.endsWith('/shadow/desired')) this.#note(packet)
  }

  #note(packet: IPublishPacket): void {
    const { recorder } = this.#options
    // The service under test made it; the checkers find a wrong shape.
    const { version, state } = JSON.parse(packet.payload.toString()) as {
      readonly version: number
      readonly state: { readonly value?: string }
    }
    recorder.desired.push({ device: this.id, version, value: state.value, at: recorder.now() })
  }

  #giveUpStalled(): void {
    const now = performance.now()
    const isOwed = !this.#isAdmitted || (this.#unacked.size > 0 && now - this.#owedFrom > STALLED_MS)
    if (isOwed && now - this.#heardAt > STALLED_MS) this.#socket?.destroy()
  }
}
