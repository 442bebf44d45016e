// The shapes that a shard has learned, for devices that have not sent a payload of that shape before.
import { LIMITS } from '../../limits.ts'
import type { Fields } from './fields.ts'
import { learn } from './learn.ts'
import { matches, type Shape, SlotValues } from './shape.ts'

/** Once the table is full, only one in this many unknown payloads is learned. So payloads that never repeat their layout
 *  cost little. */
const LEARN_EVERY = 16

export class Shapes {
  readonly slotValues = new SlotValues()
  /** Shapes by the hash of the payload's first key. The shape that matched last comes first. */
  readonly #byFirstKey = new Map<number, Shape[]>()
  #count = 0
  #passed = 0

  find(payload: Uint8Array, name: string | undefined): Shape | undefined {
    const shapes = this.#byFirstKey.get(firstKey(payload))
    if (shapes === undefined) return undefined
    for (let i = 0; i < shapes.length; i++) {
      const shape = shapes[i]
      if (shape === undefined || shape.name !== name || !matches(shape, payload, this.slotValues)) continue
      if (i > 0) shapes.unshift(...shapes.splice(i, 1))
      return shape
    }
    return undefined
  }

  /** Learns the shape of a payload that matched none; `fields` are its parsed fields. True if its shape is now known. */
  learn(payload: Uint8Array, name: string | undefined, fields: Fields): boolean {
    const key = firstKey(payload)
    const shapes = this.#byFirstKey.get(key) ?? []
    const isFull = this.#count >= LIMITS.shapesMax || shapes.length >= LIMITS.shapesPerKeyMax
    if (isFull && ++this.#passed % LEARN_EVERY !== 0) return false
    const shape = payload.length <= LIMITS.shapeBytesMax ? learn(payload, name, fields) : undefined
    if (shape === undefined) return false
    if (isFull) this.#evict(shapes)
    shapes.unshift(shape)
    this.#byFirstKey.set(key, shapes)
    this.#count++
    return true
  }

  /** Removes a shape of the same key if this key has too many, otherwise one of the oldest key. */
  #evict(shapes: Shape[]): void {
    this.#count--
    if (shapes.length >= LIMITS.shapesPerKeyMax) {
      shapes.pop()
      return
    }
    for (const [key, oldest] of this.#byFirstKey) {
      oldest.pop()
      if (oldest.length === 0) this.#byFirstKey.delete(key)
      return
    }
  }
}

/** FNV-1a of the bytes up to the first colon. */
function firstKey(payload: Uint8Array): number {
  let hash = 0x811c9dc5
  const end = Math.min(payload.length, 64)
  for (let at = 0; at < end; at++) {
    const byte = payload[at] ?? 0
    if (byte === 0x3a) break
    hash = Math.imul(hash ^ byte, 0x01000193)
  }
  return hash
}
