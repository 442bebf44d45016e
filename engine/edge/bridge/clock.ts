export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Runs `run` once after this time. The returned function cancels it. */
  after(ms: number, run: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}
