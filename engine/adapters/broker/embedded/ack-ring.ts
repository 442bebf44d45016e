// Acknowledgements that a session owes: one slot per message handed to the host and not yet durable, in order. A slot
// packs the packet id and the answer due into one number, so a message costs no allocation.
import { strict as assert } from 'node:assert'

export const ACK_DUE = { nothing: 0, puback: 1 << 16, pubrec: 2 << 16 } as const
/** Once the message is durable it is also retained, or echoed to the device itself. */
export const HAS_FOLLOW_UP = 4 << 16
/** The answer carries a reason code of MQTT 5. */
export const HAS_REASON = 8 << 16

const SLOTS_START = 16

export class AckRing {
  #slots = new Uint32Array(SLOTS_START)
  #sizes = new Uint32Array(SLOTS_START)
  #head = 0
  #count = 0
  #bytes = 0

  get count(): number {
    return this.#count
  }

  get bytes(): number {
    return this.#bytes
  }

  push(slot: number, size: number): void {
    if (this.#count === this.#slots.length) this.#grow()
    const at = (this.#head + this.#count) & (this.#slots.length - 1)
    this.#slots[at] = slot
    this.#sizes[at] = size
    this.#count++
    this.#bytes += size
  }

  shift(): number {
    assert(this.#count > 0, 'more messages durable than were handed over')
    const at = this.#head
    this.#head = (at + 1) & (this.#slots.length - 1)
    this.#count--
    this.#bytes -= this.#sizes[at] ?? 0
    return this.#slots[at] ?? 0
  }

  #grow(): void {
    const { length } = this.#slots
    const slots = new Uint32Array(length * 2)
    const sizes = new Uint32Array(length * 2)
    for (let index = 0; index < length; index++) {
      const from = (this.#head + index) & (length - 1)
      slots[index] = this.#slots[from] ?? 0
      sizes[index] = this.#sizes[from] ?? 0
    }
    this.#slots = slots
    this.#sizes = sizes
    this.#head = 0
  }
}
