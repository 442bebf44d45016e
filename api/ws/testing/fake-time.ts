// A clock that only the test moves, and the timers that go off by it.
import type { Schedule } from '../../../engine/ports/schedule.ts'
import { Millis } from '../../../schemas/ids.ts'

export const START = Millis(Date.UTC(2026, 0, 1))

export class FakeTime implements Pick<Schedule, 'after'> {
  /** The longest wait that was asked for: setTimeout takes only 31 bits. */
  longest = 0
  #now = 0
  #next = 0
  readonly #tasks = new Map<number, { readonly at: number; readonly task: () => void }>()

  now = (): Millis => Millis(START + this.#now)
  ticks = (): number => this.#now

  after(ms: number, task: () => void): () => void {
    const id = this.#next++
    this.longest = Math.max(this.longest, ms)
    this.#tasks.set(id, { at: this.#now + Math.max(0, ms), task })
    return () => this.#tasks.delete(id)
  }

  get waiting(): number {
    return this.#tasks.size
  }

  pass(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const [first] = [...this.#tasks].sort(([, a], [, b]) => a.at - b.at)
      if (first === undefined || first[1].at > end) break
      this.#tasks.delete(first[0])
      this.#now = Math.max(this.#now, first[1].at)
      first[1].task()
    }
    this.#now = end
  }
}
