/** Timers as an argument: production waits in real time, tests and simulations own theirs. */
export interface Schedule {
  /** Runs once, after at least `ms`. Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void
  sleep(ms: number): Promise<void>
  /** Runs repeatedly. Returns a function that stops it. */
  every(ms: number, run: () => void): () => void
}
