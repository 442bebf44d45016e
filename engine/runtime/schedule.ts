// The schedule of production: Node's timers.
import type { Schedule } from '../ports/schedule.ts'

/** Node fires a timer that waits longer than this at once. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1

/** `after` does not keep the process alive. */
export const realSchedule: Schedule = {
  after(ms, run) {
    if (ms < 1) {
      const immediate = setImmediate(run)
      return () => clearImmediate(immediate)
    }
    const timer = setTimeout(run, Math.min(ms, TIMEOUT_MS_MAX)).unref()
    return () => clearTimeout(timer)
  },
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  every(ms, run) {
    const timer = setInterval(run, ms)
    return () => clearInterval(timer)
  },
}
