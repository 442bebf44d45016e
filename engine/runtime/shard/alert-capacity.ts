// How many alerts the devices of a shard may have open, and which devices wait until there is room for theirs.
import type { Actor } from './actor.ts'

export class AlertCapacity {
  /** How many alerts may be open. */
  readonly #max: () => number
  /** How many alerts are open in settled records. */
  readonly #open: () => number
  /** Devices that wait for room although a condition is true on them. */
  readonly #waiting = new Set<Actor>()
  /** How many alerts fired in the proposal that is not settled yet. */
  #fired = 0

  constructor(max: () => number, open: () => number) {
    this.#max = max
    this.#open = open
  }

  get waiting(): ReadonlySet<Actor> {
    return this.#waiting
  }

  get free(): number {
    return this.#max() - this.#open() - this.#fired
  }

  fired(count: number): void {
    this.#fired += count
  }

  /** Called when the proposal is settled: its alerts are now counted by `open`. */
  settled(): void {
    this.#fired = 0
  }

  /** Called after some rules of the device were judged. If these do not hold back a device that waited, the next sweep
   *  judges all of its rules. */
  judged(actor: Actor, isHeldBack: boolean): void {
    if (isHeldBack) this.#waiting.add(actor)
    else if (this.#waiting.has(actor) && actor.watch !== undefined) actor.watch.deadline = 0
  }

  stopWaiting(actor: Actor): void {
    this.#waiting.delete(actor)
  }

  /** Makes the devices that have waited longest due, as many as there is room for. */
  wake(reschedule: (actor: Actor) => void): void {
    let { free } = this
    for (const actor of this.#waiting) {
      if (free-- <= 0) return
      if (actor.watch !== undefined) actor.watch.deadline = 0
      reschedule(actor)
    }
  }
}
