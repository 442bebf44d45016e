// Bounds every wait of the bench. A wait ends with its result, or with an error that names what was waited for.
import { setTimeout as sleep } from 'node:timers/promises'

// performance.now() is cheap but begins with each process. hrtime makes it comparable between processes.
const origin = Number(process.hrtime.bigint()) / 1e6 - performance.now()

/** Monotonic milliseconds, comparable between the processes of a machine. */
export function ticks(): number {
  return origin + performance.now()
}

export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  const over = new AbortController()
  const late = sleep(ms, undefined, { signal: over.signal }).then(() => {
    throw new Error(`${what}: not within ${ms} ms`)
  })
  // When the work is done first, the timer is aborted, and its promise is rejected while nobody awaits it.
  late.catch(() => undefined)
  try {
    return await Promise.race([work, late])
  } finally {
    over.abort()
  }
}

export interface Polling {
  readonly deadlineMs: number
  readonly everyMs: number
}

/** Calls `ask` repeatedly until its answer is not undefined. */
export async function until<T>(
  what: string,
  polling: Polling,
  ask: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = ticks() + polling.deadlineMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (ticks() > deadline) throw new Error(`${what}: not within ${polling.deadlineMs} ms`)
    await sleep(polling.everyMs)
  }
}

export { sleep }
