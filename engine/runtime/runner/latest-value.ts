/** A value that a shard is told once, and once more when it is opened again. */
export class LatestValue<T> {
  #pending: T | undefined
  #latest: T | undefined

  set(value: T): void {
    this.#pending = value
    this.#latest = value
  }

  get isPending(): boolean {
    return this.#pending !== undefined
  }

  get latest(): T | undefined {
    return this.#latest
  }

  /** Undefined if the value was taken before. */
  take(): T | undefined {
    const taken = this.#pending
    this.#pending = undefined
    return taken
  }

  /** Makes the latest value untold again. */
  renew(): void {
    this.#pending = this.#latest
  }
}
