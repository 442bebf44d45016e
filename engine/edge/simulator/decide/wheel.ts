// A timer wheel. Adding and running a task costs the same with ten devices as with ten thousand. It has no clock of its
// own: the caller passes the time to `advance`.

export interface Due {
  /** Milliseconds on the clock whose time is passed to `advance`. */
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

  /** The task becomes due once, at most one slot late. A task in the past becomes due at the next `advance`. A task
   *  must not be in the wheel twice. */
  add(task: Task): void {
    const slot = Math.max(Math.ceil(task.dueAt / this.#slotMs), this.#at + 1)
    this.#slots[slot % SLOTS]?.push(task)
  }

  /** Returns the tasks that became due since the previous call. */
  advance(now: number): readonly Task[] {
    const to = Math.floor(now / this.#slotMs)
    const due: Task[] = []
    // After a pause longer than one revolution each slot is visited once.
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
