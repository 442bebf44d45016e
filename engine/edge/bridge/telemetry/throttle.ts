// Lets a value through at most once in an interval. Of those that come in between, the newest is kept for the end of it.

export class Throttle<Value> {
  readonly #intervalMs: number
  #sentAt = Number.NEGATIVE_INFINITY
  #held: { readonly value: Value } | undefined

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs
  }

  /** When the value that is held may go; undefined if none is. */
  get dueAt(): number | undefined {
    return this.#held === undefined ? undefined : this.#sentAt + this.#intervalMs
  }

  /** Whether the value may go now; if not, it is held, in place of an earlier one. */
  offer(value: Value, now: number): 'send' | 'held' | 'replaced' {
    if (this.#held === undefined && now - this.#sentAt >= this.#intervalMs) {
      this.#sentAt = now
      return 'send'
    }
    const outcome = this.#held === undefined ? 'held' : 'replaced'
    this.#held = { value }
    return outcome
  }

  /** Returns the value that is held, once it is due. */
  take(now: number): Value | undefined {
    const due = this.dueAt
    if (due === undefined || now < due) return undefined
    const value = this.#held?.value
    this.#held = undefined
    this.#sentAt = now
    return value
  }
}
