// Sends messages through the device, or keeps them on disk while it cannot send. Kept messages are sent at a bounded
// rate in parallel with new ones, so that new messages are never delayed, and in the order of their priority.
import { isObject, type JsonObject } from '../../../../schemas/json.ts'
import type { CommandPriority } from '../../../../schemas/vocabulary.ts'
import { parsePayload } from '../../payload.ts'
import type { Clock } from '../clock.ts'
import type { DiskRing } from './disk-ring.ts'
import type { RingsByPriority } from './rings.ts'

export interface BridgeMessage {
  readonly suffix: string
  readonly body: JsonObject
  readonly qos: 0 | 1 | 2
}

export interface DeliveryPorts {
  readonly isConnected: () => boolean
  /** Resolves once the service has the message. Rejects if the device will not send it. */
  readonly publish: (message: BridgeMessage) => Promise<void>
  readonly clock: Clock
  /** The number of kept messages that are sent per second. */
  readonly drainHz: number
  readonly failed: (error: unknown) => void
}

/** While this many messages are being sent, further ones are kept on disk. */
const BACKLOG_MAX = 1_000
const STEP_MS = 100
/** The pause after messages that could not be read or sent. */
const RETRY_MS = 5_000

export class Delivery {
  readonly #ports: DeliveryPorts
  #rings: RingsByPriority = new Map()
  #dropped = 0
  #backlog = 0
  #isDraining = false

  constructor(ports: DeliveryPorts) {
    this.#ports = ports
  }

  /** Sets the rings that keep the messages that cannot be sent. */
  useRings(rings: RingsByPriority): void {
    this.#rings = rings
    if (this.#ports.isConnected()) this.connected()
  }

  get dropped(): number {
    return this.#dropped
  }

  get bufferedBytes(): number {
    return [...this.#rings.values()].reduce((sum, { bytes }) => sum + bytes, 0)
  }

  send(message: BridgeMessage, priority: CommandPriority): void {
    const isSendable = this.#ports.isConnected() && this.#backlog < BACKLOG_MAX
    if (this.#rings.size > 0 && !isSendable) {
      this.#keep(message, priority)
      return
    }
    this.#backlog++
    const done = () => {
      this.#backlog--
    }
    this.#ports.publish(message).then(done, () => {
      done()
      this.#keep(message, priority)
    })
  }

  /** Starts to send the kept messages, if that is not happening already. */
  connected(): void {
    if (!this.#isDraining) void this.#drain()
  }

  /** Resolves once all unsent messages are on disk. */
  async close(): Promise<void> {
    // Messages that the closing device rejects are kept in the next turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    for (const ring of this.#rings.values()) await ring.close()
  }

  #keep({ suffix, body, qos }: BridgeMessage, priority: CommandPriority): void {
    const ring = this.#rings.get(priority)
    if (ring === undefined) {
      this.#dropped++
      return
    }
    ring.add(JSON.stringify({ suffix, body, qos }))
    if (this.#ports.isConnected()) this.connected()
  }

  /** Returns the ring with the highest priority that contains messages, but another one after it failed. */
  #next(failed: DiskRing | undefined): DiskRing | undefined {
    const filled = [...this.#rings.values()].filter(({ isEmpty }) => !isEmpty)
    return filled.find((ring) => ring !== failed) ?? filled[0]
  }

  async #drain(): Promise<void> {
    const { drainHz, isConnected, clock } = this.#ports
    const stepMs = Math.max(STEP_MS, 1_000 / drainHz)
    const count = Math.max(1, Math.round((drainHz * stepMs) / 1_000))
    this.#isDraining = true
    let failed: DiskRing | undefined
    for (let ring = this.#next(failed); isConnected() && ring !== undefined; ring = this.#next(failed)) {
      failed = (await this.#sendSome(ring, count)) ? undefined : ring
      const waitMs = failed === undefined ? stepMs : RETRY_MS
      await new Promise<void>((resolve) => clock.after(waitMs, resolve))
    }
    this.#isDraining = false
  }

  /** Returns whether they were sent. Otherwise they stay in the ring. */
  async #sendSome(ring: DiskRing, count: number): Promise<boolean> {
    try {
      const lines = await ring.peek(count)
      const messages = lines.flatMap((line) => parseLine(line) ?? [])
      const outcomes = await Promise.allSettled(messages.map(this.#ports.publish))
      // The device has no room for them, or was closed.
      if (outcomes.some(({ status }) => status === 'rejected')) return false
      await ring.take(lines.length)
      return true
    } catch (error) {
      this.#ports.failed(error)
      return false
    }
  }
}

/** Returns undefined for a malformed line, since a crash can truncate the last line of a file. */
function parseLine(line: string): BridgeMessage | undefined {
  const { suffix, body, qos } = parsePayload(Buffer.from(line)) ?? {}
  if (typeof suffix !== 'string' || body === undefined || !isObject(body)) return undefined
  return { suffix, body, qos: qos === 0 || qos === 2 ? qos : 1 }
}
