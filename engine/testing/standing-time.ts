// Time that stands until a test moves it. What needs no time to pass (a pause to fill a batch, say) happens at once.
import { Millis } from '../../schemas/ids.ts'
import type { Clock } from '../ports/clock.ts'
import type { Schedule } from '../ports/schedule.ts'

/** A shorter wait is over in the next turn of the event loop. */
const SOON_MS = 20

export class StandingTime implements Clock, Schedule {
  #at: number
  #next = 0
  readonly #tasks = new Map<number, { readonly at: number; readonly run: () => void }>()

  constructor(at: number) {
    this.#at = at
  }

  now = (): Millis => Millis(this.#at)
  ticks = (): number => this.#at

  get at(): number {
    return this.#at
  }

  /** Jumps there: what is due on the way runs at its end, once. */
  set at(at: number) {
    this.#at = at
    for (;;) {
      const [first] = [...this.#tasks].filter(([, task]) => task.at <= at).sort(([, a], [, b]) => a.at - b.at)
      if (first === undefined) return
      this.#tasks.delete(first[0])
      first[1].run()
    }
  }

  /** How many timers are set. */
  get waiting(): number {
    return this.#tasks.size
  }

  /** Calls off everything that waits. */
  forget(): void {
    this.#tasks.clear()
  }

  after(ms: number, run: () => void): () => void {
    const id = this.#next++
    this.#tasks.set(id, { at: ms < SOON_MS ? Number.POSITIVE_INFINITY : this.#at + ms, run })
    if (ms < SOON_MS) setImmediate(() => this.#tasks.delete(id) && run())
    return () => this.#tasks.delete(id)
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve))
  }

  every(ms: number, run: () => void): () => void {
    let stop = this.after(ms, again.bind(this))
    let isOver = false
    function again(this: StandingTime): void {
      run()
      if (!isOver) stop = this.after(ms, again.bind(this))
    }
    return () => {
      isOver = true
      stop()
    }
  }
}
