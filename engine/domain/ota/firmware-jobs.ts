// All jobs of one device: which of them runs, what a change of one means for the device, and which stay in the record.
import { type DeploymentId, type FirmwareId, Millis } from '../../../schemas/ids.ts'
import { isSameVersion } from '../../../schemas/same-version.ts'
import { LIMITS } from '../../limits.ts'
import type { Firmware } from './firmware-part.ts'
import type { Job } from './job.ts'
import { type Grace, jobDeadline } from './job-deadline.ts'
import { messageDeadline, type OtaSendContext } from './job-messages.ts'
import { withRollback } from './job-moves.ts'
import { isLate, isOpen } from './job-table.ts'

/** A job that moved, with its earlier status; undefined if the job is new. */
export interface JobMove {
  readonly job: Job
  readonly previous: Job['status'] | undefined
}

export interface FirmwareChange {
  readonly firmware: Firmware
  readonly moves: readonly JobMove[]
}

/** The device works on it, or will. */
export function isUnfinished(job: Job): boolean {
  return isOpen(job.status) || job.status === 'rolling_back'
}

/** The job that the device works on: it has a slot. */
export function grantedJob({ jobs }: Firmware): Job | undefined {
  return jobs.find(({ isGranted }) => isGranted)
}

/** The job whose turn it is; the others wait until it has ended. A device that has to roll back does so before anything else
 *  begins. A job that is scheduled for later does not hold up others: its turn comes as if it had been created at that time. */
export function activeJob(firmware: Firmware, now: Millis): Job | undefined {
  const { jobs } = firmware
  const active = grantedJob(firmware) ?? jobs.find(({ rollback }) => rollback === 'due')
  if (active !== undefined) return active
  let first: Job | undefined
  for (const job of jobs) {
    if (!isUnfinished(job) || isScheduled(job, now)) continue
    if (first === undefined || turnOf(job) < turnOf(first)) first = job
  }
  return first
}

/** Its deployment has not begun yet. */
export function isScheduled({ plan: { startAt }, attempt }: Job, now: Millis): boolean {
  return attempt === 0 && startAt !== undefined && startAt > now
}

function turnOf({ createdAt, plan: { startAt } }: Job): number {
  return Math.max(createdAt, startAt ?? 0)
}

export function jobOf({ jobs }: Firmware, id: DeploymentId | string): Job | undefined {
  return jobs.find(({ plan }) => plan.deploymentId === id)
}

export function queuedJobs({ jobs }: Firmware): number {
  return jobs.filter(({ status, isGranted }) => status === 'pending' && !isGranted).length
}

/** True while the device must not be disturbed. */
export function isUpdating(firmware: Firmware): boolean {
  const job = grantedJob(firmware)
  const at = job?.status === 'rolling_back' ? job.back?.status : job?.status
  return at === 'installing' || at === 'rebooting'
}

export function isBlocked({ blocks }: Firmware, id: FirmwareId, now: number): boolean {
  return blocks.some(({ firmwareId, until }) => firmwareId === id && until > now)
}

export function unblock(firmware: Firmware, id: FirmwareId): Firmware {
  const blocks = firmware.blocks.filter(({ firmwareId }) => firmwareId !== id)
  return blocks.length === firmware.blocks.length ? firmware : { ...firmware, blocks }
}

/** True if a job, or its rollback, has not noted yet whether the device is reachable. */
export function isReachStale({ jobs }: Firmware, isReachable: boolean): boolean {
  const isStale = (job: Job) => awaitsDevice(job) && isReachable !== (job.awaySince === undefined)
  return jobs.some((job) => isStale(job) || (job.back !== undefined && isStale(job.back)))
}

/** Returns the job with a note of whether the device is reachable. Its rollback has timers of its own. */
export function withReach(job: Job, isReachable: boolean, now: Millis): Job {
  if (!awaitsDevice(job)) return job
  const awaySince = isReachable ? undefined : (job.awaySince ?? now)
  const back = job.back && withReach(job.back, isReachable, now)
  return awaySince === job.awaySince && back === job.back ? job : { ...job, awaySince, back }
}

/** The job still waits for the device: it is unfinished, or its rollback is due. */
function awaitsDevice(job: Job): boolean {
  return isUnfinished(job) || job.rollback === 'due'
}

