// Time, as the bridge sees it.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Runs something once, later. The function that is returned prevents it. */
  after(ms: number, run: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}
