// Whether the version that a device reports proves an update.
import { isSameVersion } from '../../../schemas/same-version.ts'
import type { JobGoal } from './job.ts'

/** What a device reports to run. */
export interface ReportedImage {
  readonly version: string | undefined
  readonly sha256: string | undefined
}

export function isGoal(
  { reportsAs, sha256 }: Pick<JobGoal, 'reportsAs' | 'sha256'>,
  said: ReportedImage,
): boolean {
  return isSameVersion(reportsAs, said.version) || said.sha256?.toLowerCase() === sha256
}

/** True if it reports a version or hash that differs from the goal's. */
export function isOther(goal: JobGoal, said: ReportedImage): boolean {
  return (said.version !== undefined || said.sha256 !== undefined) && !isGoal(goal, said)
}
