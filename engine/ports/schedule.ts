/** Timers as an argument: production waits in real time, tests and simulations own theirs. */
export interface Schedule {
  /** Runs once, after at least `ms`. Returns what calls it off. */
  after(ms: number, run: () => void): () => void
  sleep(ms: number): Promise<void>
  /** Runs again and again. Returns what stops it. */
  every(ms: number, run: () => void): () => void
}
