export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds since a moment in the past, whatever the clock of the machine is set to meanwhile. */
  elapsedMs(): number
  /** Runs `run` once after this time. The returned function cancels it. */
  after(ms: number, run: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsedMs: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}
