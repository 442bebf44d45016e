// A clock for tests that stands still until it is advanced.
import type { Clock } from '../clock.ts'

interface Timer {
  readonly at: number
  readonly run: () => void
}

export class FakeClock implements Clock {
  /** What `now` says while nobody sets the clock. */
  #now: number
  #aheadMs = 0
  readonly #timers = new Set<Timer>()

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now
  }

  now(): number {
    return this.#now + this.#aheadMs
  }

  elapsedMs(): number {
    return this.#now
  }

  /** Sets the clock of the machine forward, or back. */
  setBy(ms: number): void {
    this.#aheadMs += ms
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  /** Advances the time and runs the timers that become due, in order. */
  pass(ms: number): void {
    const end = this.#now + ms
    for (;;) {
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (next === undefined) break
      this.#timers.delete(next)
      this.#now = Math.max(this.#now, next.at)
      next.run()
    }
    this.#now = end
  }
}
