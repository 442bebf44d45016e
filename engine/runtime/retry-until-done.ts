// Reads that must succeed before their caller can go on.
import { LIMITS } from '../limits.ts'
import type { Schedule } from '../ports/schedule.ts'

interface RetryPorts {
  readonly schedule: Pick<Schedule, 'sleep'>
  readonly failed: (error: unknown) => void
}

/** Retries until the read succeeds. Undefined once the caller is closed. */
export async function retryUntilDone<Result>(
  operation: () => Promise<Result>,
  isClosed: () => boolean,
  { schedule, failed }: RetryPorts,
): Promise<Result | undefined> {
  while (!isClosed()) {
    try {
      return await operation()
    } catch (error) {
      failed(error)
      await schedule.sleep(LIMITS.dutyRetryMs)
    }
  }
  return undefined
}
