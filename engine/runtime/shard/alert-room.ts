// How many alerts the devices of a shard may have open, and which devices wait until there is room for theirs.
import type { Actor } from './actor.ts'

export class AlertRoom {
  /** Alerts that may be open. */
  readonly #max: () => number
  /** Alerts that are open by settled records. */
  readonly #open: () => number
  /** Devices on which a condition is true that waits for room. */
  readonly #waiting = new Set<Actor>()
  /** Alerts that fired in the proposal that is not settled yet. */
  #fired = 0

  constructor(max: () => number, open: () => number) {
    this.#max = max
    this.#open = open
  }

  get waiting(): number {
    return this.#waiting.size
  }

  get left(): number {
    return this.#max() - this.#open() - this.#fired
  }

  fired(count: number): void {
    this.#fired += count
  }

  /** What fired is among the open ones by now. */
  settled(): void {
    this.#fired = 0
  }

  /** Rules of the device were judged. One that waited and does not by these is judged as a whole by the next sweep. */
  judged(actor: Actor, isHeldBack: boolean): void {
    if (isHeldBack) this.#waiting.add(actor)
    else if (this.#waiting.has(actor) && actor.watch !== undefined) actor.watch.deadline = 0
  }

  leave(actor: Actor): void {
    this.#waiting.delete(actor)
  }

  /** Those that wait longest are due, as many as there is room for. */
  wake(reschedule: (actor: Actor) => void): void {
    let { left } = this
    for (const actor of this.#waiting) {
      if (left-- <= 0) return
      if (actor.watch !== undefined) actor.watch.deadline = 0
      reschedule(actor)
    }
  }
}
