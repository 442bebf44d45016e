// Waiting, as an argument: production waits with timers, the simulator with its own clock.

export interface Schedule {
  after(ms: number, run: () => void): void
  sleep(ms: number): Promise<void>
  /** Calls again and again until stopped. */
  every(ms: number, run: () => void): () => void
}

export const realSchedule: Schedule = {
  after(ms, run) {
    if (ms < 1) setImmediate(run)
    else setTimeout(run, ms)
  },
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  every(ms, run) {
    const timer = setInterval(run, ms)
    return () => clearInterval(timer)
  },
}
