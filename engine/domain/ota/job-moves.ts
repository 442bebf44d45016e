// How a job moves. Each function applies one event, and none of them sends anything. An event without a cell in the table
// returns the same job (R7).
import { Millis } from '../../../schemas/ids.ts'
import { type JobStatus, RETRY_CAUSES, type RetryCause } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import { type Job, type JobError, NOT_SENT, newJob } from './job.ts'
import { isDownloading, isEarly, isLate, isOpen, JOB_MOVES, type JobCause } from './job-table.ts'

const STAMPS: Readonly<Partial<Record<JobStatus, keyof Job>>> = {
  notified: 'notifiedAt',
  downloading: 'downloadingAt',
  downloaded: 'downloadedAt',
  installing: 'installingAt',
  rebooting: 'rebootingAt',
  confirming: 'confirmingAt',
}

export function moveJob(job: Job, cause: JobCause, now: Millis, more: Partial<Job> = {}): Job {
  const to = JOB_MOVES[job.status][cause]
  if (to === undefined) return job
  const stamp = STAMPS[to]
  const stamped = stamp === undefined ? {} : { [stamp]: now }
  // If what followed shows that the message arrived, it counts as arrived.
  const notified = stamp === undefined || job.status !== 'pending' ? {} : { notifiedAt: now }
  return { ...job, ...notified, ...stamped, status: to, since: now, suspect: undefined, ...more }
}

/** Gives the job a slot. `number` is that of the grant; a lower one is a repetition. */
export function grantJob(
  job: Job,
  {
    number,
    notAfter,
    now,
  }: { readonly number: number; readonly notAfter: Millis | undefined; readonly now: Millis },
): Job {
  if (job.status !== 'pending' || job.isGranted || number !== job.grants + 1) return job
  return {
    ...job,
    isGranted: true,
    grants: number,
    attempt: job.attempt + 1,
    tries: job.tries + 1,
    since: now,
    notAfter,
    telling: NOT_SENT,
    restarts: 0,
    wasLost: false,
    losses: 0,
    notBefore: undefined,
    waitsFor: undefined,
    suspect: undefined,
    seenIn: undefined,
    isRebootSaid: false,
    isProved: false,
    progress: undefined,
    waitedAt: undefined,
    notifiedAt: undefined,
    downloadingAt: undefined,
    downloadedAt: undefined,
    installingAt: undefined,
    rebootingAt: undefined,
    confirmingAt: undefined,
  }
}

/** The service refused the download through no fault of the device: the device gets the whole time again, and nothing failed. */
export function restartDownloadTimer(job: Job, now: Millis): Job {
  const isFetching = job.status === 'notified' || job.status === 'downloading'
  return isFetching && job.isGranted ? { ...job, waitedAt: now } : job
}

export function deferJob(job: Job, until: Millis, now: Millis): Job {
  if (!isEarly(job.status) || !job.isGranted) return job
  if (job.deferrals >= LIMITS.otaDeferralsMax) {
    const error = {
      code: 'DEFERRED_TOO_OFTEN',
      message: `deferred more than ${LIMITS.otaDeferralsMax} times`,
    }
    return moveJob(job, 'reject', now, { ...ended(now), error })
  }
  return moveJob(job, 'defer', now, {
    isGranted: false,
    deferrals: job.deferrals + 1,
    // A deferral does not count as an attempt.
    tries: Math.max(0, job.tries - 1),
    notBefore: until,
    waitsFor: 'deferred',
    telling: NOT_SENT,
  })
}

/** The device may have restarted before it installed anything, so the message is sent again. Only its own restarts count. */
export function restartJob(job: Job, now: Millis, isOwn: boolean): Job {
  const restarts = isOwn ? job.restarts + 1 : job.restarts
  if (restarts >= LIMITS.otaRestartsMax)
    return failJob(
      job,
      { code: 'DEVICE_RESTARTED', message: 'restarted before it installed the firmware' },
      { now },
    )
  return moveJob(job, 'restart', now, { restarts, wasLost: false, telling: NOT_SENT })
}

