/** A value that a shard is told once, and once more when it is opened again. */
export class News<T> {
  #untold: T | undefined
  #latest: T | undefined

  set(value: T): void {
    this.#untold = value
    this.#latest = value
  }

  get isUntold(): boolean {
    return this.#untold !== undefined
  }

  get latest(): T | undefined {
    return this.#latest
  }

  /** Undefined if the value was taken before. */
  take(): T | undefined {
    const taken = this.#untold
    this.#untold = undefined
    return taken
  }

  /** Makes the latest value untold again. */
  renew(): void {
    this.#untold = this.#latest
  }
}
