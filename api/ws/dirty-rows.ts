// The changed rows that a slow client has yet to receive: one bit per row, however often it changes.

const BITS = 32

export class DirtyRows {
  #words = new Uint32Array(0)
  #count = 0
  /** Number of changes that were merged into a later one. */
  conflated = 0

  get count(): number {
    return this.#count
  }

  add(places: Iterable<number>): void {
    for (const place of places) {
      const at = Math.floor(place / BITS)
      if (at >= this.#words.length) this.#grow(at + 1)
      const bit = 1 << (place % BITS)
      if (((this.#words[at] ?? 0) & bit) !== 0) this.conflated++
      else {
        this.#words[at] = (this.#words[at] ?? 0) | bit
        this.#count++
      }
    }
  }

  remove(places: Iterable<number>): void {
    for (const place of places) {
      const at = Math.floor(place / BITS)
      const bit = 1 << (place % BITS)
      const word = this.#words[at] ?? 0
      if ((word & bit) === 0) continue
      this.#words[at] = word & ~bit
      this.#count--
    }
    if (this.#count === 0) this.#words = new Uint32Array(0)
  }

  clear(): void {
    this.#words = new Uint32Array(0)
    this.#count = 0
    this.conflated = 0
  }

  *[Symbol.iterator](): Generator<number> {
    for (let at = 0; at < this.#words.length; at++) {
      const word = this.#words[at] ?? 0
      if (word === 0) continue
      for (let bit = 0; bit < BITS; bit++) if ((word & (1 << bit)) !== 0) yield at * BITS + bit
    }
  }

  #grow(words: number): void {
    const larger = new Uint32Array(Math.max(words, this.#words.length * 2))
    larger.set(this.#words)
    this.#words = larger
  }
}
