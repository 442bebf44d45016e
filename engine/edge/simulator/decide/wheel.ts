// One timer wheel for everything that is due at some time. Adding and running cost the same with ten devices or with ten
// thousand. It knows no clock: `advance` is told what time it is.

export interface Due {
  /** Milliseconds on the clock of `advance`. */
  dueAt: number
}

const SLOTS = 4_096

export class Wheel<Task extends Due> {
  readonly #slots: Task[][] = Array.from({ length: SLOTS }, () => [])
  readonly #slotMs: number
  #at: number

  constructor(slotMs: number, now: number) {
    this.#slotMs = slotMs
    this.#at = Math.floor(now / slotMs)
  }

  /** A task stands in the wheel once, and is due at most one slot late. One in the past is due at once. */
  add(task: Task): void {
    const slot = Math.max(Math.ceil(task.dueAt / this.#slotMs), this.#at + 1)
    this.#slots[slot % SLOTS]?.push(task)
  }

  /** Returns what has become due since the last time. */
  advance(now: number): readonly Task[] {
    const to = Math.floor(now / this.#slotMs)
    const due: Task[] = []
    // After a long pause each slot is looked at once.
    const from = Math.max(this.#at, to - SLOTS)
    for (let at = from + 1; at <= to; at++) {
      const slot = this.#slots[at % SLOTS] ?? []
      if (slot.length === 0) continue
      const end = to * this.#slotMs
      const later = slot.filter((task) => task.dueAt > end)
      if (later.length === 0) for (const task of slot) due.push(task)
      else for (const task of slot) if (task.dueAt <= end) due.push(task)
      this.#slots[at % SLOTS] = later
    }
    this.#at = Math.max(this.#at, to)
    return due
  }
}
