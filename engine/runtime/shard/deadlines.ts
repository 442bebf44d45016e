// The next deadlines of a shard's devices, swept together (R6). Typed arrays beat 50 000 timers. Each device has two
// deadlines, because the one for presence moves with every message and the other one does not.

const NONE = Number.POSITIVE_INFINITY

export class Deadlines {
  #presence = new Float64Array(1024).fill(NONE)
  #other = new Float64Array(1024).fill(NONE)
  #used = 0

  /** A slot for one device, for as long as the shard lives. */
  claim(): number {
    if (this.#used === this.#presence.length) {
      this.#presence = grown(this.#presence)
      this.#other = grown(this.#other)
    }
    return this.#used++
  }

  setPresence(slot: number, at: number): void {
    this.#presence[slot] = at
  }

  setOther(slot: number, at: number): void {
    this.#other[slot] = at
  }

  clear(slot: number): void {
    this.#presence[slot] = NONE
    this.#other[slot] = NONE
  }

  /** Slots claimed so far. */
  get used(): number {
    return this.#used
  }

  isDue(slot: number, now: number): boolean {
    return (this.#presence[slot] ?? NONE) <= now || (this.#other[slot] ?? NONE) <= now
  }

  /** The first due slots of a range: those with a deadline at or before `now`. */
  due(
    now: number,
    { from, until, max }: { readonly from: number; readonly until: number; readonly max: number },
  ): readonly number[] {
    const due: number[] = []
    for (let slot = from; slot < until && due.length < max; slot++) if (this.isDue(slot, now)) due.push(slot)
    return due
  }
}

function grown(deadlines: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(deadlines.length * 2).fill(NONE)
  larger.set(deadlines)
  return larger
}