/** The device runs the goal, and has to stay connected for a while. */
export function isStabilizing({ status, isProved, plan }: Job): boolean {
  return status === 'confirming' && isProved && plan.proof === 'reconnect'
}

/** The device was lost while it had to stay connected. */
export function countLoss(job: Job, now: Millis): Job {
  const losses = job.losses + 1
  if (losses >= LIMITS.otaRestartsMax)
    return failJob(job, { code: 'UNSTABLE', message: 'lost again and again after the update' }, { now })
  return awaitReconnect({ ...job, losses }, now)
}

/** The device has to reconnect. */
export function awaitReconnect(job: Job, now: Millis): Job {
  return moveJob(job, 'lose', now, { isProved: false, isRebootSaid: true })
}

/** The device runs the goal, and has to stay well for a while. A proof soon after the end of the job counts as well. */
export function proveJob(job: Job, now: Millis): Job {
  if (job.status === 'confirming')
    return job.isProved ? job : { ...job, isProved: true, since: now, suspect: undefined }
  if (isOpen(job.status)) return job.isGranted ? moveJob(job, 'confirm', now, { isProved: true }) : job
  const isTooLate = job.finishedAt === undefined || job.finishedAt + LIMITS.otaLateMs <= now
  if (job.attempt === 0 || isTooLate || job.plan.kind === 'rollback') return job
  // A job that failed for another reason than a timeout has to be rolled back.
  if (job.status === 'failed' && job.rollback === 'due') return job
  return moveJob(job, 'prove_late', now, {
    late: true,
    rollback: undefined,
    finishedAt: now,
    notice: undefined,
  })
}

export function succeedJob(job: Job, now: Millis): Job {
  const succeeded = moveJob(job, 'succeed', now, { ...ended(now), progress: 100, error: undefined })
  return succeeded !== job && job.plan.kind === 'rollback'
    ? { ...succeeded, status: 'rolled_back' }
    : succeeded
}

export function cancelJob(job: Job, code: string, now: Millis): Job {
  // A device that may have received the message gets a cancellation.
  const notice = job.isGranted && job.telling.sends > 0 ? NOT_SENT : undefined
  const error = { code, message: 'cancelled before anything was installed' }
  return moveJob(job, 'cancel', now, { ...ended(now), error, notice })
}

/** Ends the job of a device that was decommissioned, whatever it was doing: it will be heard no more. */
export function abandonJob(job: Job, now: Millis): Job {
  const code = 'DECOMMISSIONED'
  const over = { notice: undefined, rollback: undefined }
  if (isEarly(job.status)) return { ...cancelJob(job, code, now), ...over }
  const error = { code, message: `decommissioned while ${job.status}` }
  if (job.status === 'rolling_back') return { ...abandonRollback(job, job.error ?? error, now), ...over }
  if (isLate(job.status)) return moveJob(job, 'abandon', now, { ...ended(now), error, ...over })
  return job.notice === undefined && job.rollback === undefined ? job : { ...job, ...over }
}

export function rejectJob(job: Job, error: JobError, now: Millis): Job {
  return moveJob(job, 'reject', now, { ...ended(now), error })
}

interface FailureOptions {
  readonly now: Millis
  readonly cause?: 'fail' | 'time_out'
  /** Rules out a further attempt, whatever the plan says. */
  readonly isFinal?: boolean
}

/** The attempt failed. Another one follows if the plan allows it for this error. */
export function failJob(
  job: Job,
  error: JobError,
  { now, cause = 'fail', isFinal = false }: FailureOptions,
): Job {
  if (!isOpen(job.status)) return job
  if (!isFinal && isTriedAgain(job, error.code)) {
    return moveJob(job, 'retry', now, {
      isGranted: false,
      error,
      notBefore: Millis(now + backoffMs(job)),
      waitsFor: 'backoff',
      telling: NOT_SENT,
    })
  }
  const failed = moveJob(job, cause, now, { ...ended(now), error, failedIn: job.status })
  if (job.plan.kind === 'rollback') return { ...failed, status: 'rollback_failed' }
  return job.plan.rollsBack && isLate(job.status) ? { ...failed, rollback: 'due' } : failed
}

