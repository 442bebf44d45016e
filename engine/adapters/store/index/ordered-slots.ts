// Slots in an order that is kept. Changes are only recorded, and merged when the order is next asked for.
export class OrderedSlots {
  readonly #compare: (a: number, b: number) => number
  #order = new Uint32Array(0)
  readonly #noted = new Set<number>()
  readonly #dropped = new Set<number>()

  constructor(compare: (a: number, b: number) => number) {
    this.#compare = compare
  }

  /** Called for a slot that is new, or whose place may have changed. */
  note(slot: number): void {
    this.#noted.add(slot)
  }

  /** Called for a slot that is now empty. */
  drop(slot: number): void {
    this.#noted.delete(slot)
    this.#dropped.add(slot)
  }

  order(): Uint32Array {
    if (this.#noted.size + this.#dropped.size > 0) this.#merge()
    return this.#order
  }

  #merge(): void {
    const noted = this.#noted
    const dropped = this.#dropped
    const added = [...noted].sort(this.#compare)
    const kept = this.#order.filter((slot) => !noted.has(slot) && !dropped.has(slot))
    const merged = new Uint32Array(kept.length + added.length)
    let k = 0
    let a = 0
    for (let i = 0; i < merged.length; i++) {
      const left = kept[k]
      const right = added[a]
      const takeLeft = left !== undefined && (right === undefined || this.#compare(left, right) <= 0)
      merged[i] = takeLeft ? left : (right ?? 0)
      if (takeLeft) k++
      else a++
    }
    this.#order = merged
    noted.clear()
    dropped.clear()
  }
}
