// A limit on bytes that several owners share.

export class Budget {
  readonly #max: number
  readonly #parent: Budget | undefined
  #used = 0

  constructor(max: number, parent?: Budget) {
    this.#max = max
    this.#parent = parent
  }

  get used(): number {
    return this.#used
  }

  /** Takes the bytes. If this budget or one above it has no room, takes nothing and returns false. */
  take(bytes: number): boolean {
    if (this.#used + bytes > this.#max) return false
    if (this.#parent !== undefined && !this.#parent.take(bytes)) return false
    this.#used += bytes
    return true
  }

  release(bytes: number): void {
    this.#used -= bytes
    this.#parent?.release(bytes)
  }
}