/** A person retries the job. */
export function retryJob(job: Job, now: Millis): Job {
  return moveJob(job, 'begin_again', now, {
    tries: 0,
    deferrals: 0,
    error: undefined,
    rollback: undefined,
    failedIn: undefined,
    finishedAt: undefined,
    notBefore: undefined,
    waitsFor: undefined,
    notice: undefined,
    telling: NOT_SENT,
  })
}

/** Starts the rollback to `goal`. Without a goal there is no rollback. */
export function rollBackJob(job: Job, goal: Job['plan']['goal'] | undefined, now: Millis): Job {
  if (goal === undefined) {
    const { code: failed = '', message: why = '' } = job.error ?? {}
    const before = [failed && `, after ${failed}`, why].filter((text) => text !== '').join(': ')
    const message = `no image of the previous version is known${before}`.slice(0, LIMITS.otaErrorCharsMax)
    return abandonRollback(job, { code: 'NO_PREVIOUS_FIRMWARE', message }, now)
  }
  const plan = { ...job.plan, kind: 'rollback', goal, retriesMax: 1, retryOn: RETRY_CAUSES } as const
  const fresh = newJob(plan, { createdAt: now, fromVersion: job.plan.goal.version, awaySince: job.awaySince })
  const back = grantJob({ ...fresh, attempt: job.attempt }, { number: 1, notAfter: undefined, now })
  return moveJob(job, 'roll_back', now, { back, isGranted: true, rollback: undefined, finishedAt: undefined })
}

/** The job that is due to be rolled back cannot be, and ends. */
export function abandonRollback(job: Job, error: JobError | undefined, now: Millis): Job {
  return moveJob(job, 'rollback_failed', now, { ...ended(now), error })
}

/** Replaces the rollback of the job. When it ends, the job ends. */
export function withRollback(job: Job, back: Job, now: Millis): Job {
  if (back === job.back) return job
  const moved = { ...job, back }
  if (back.status !== 'rolled_back' && back.status !== 'rollback_failed') return moved
  const error = job.error ?? back.error
  return moveJob(moved, back.status, now, { ...ended(now), error, progress: back.progress })
}

/** The device returned to its former version by itself. */
export function markRolledBack(job: Job, now: Millis): Job {
  return moveJob(job, 'rolled_back', now, { ...ended(now), rollback: undefined })
}

function ended(now: Millis): Partial<Job> {
  return { isGranted: false, finishedAt: now, notBefore: undefined, waitsFor: undefined, rollback: undefined }
}

/** The word that `retry.on` uses for an error. An unknown error counts by how far the update had got. */
function retryCauseOf({ status }: Pick<Job, 'status'>, code: string): RetryCause | undefined {
  if (code.startsWith('TIMED_OUT')) return 'timed_out'
  if (code === 'NOT_ACKNOWLEDGED' || code === 'OFFLINE_TOO_LONG') return undefined
  const word = code.toLowerCase()
  const known = RETRY_CAUSES.find((cause) => cause === word)
  return known ?? (isDownloading(status) ? 'download_failed' : 'install_failed')
}

function isTriedAgain(job: Job, code: string): boolean {
  const { retriesMax, retryOn } = job.plan
  const cause = retryCauseOf(job, code)
  return job.tries <= retriesMax && cause !== undefined && retryOn.includes(cause)
}

/** Varies by up to a fifth either way, so that devices that failed together do not retry together. */
function backoffMs({ plan: { backoffSec, deploymentId }, tries, createdAt, attempt }: Job): number {
  const sec = backoffSec[Math.min(tries, backoffSec.length) - 1] ?? backoffSec.at(-1) ?? 0
  const seed = `${deploymentId}/${createdAt}/${attempt}`
  let hash = 0
  for (let i = 0; i < seed.length; i++) hash = (hash * 31 + seed.charCodeAt(i)) >>> 0
  return Math.round(sec * 1_000 * (0.8 + (0.4 * (hash % 1_000)) / 1_000))
}
