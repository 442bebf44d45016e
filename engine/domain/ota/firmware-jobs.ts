// The jobs of one device together: which one runs, what a change of one means for the device, and what is kept.
import { type DeploymentId, type FirmwareId, Millis } from '../../../schemas/ids.ts'
import { isSameVersion } from '../../../schemas/same-version.ts'
import { LIMITS } from '../../limits.ts'
import type { Firmware } from './firmware-part.ts'
import type { Job } from './job.ts'
import { type Grace, jobDeadline } from './job-deadline.ts'
import { withBack } from './job-moves.ts'
import { isLate, isOpen } from './job-table.ts'
import { type TellContext, tellDeadline } from './job-telling.ts'

/** A job that moved, and the status it had before; undefined if it is new. */
export interface JobMove {
  readonly job: Job
  readonly previous: Job['status'] | undefined
}

export interface FirmwareChange {
  readonly firmware: Firmware
  readonly moves: readonly JobMove[]
}

/** The device is, or will be, at work on it. */
export function isUnfinished(job: Job): boolean {
  return isOpen(job.status) || job.status === 'rolling_back'
}

/** The job that the device is at work on: it has a place. */
export function jobAtWork({ jobs }: Firmware): Job | undefined {
  return jobs.find(({ isGranted }) => isGranted)
}

/** The job whose turn it is: the others wait until it has ended. Whoever has to go back does so before anything else begins.
 *  One that begins at a later time holds nobody up before: its turn comes as if it were made then. */
export function activeJob(firmware: Firmware, now: Millis): Job | undefined {
  const { jobs } = firmware
  const begun = jobAtWork(firmware) ?? jobs.find(({ rollback }) => rollback === 'due')
  if (begun !== undefined) return begun
  let first: Job | undefined
  for (const job of jobs) {
    if (!isUnfinished(job) || isScheduled(job, now)) continue
    if (first === undefined || turnOf(job) < turnOf(first)) first = job
  }
  return first
}

/** Its deployment begins later. */
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
  const job = jobAtWork(firmware)
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

/** True if a job does not know yet whether the device can be reached. */
export function isReachStale({ jobs }: Firmware, isReachable: boolean): boolean {
  return jobs.some((job) => counts(job) && isReachable !== (job.awaySince === undefined))
}

/** The job with what it needs to know about the way to the device. */
export function withReach(job: Job, isReachable: boolean, now: Millis): Job {
  if (!counts(job) || isReachable === (job.awaySince === undefined)) return job
  return { ...job, awaySince: isReachable ? undefined : now }
}

/** Something waits for the device. */
function counts(job: Job): boolean {
  return isUnfinished(job) || job.rollback === 'due'
}

/** Does the same to every job; the way back of a job stands for it. */
export function changeJobs(firmware: Firmware, now: Millis, change: (job: Job) => Job): FirmwareChange {
  return replaceJobs(firmware, now, (job) =>
    job.status === 'rolling_back' && job.back !== undefined
      ? withBack(job, change(job.back), now)
      : change(job),
  )
}

/** Does it to one job, as a whole. */
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

/** The firmware of a device that now says another version than before. A version that failed is none to go back to. */
export function withVersion(
  firmware: Firmware,
  { from, to, now }: { readonly from: string | undefined; readonly to: string; readonly now: Millis },
): Firmware {
  const { previousVersion, jobs } = firmware
  const known = jobs.find(({ plan, isProved }) => isProved && isSameVersion(plan.goal.reportsAs, to))
  const hasFailed = jobs.some(
    ({ plan, failedIn }) => failedIn !== undefined && isSameVersion(plan.goal.reportsAs, from),
  )
  const kept = isSameVersion(previousVersion, to) ? undefined : previousVersion
  return {
    ...firmware,
    since: now,
    firmwareId: known?.plan.goal.firmwareId,
    previousVersion: hasFailed || from === undefined ? kept : from,
  }
}

/** When the jobs must next be looked at, infinity if never (R6). */
export function firmwareDeadline({ jobs }: Firmware, context: TellContext & Grace): number {
  let at = Number.POSITIVE_INFINITY
  for (const job of jobs) at = Math.min(at, jobDeadline(job, context), tellDeadline(job, context))
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
  let next: Firmware = { ...firmware, jobs: trimmed(jobs) }
  for (const { job } of moves) next = concluded(next, job, now)
  return { firmware: next, moves }
}

/** What the end of a job means for what is offered to the device later. */
function concluded(firmware: Firmware, { status, failedIn, plan, finishedAt }: Job, now: Millis): Firmware {
  const { firmwareId } = plan.goal
  if (status === 'succeeded' || (status === 'rolled_back' && plan.kind === 'rollback'))
    return { ...unblock(firmware, firmwareId), firmwareId }
  const isBad = (status === 'failed' || status === 'timed_out') && failedIn !== undefined && isLate(failedIn)
  if (!isBad || finishedAt !== now || plan.kind === 'rollback') return firmware
  const block = { firmwareId, until: Millis(now + LIMITS.otaBlockMs) }
  const others = firmware.blocks.filter((each) => each.firmwareId !== firmwareId && each.until > now)
  // The device may have said this version a moment before it was known to have failed.
  const { previousVersion: previous } = firmware
  const previousVersion = isSameVersion(plan.goal.reportsAs, previous) ? undefined : previous
  return { ...firmware, previousVersion, blocks: [...others, block] }
}

/** All that are not over, and the newest of the others. */
function trimmed(jobs: readonly Job[]): readonly Job[] {
  const isOver = (job: Job) => !isUnfinished(job) && job.rollback === undefined
  let surplus = jobs.filter(isOver).length - LIMITS.jobsKeptMax
  if (surplus <= 0) return jobs
  return jobs.filter((job) => !isOver(job) || surplus-- <= 0)
}
