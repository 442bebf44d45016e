// Passes at most one value per interval. Of the values in between, the newest is kept until the end of the interval.

export class Throttle<Value> {
  readonly #intervalMs: number
  #sentAt = Number.NEGATIVE_INFINITY
  #held: { readonly value: Value } | undefined

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs
  }

  /** The time at which the held value may be sent. Undefined if no value is held. */
  get dueAt(): number | undefined {
    return this.#held === undefined ? undefined : this.#sentAt + this.#intervalMs
  }

  /** Decides whether the value may be sent now. Otherwise it is held and replaces an earlier held value. */
  offer(value: Value, now: number): 'send' | 'held' | 'replaced' {
    if (this.#held === undefined && now - this.#sentAt >= this.#intervalMs) {
      this.#sentAt = now
      return 'send'
    }
    const outcome = this.#held === undefined ? 'held' : 'replaced'
    this.#held = { value }
    return outcome
  }

  /** Returns the held value once it is due. */
  take(now: number): Value | undefined {
    const due = this.dueAt
    if (due === undefined || now < due) return undefined
    const value = this.#held?.value
    this.#held = undefined
    this.#sentAt = now
    return value
  }
}
