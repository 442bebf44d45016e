// Whether the version that a device reports proves an update.
import { isSameVersion } from '../../../schemas/same-version.ts'
import type { JobGoal } from './job.ts'

/** What a device reports to run. */
export interface ReportedImage {
  readonly version: string | undefined
  readonly sha256: string | undefined
}

export function matchesGoal(
  { reportsAs, sha256 }: Pick<JobGoal, 'reportsAs' | 'sha256'>,
  image: ReportedImage,
): boolean {
  return isSameVersion(reportsAs, image.version) || image.sha256?.toLowerCase() === sha256
}

/** True if it reports a version or hash that differs from the goal's. */
export function differsFromGoal(goal: JobGoal, image: ReportedImage): boolean {
  return (image.version !== undefined || image.sha256 !== undefined) && !matchesGoal(goal, image)
}
