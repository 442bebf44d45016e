// Stores few distinct values of many devices: each value is kept once, and a small number stands for it.
export class Interner<T> {
  readonly #keyOf: (value: T) => string
  readonly #codes = new Map<string, number>()
  readonly #values: (T | undefined)[] = []
  readonly #uses: number[] = []
  readonly #free: number[] = []

  constructor(keyOf: (value: T) => string) {
    this.#keyOf = keyOf
  }

  /** The value's number. Each `acquire` is undone by one `release`. */
  acquire(value: T): number {
    const key = this.#keyOf(value)
    const known = this.#codes.get(key)
    const code = known ?? this.#free.pop() ?? this.#values.length
    if (known === undefined) {
      this.#codes.set(key, code)
      this.#values[code] = value
      this.#uses[code] = 0
    }
    this.#uses[code] = (this.#uses[code] ?? 0) + 1
    return code
  }

  release(code: number): void {
    const uses = (this.#uses[code] ?? 0) - 1
    this.#uses[code] = uses
    const value = this.#values[code]
    if (uses > 0 || value === undefined) return
    this.#codes.delete(this.#keyOf(value))
    this.#values[code] = undefined
    this.#free.push(code)
  }

  valueOf(code: number): T | undefined {
    return this.#values[code]
  }

  /** Tells for each number whether its value passes the test. */
  table(test: (value: T) => boolean): Uint8Array {
    return Uint8Array.from(this.#values, (value) => (value !== undefined && test(value) ? 1 : 0))
  }

  /** Gives for each number the rank of its value in the order. */
  ranks(compare: (a: T, b: T) => number): Float64Array {
    const codes = [...this.#codes.values()]
    codes.sort((a, b) => {
      const [left, right] = [this.#values[a], this.#values[b]]
      return left === undefined || right === undefined ? 0 : compare(left, right)
    })
    const ranks = new Float64Array(this.#values.length)
    for (const [rank, code] of codes.entries()) ranks[code] = rank
    return ranks
  }
}
