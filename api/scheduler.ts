// Timers as an argument, so that tests own them.

export interface Scheduler {
  /** Runs `task` once, after at least `ms`; the returned function calls it off. */
  after(ms: number, task: () => void): () => void
}

const TIMEOUT_MS_MAX = 2 ** 31 - 1

/** Its timers do not keep the process alive. */
export const systemScheduler: Scheduler = {
  after(ms, task) {
    const timer = setTimeout(task, Math.min(Math.max(ms, 0), TIMEOUT_MS_MAX))
    timer.unref()
    return () => clearTimeout(timer)
  },
}
