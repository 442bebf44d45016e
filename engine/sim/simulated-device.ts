// One device of the simulation: it publishes numbered messages, loses its connection, comes back, sends nonsense, and
// remembers what was acknowledged: what it remembers is what must be true.
import type { DeviceId } from '../../schemas/ids.ts'
import { topicOf } from '../../schemas/topics.ts'
import type { MemoryBroker } from '../adapters/broker/memory.ts'
import { MemoryDevice } from '../adapters/broker/memory-device.ts'
import type { Dice } from './dice.ts'
import type { SimTime } from './time.ts'

export interface Sent {
  readonly n: number
  times: number
  isAcked: boolean
  /** The last time it was sent. */
  at: number
}

export interface Stamped {
  readonly at: number
  /** The value whose acknowledgement came last, and those that were sent after it without one. */
  acked: number | undefined
  open: number[]
  sentAt: number
}

export class SimulatedDevice {
  readonly id: DeviceId
  /** A steady device publishes often enough never to be silent while the service runs. */
  readonly isSteady: boolean
  readonly sent: Sent[] = []
  readonly stamped = new Map<number, Stamped>()
  nonsenseAcked = 0
  nonsenseSent = 0
  isGone = false
  /** From here on its decommissioning may already be in the log, and what it says may be ignored. */
  mayBeGoneFrom = Number.POSITIVE_INFINITY
  session: MemoryDevice | undefined
  readonly #dice: Dice
  readonly #time: SimTime

  constructor(id: DeviceId, options: { isSteady: boolean; dice: Dice; time: SimTime }) {
    this.id = id
    this.isSteady = options.isSteady
    this.#dice = options.dice
    this.#time = options.time
  }

  async connect(broker: MemoryBroker): Promise<void> {
    const will = {
      topic: topicOf(this.id, 'status'),
      payload: Buffer.from('offline'),
      qos: 1 as const,
      retain: true,
    }
    const session = await broker.connect({ clientId: this.id, will })
    if (!(session instanceof MemoryDevice)) return
    this.session = session
    this.#send('status', 'online')
    // What was not acknowledged is sent again, as a device with a persistent session does.
    for (const sent of this.sent) if (!sent.isAcked) this.#transmit(sent)
  }

  /** One of the things a device does. */
  act(): void {
    if (this.session === undefined || this.session.isEnded) return
    const what = this.#dice.roll()
    if (what < 0.75) this.publish()
    else if (what < 0.85) this.#publishStamped()
    else if (what < 0.9) this.#publishNonsense()
    else if (what < 0.95) this.#send('telemetry/extra', String(this.#dice.between(0, 9)))
    else if (!this.isSteady) this.session.end(this.#dice.pick(['lost', 'disconnect', 'keepalive'] as const))
  }

  publish(): void {
    const sent: Sent = { n: this.sent.length + 1, times: 0, isAcked: false, at: 0 }
    this.sent.push(sent)
    this.#transmit(sent)
  }

  isConnected(): boolean {
    return this.session !== undefined && !this.session.isEnded
  }

  #transmit(sent: Sent): void {
    sent.times++
    sent.at = this.#time.now()
    this.#send('telemetry', JSON.stringify({ n: sent.n, twice: 2 * sent.n, note: `m${sent.n}` }), () => {
      sent.isAcked = true
    })
  }

  /** With the device's own time: often late, sometimes a time it used before. */
  #publishStamped(): void {
    const known = [...this.stamped.keys()]
    const isAgain = known.length > 0 && this.#dice.chance(0.3)
    const lateMs = this.#dice.pick([0, 1_000, 60_000, 5_400_000])
    const at = isAgain ? this.#dice.pick(known) : Math.floor(this.#time.now() - lateMs) - known.length
    const stamp = this.stamped.get(at) ?? { at, acked: undefined, open: [], sentAt: 0 }
    this.stamped.set(at, stamp)
    const value = this.#dice.between(1, 1_000_000)
    stamp.open.push(value)
    stamp.sentAt = this.#time.now()
    this.#send('telemetry', JSON.stringify({ timestamp: new Date(at).toISOString(), s: value }), () => {
      stamp.open = stamp.open.slice(stamp.open.indexOf(value) + 1)
      stamp.acked = value
    })
  }

  #publishNonsense(): void {
    this.nonsenseSent++
    const nonsense = this.#dice.pick([
      '{"n":',
      '[1,2,3]',
      '"text"',
      '{"x":1e400}',
      '{"timestamp":"yesterday","x":1}',
      '',
    ])
    this.#send('telemetry', nonsense, () => {
      this.nonsenseAcked++
    })
  }

  #send(suffix: string, payload: string, acked: () => void = () => {}): void {
    void this.session?.publish(topicOf(this.id, suffix), payload).then((isAcked) => {
      if (isAcked) acked()
    })
  }
}
