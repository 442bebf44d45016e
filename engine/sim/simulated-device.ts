// A device of the simulation. It publishes numbered messages, loses its connection, comes back and sends nonsense. It
// remembers which messages were acknowledged, because these must not be lost.
import type { DeviceId } from '../../schemas/ids.ts'
import { parseSubSuffix, topicOf, toSubSuffix } from '../../schemas/topics.ts'
import type { MemoryBroker } from '../adapters/broker/testing/memory.ts'
import { type DeviceMessage, MemoryDevice } from '../adapters/broker/testing/memory-device.ts'
import type { SimTime } from '../testing/time.ts'
import { Control, type Witness } from './control.ts'
import type { Dice } from './dice.ts'
import type { Luck } from './faults.ts'
import { POISON } from './faulty-thread.ts'

export const HEARTBEAT_MS = 30_000

export interface SentMessage {
  readonly n: number
  times: number
  isAcked: boolean
  /** The time in ticks at which it was last sent. */
  at: number
}

export interface StampedPoint {
  readonly at: number
  /** The last value that was acknowledged. */
  acked: number | undefined
  /** Values that were sent after `acked` and are not acknowledged. */
  open: number[]
  /** Values that were sent before `acked` and never acknowledged. */
  overtaken: number[]
  sentAt: number
}

/** How many messages of one kind were sent, and how many were acknowledged. */
export interface Tally {
  sent: number
  acked: number
}

export class SimulatedDevice {
  readonly id: DeviceId
  /** A steady device publishes so often that it is never silent while the service runs. */
  readonly isSteady: boolean
  readonly sent: SentMessage[] = []
  readonly stamped = new Map<number, StampedPoint>()
  /** The log lines. A message has one or several of them. */
  readonly logged: SentMessage[] = []
  readonly nonsense: Tally = { sent: 0, acked: 0 }
  readonly poison: Tally = { sent: 0, acked: 0 }
  /** The number of the last acknowledged transmission. The snapshot must show this one or a later one. */
  ackedTransmission = 0
  /** The time in ticks at which the device last sent anything. */
  lastSentAt = 0
  isGone = false
  /** The time in ticks from which the device may be decommissioned, so that its messages may be ignored. */
  mayBeGoneFrom = Number.POSITIVE_INFINITY
  session: MemoryDevice | undefined
  readonly control: Control
  /** The gateway through which this device speaks most of the time. */
  readonly gateway: SimulatedDevice | undefined
  /** Sub-devices of this gateway. */
  readonly subDevices: SimulatedDevice[] = []
  /** Messages that this gateway sent for devices that are not its own. */
  readonly forged: Tally = { sent: 0, acked: 0 }
  readonly #dice: Dice
  readonly #time: SimTime
  readonly #luck: () => Luck
  #transmissions = 0
  #sessions = 0
  /** True once the device has reported a fault. */
  isFaulty = false

  constructor(
    id: DeviceId,
    options: {
      isSteady: boolean
      dice: Dice
      time: SimTime
      luck: () => Luck
      witness: Witness
      gateway: SimulatedDevice | undefined
    },
  ) {
    this.id = id
    this.gateway = options.gateway
    options.gateway?.subDevices.push(this)
    this.isSteady = options.isSteady
    this.#dice = options.dice
    this.#time = options.time
    this.#luck = options.luck
    const say = (suffix: string, payload: string, acked: () => void) => this.#send(suffix, payload, acked)
    this.control = new Control({ ...options, id, say })
  }

