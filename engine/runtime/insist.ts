// Reads that must succeed before their caller can go on.
import { LIMITS } from '../limits.ts'
import type { Schedule } from '../ports/schedule.ts'

interface InsistPorts {
  readonly schedule: Pick<Schedule, 'sleep'>
  readonly failed: (error: unknown) => void
}

/** Retries until the read succeeds. Undefined once the caller is closed. */
export async function insist<Found>(
  look: () => Promise<Found>,
  isClosed: () => boolean,
  { schedule, failed }: InsistPorts,
): Promise<Found | undefined> {
  while (!isClosed()) {
    try {
      return await look()
    } catch (error) {
      failed(error)
      await schedule.sleep(LIMITS.dutyRetryMs)
    }
  }
  return undefined
}
