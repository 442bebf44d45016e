// Packet ids of QoS 2 messages that are received but not released by the device. They belong to the session state, so
// that a message repeated on a new connection is not taken twice.
import { LIMITS } from '../../../limits.ts'

export type ReceiveResult = 'new' | 'taken' | 'durable' | 'full'

export class UnreleasedPackets {
  /** Packet ids; the value is true once the message is durable. */
  readonly #ids = new Map<number, boolean>()
  /** Ids of messages that were repeated before they were durable. */
  readonly #repeated = new Set<number>()

  /** Tells whether a PUBLISH with this id is new, and remembers it if so. */
  receive(id: number): ReceiveResult {
    const isDurable = this.#ids.get(id)
    if (isDurable === true) return 'durable'
    if (isDurable === false) {
      this.#repeated.add(id)
      return 'taken'
    }
    if (this.#ids.size >= LIMITS.sessionUnreleasedMax) return 'full'
    this.#ids.set(id, false)
    return 'new'
  }

  /** Called once the message is durable. Returns true if it was repeated in the meantime. */
  settle(id: number): boolean {
    if (this.#ids.has(id)) this.#ids.set(id, true)
    return this.#repeated.delete(id)
  }

  /** Returns false if there was no message with this id. */
  release(id: number): boolean {
    this.#repeated.delete(id)
    return this.#ids.delete(id)
  }
}