  async connect(broker: MemoryBroker): Promise<void> {
    const name = `s${++this.#sessions}`
    const isTerse = this.#dice.chance(0.3)
    const say = (status: 'online' | 'offline') =>
      isTerse ? status : JSON.stringify({ status, session_id: name, firmware_version: `1.${this.#sessions}` })
    const isConnected = this.#isRelayed() ? this.#attach() : await this.#open(broker, say('offline'))
    if (!isConnected) return
    if (this.#dice.chance(0.8)) this.subscribe()
    this.#send('status', say('online'))
    // The device sends unacknowledged messages again, like one with a persistent session.
    for (const sent of this.sent) if (!sent.isAcked) this.#transmit(sent)
  }

  /** A steady sub-device always connects through its gateway, and the others do so most of the time. */
  #isRelayed(): boolean {
    return this.gateway !== undefined && (this.isSteady || (!this.gateway.isGone && this.#dice.chance(0.8)))
  }

  #attach(): boolean {
    const isThere = this.gateway?.isConnected() === true
    if (isThere) this.session = this.gateway?.session
    return isThere
  }

  async #open(broker: MemoryBroker, lastWill: string): Promise<boolean> {
    const will = {
      topic: topicOf(this.id, 'status'),
      payload: Buffer.from(lastWill),
      qos: 1 as const,
      retain: true,
    }
    const session = await broker.connect({ clientId: this.id, will, clean: this.#dice.chance(0.7) })
    if (!(session instanceof MemoryDevice)) return false
    this.session = session
    session.heard = (message) => {
      if (this.session === session) this.#hear(message)
    }
    // Some sessions do not acknowledge, so that commands are sent again.
    session.acknowledges = this.#dice.chance(0.9)
    return true
  }

  #hear(message: DeviceMessage): void {
    const sub = parseSubSuffix(message.suffix)
    if (sub === undefined) this.control.hear(message)
    else
      this.subDevices
        .find(({ id }) => id === sub.deviceId)
        ?.control.hear({ suffix: sub.suffix, payload: message.payload })
  }

  /** Sends a message for a device that is not a sub-device of this gateway. */
  forge({ id }: SimulatedDevice): void {
    this.#count(this.forged, '{"forged":1}', toSubSuffix(id, 'telemetry'))
  }

  /** Does one of the things that a device does. */
  act(): void {
    if (this.session === undefined || this.session.isEnded) return
    const what = this.#dice.roll()
    if (what < 0.7) this.publish()
    else if (what < 0.8) this.#publishStamped()
    else if (what < 0.85) this.#publishNonsense()
    else if (what < 0.9) this.#send('telemetry/extra', String(this.#dice.between(0, 9)))
    else if (what < 0.93) this.#publishDiagnostics(this.#dice.chance(0.5))
    else if (what < 0.95) this.#send('status', 'online')
    else if (what < 0.97) this.#log()
    else if (this.session === this.gateway?.session) this.#detach()
    else if (!this.isSteady) this.session.end(this.#dice.pick(['lost', 'disconnect', 'keepalive'] as const))
    if (this.#dice.chance(this.#luck().poison)) this.#count(this.poison, POISON)
    if (this.#dice.chance(0.1)) this.subscribe()
    this.control.act()
  }

  /** Leaves without a sign, because the connection belongs to the gateway. */
  #detach(): void {
    if (!this.isSteady) this.session = undefined
  }

  publish(): void {
    const sent: SentMessage = { n: this.sent.length + 1, times: 0, isAcked: false, at: 0 }
    this.sent.push(sent)
    this.#transmit(sent)
  }

  subscribe(): void {
    const filters = this.#dice.pick([['#'], ['command', 'shadow/desired'], ['+', 'shadow/+']])
    for (const filter of filters) this.session?.subscribe(this.#topic(filter), this.#dice.pick([1, 2]))
  }

  /** Ends a reported fault. From now on the device acknowledges everything. */
  mend(): void {
    if (this.session !== undefined) this.session.acknowledges = true
    this.session?.acknowledge()
    this.session?.subscribe(this.#topic('#'))
    if (this.isFaulty) this.#publishDiagnostics(false)
  }

  isConnected(): boolean {
    const isLive = this.session !== undefined && !this.session.isEnded
    return isLive && !(this.isGone && this.gateway !== undefined)
  }

  #transmit(sent: SentMessage): void {
    sent.times++
    sent.at = this.#time.ticks()
    const t = ++this.#transmissions
    this.#send('telemetry', JSON.stringify({ n: sent.n, t, note: `m${sent.n}` }), () => {
      sent.isAcked = true
      this.ackedTransmission = Math.max(this.ackedTransmission, t)
    })
  }

  /** Publishes a point with the device's own time, which is often late and sometimes one that it used before. */
  #publishStamped(): void {
    const known = [...this.stamped.keys()]
    const isAgain = known.length > 0 && this.#dice.chance(0.3)
    const lateMs = this.#dice.pick([0, 1_000, 60_000, 5_400_000])
    const at = isAgain ? this.#dice.pick(known) : Math.floor(this.#time.now() - lateMs) - known.length
    const stamp = this.stamped.get(at) ?? { at, acked: undefined, open: [], overtaken: [], sentAt: 0 }
    this.stamped.set(at, stamp)
    const value = this.#dice.between(1, 1_000_000)
    stamp.open.push(value)
    stamp.sentAt = this.#time.ticks()
    this.#send('telemetry', JSON.stringify({ timestamp: new Date(at).toISOString(), s: value }), () => {
      stamp.overtaken.push(...stamp.open.splice(0, stamp.open.indexOf(value) + 1).slice(0, -1))
      stamp.acked = value
    })
  }

  /** Publishes one to three log lines in a message, all with the same time or with none. */
  #log(): void {
    const lines: SentMessage[] = []
    const timestamp = this.#dice.chance(0.5) ? Math.floor(this.#time.now()) : undefined
    for (let count = this.#dice.between(1, 3); count > 0; count--) {
      const line: SentMessage = {
        n: this.logged.length + 1,
        times: 1,
        isAcked: false,
        at: this.#time.ticks(),
      }
      this.logged.push(line)
      lines.push(line)
    }
    const entries = lines.map(({ n }) => ({ timestamp, level: 'warn', message: `l${n}` }))
    this.#send('log', JSON.stringify(entries), () => {
      for (const line of lines) line.isAcked = true
    })
  }

  #publishNonsense(): void {
    const nonsense = this.#dice.pick([
      '{"n":',
      '[1,2,3]',
      '"text"',
      '{"x":1e400}',
      '{"timestamp":"yesterday","x":1}',
      '',
    ])
    this.#count(this.nonsense, nonsense)
  }

  #publishDiagnostics(isFaulty: boolean): void {
    this.isFaulty ||= isFaulty
    const level = isFaulty ? 'error' : 'ok'
    this.#send('telemetry', JSON.stringify({ diagnostics: { level, name: 'motor', message: level } }))
  }

  #count(tally: Tally, payload: string, suffix = 'telemetry'): void {
    tally.sent++
    this.#send(suffix, payload, () => {
      tally.acked++
    })
  }

  #send(suffix: string, payload: string, acked: () => void = () => {}): void {
    this.lastSentAt = this.#time.ticks()
    if (this.gateway !== undefined && this.session === this.gateway.session)
      this.gateway.lastSentAt = this.lastSentAt
    const qos = this.#dice.pick([0, 1, 1, 2] as const)
    void this.session?.publish(this.#topic(suffix), payload, { qos }).then((isAcked) => {
      if (isAcked) acked()
    })
  }

  /** Returns the topic, which depends on whether the device speaks through its gateway. */
  #topic(suffix: string): string {
    const { gateway } = this
    const isRelayed = gateway !== undefined && this.session === gateway.session
    return isRelayed ? topicOf(gateway.id, toSubSuffix(this.id, suffix)) : topicOf(this.id, suffix)
  }
}