/** Applies a change to every job, or to the rollback of a job that is rolling back. */
export function changeJobs(firmware: Firmware, now: Millis, change: (job: Job) => Job): FirmwareChange {
  return replaceJobs(firmware, now, (job) =>
    job.status === 'rolling_back' && job.back !== undefined
      ? withRollback(job, change(job.back), now)
      : change(job),
  )
}

/** Applies a change to one job as a whole. */
export function changeJob(
  firmware: Firmware,
  { id, now }: { readonly id: DeploymentId | string; readonly now: Millis },
  change: (job: Job) => Job,
): FirmwareChange {
  return replaceJobs(firmware, now, (job) => (job.plan.deploymentId === id ? change(job) : job))
}

export function addJob(firmware: Firmware, job: Job): FirmwareChange {
  return { firmware: { ...firmware, jobs: [...firmware.jobs, job] }, moves: [{ job, previous: undefined }] }
}

/** Notes that the device reports another version than before. A version that failed is never one to roll back to. The
 *  hash that the device reported was that of its earlier image. */
export function withVersion(
  firmware: Firmware,
  { from, to, now }: { readonly from: string | undefined; readonly to: string; readonly now: Millis },
): Firmware {
  const { previousVersion, jobs } = firmware
  const known = jobs.find(({ plan, isProved }) => isProved && isSameVersion(plan.goal.reportsAs, to))
  const hasFailed = jobs.some(
    ({ plan, failedIn }) => failedIn !== undefined && isSameVersion(plan.goal.reportsAs, from),
  )
  const former = isSameVersion(previousVersion, to) ? undefined : previousVersion
  return {
    ...firmware,
    since: now,
    firmwareId: known?.plan.goal.firmwareId,
    sha256: undefined,
    previousVersion: hasFailed || from === undefined ? former : from,
  }
}

/** The SHA-256 of the running image: the one that the device reported, or else that of the image that a job proved. */
export function runningSha256({ sha256, firmwareId, jobs }: Firmware): string | undefined {
  if (sha256 !== undefined || firmwareId === undefined) return sha256
  return jobs.find(({ plan }) => plan.goal.firmwareId === firmwareId)?.plan.goal.sha256
}

/** When the jobs must be checked next; Infinity if never (R6). */
export function firmwareDeadline({ jobs }: Firmware, context: OtaSendContext & Grace): number {
  let at = Number.POSITIVE_INFINITY
  for (const job of jobs) at = Math.min(at, jobDeadline(job, context), messageDeadline(job, context))
  return at
}

function replaceJobs(firmware: Firmware, now: Millis, change: (job: Job) => Job): FirmwareChange {
  const moves: JobMove[] = []
  const jobs = firmware.jobs.map((job) => {
    const next = change(job)
    if (next.status !== job.status || next.back?.status !== job.back?.status)
      moves.push({ job: next, previous: job.status })
    return next
  })
  if (jobs.every((job, i) => job === firmware.jobs[i])) return { firmware, moves }
  let next: Firmware = { ...firmware, jobs: trimJobs(jobs) }
  for (const { job } of moves) next = applyJobEnd(next, job, now)
  return { firmware: next, moves }
}

/** Applies what the end of a job means for later offers to the device. */
function applyJobEnd(firmware: Firmware, { status, failedIn, plan, finishedAt }: Job, now: Millis): Firmware {
  const { firmwareId } = plan.goal
  if (status === 'succeeded' || (status === 'rolled_back' && plan.kind === 'rollback'))
    return { ...unblock(firmware, firmwareId), firmwareId }
  const isBad = (status === 'failed' || status === 'timed_out') && failedIn !== undefined && isLate(failedIn)
  if (!isBad || finishedAt !== now || plan.kind === 'rollback') return firmware
  const block = { firmwareId, until: Millis(now + LIMITS.otaBlockMs) }
  const others = firmware.blocks.filter((each) => each.firmwareId !== firmwareId && each.until > now)
  // The device may have reported this version just before the failure was known.
  const { previousVersion: previous } = firmware
  const previousVersion = isSameVersion(plan.goal.reportsAs, previous) ? undefined : previous
  return { ...firmware, previousVersion, blocks: [...others, block] }
}

/** All open jobs, and the newest of the others. */
function trimJobs(jobs: readonly Job[]): readonly Job[] {
  const isOver = (job: Job) => !isUnfinished(job) && job.rollback === undefined
  let surplus = jobs.filter(isOver).length - LIMITS.jobsKeptMax
  if (surplus <= 0) return jobs
  return jobs.filter((job) => !isOver(job) || surplus-- <= 0)
}
