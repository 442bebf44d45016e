// The timers of a job: when it must next be looked at, and what is over then. They follow from the job alone (R6).
import type { Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Job } from './job.ts'
import { awaitJob, failJob, grantJob, mustStayWell, rollBackJob, succeedJob, withBack } from './job-moves.ts'
import { isLate } from './job-table.ts'

const NEVER = Number.POSITIVE_INFINITY

export function jobDeadline(job: Job): number {
  switch (job.status) {
    case 'pending':
      return Math.min(job.isGranted ? grantedDeadline(job) : NEVER, offlineDeadline(job))
    case 'rolling_back':
      if (job.back === undefined) return NEVER
      return Math.min(jobDeadline(job.back), job.back.isGranted ? NEVER : (job.back.notBefore ?? NEVER))
    case 'failed':
    case 'timed_out':
    case 'succeeded':
      return job.rollback === 'due' ? offlineDeadline(job) : NEVER
    default:
      return Math.min(phaseDeadline(job), job.suspect?.until ?? NEVER)
  }
}

/** What is over at this time. `isAway`: the device has no session. */
export function expireJob(job: Job, now: Millis, isAway: boolean): Job {
  if (job.status === 'rolling_back')
    return job.back === undefined ? job : withBack(job, expireBack(job.back, now, isAway), now)
  if (jobDeadline(job) > now) return job
  if (job.rollback === 'due') return rollBackJob(job, undefined, now)
  const { suspect } = job
  if (suspect !== undefined && suspect.until <= now && phaseDeadline(job) > now)
    return interrupted(job, now, suspect.version)
  switch (job.status) {
    case 'pending':
      return expirePending(job, now)
    case 'confirming':
      if (!job.isProved) return unproved(job, now)
      // Its session ended with the service, and it has not come back: how it is, nobody knows.
      return isAway && mustStayWell(job) ? awaitJob(job, now) : succeedJob(job, now)
    default:
      return timedOut(job, now, isAway)
  }
}

/** A device that is back without the goal. */
export function interrupted(job: Job, now: Millis, version: string | undefined): Job {
  const seen = version === undefined ? '' : `: the device runs ${version}`
  if (!job.isRebootSaid && version === job.fromVersion)
    return failJob(
      job,
      { code: 'INSTALL_INTERRUPTED', message: `restarted while it installed${seen}` },
      { now },
    )
  const code = version === job.fromVersion ? 'ROLLED_BACK_BY_DEVICE' : 'VERSION_MISMATCH'
  return failJob(job, { code, message: `expected ${job.plan.goal.reportsAs}${seen}` }, { now })
}

function expireBack(back: Job, now: Millis, isAway: boolean): Job {
  const isDue = back.status === 'pending' && !back.isGranted && (back.notBefore ?? NEVER) <= now
  return isDue
    ? grantJob(back, { number: back.grants + 1, notAfter: undefined, now })
    : expireJob(back, now, isAway)
}

/** Sent often enough without an answer, or away for so long that the place is needed by others. */
function grantedDeadline({ telling, awaySince, since, plan }: Job): number {
  if (awaySince !== undefined) return Math.max(since, awaySince) + plan.downloadSec * 1_000
  return telling.sends < LIMITS.otaSendsMax ? NEVER : (telling.sentAt ?? 0) + LIMITS.otaRetryMs
}

function offlineDeadline({ awaySince, plan }: Job): number {
  if (awaySince === undefined) return NEVER
  return Math.max(awaySince, plan.startAt ?? 0) + plan.offlineTtlSec * 1_000
}

function phaseDeadline(job: Job): number {
  const { plan, since, isProved, notifiedAt, waitedAt } = job
  switch (job.status) {
    case 'notified':
    case 'downloading':
      return Math.max(notifiedAt ?? since, waitedAt ?? 0) + plan.downloadSec * 1_000
    case 'downloaded':
    case 'installing':
      return since + plan.installSec * 1_000
    case 'rebooting':
      return since + plan.rebootSec * 1_000
    case 'confirming':
      return since + (isProved ? plan.stableSec : plan.confirmSec) * 1_000
    default:
      return NEVER
  }
}

function expirePending(job: Job, now: Millis): Job {
  if (offlineDeadline(job) <= now)
    return failJob(
      job,
      { code: 'OFFLINE_TOO_LONG', message: `not reached for ${job.plan.offlineTtlSec} s` },
      { now, cause: 'time_out' },
    )
  if (job.awaySince !== undefined) return timedOut(job, now, true)
  return failJob(
    job,
    { code: 'NOT_ACKNOWLEDGED', message: `sent ${job.telling.sends} times and never acknowledged` },
    { now },
  )
}

function unproved(job: Job, now: Millis): Job {
  const message = `expected ${job.plan.goal.reportsAs}: the device says it succeeded, and does not run it`
  return failJob(job, { code: 'VERSION_MISMATCH', message }, { now })
}

const PHASES = {
  pending: 'DOWNLOAD',
  notified: 'DOWNLOAD',
  downloading: 'DOWNLOAD',
  downloaded: 'INSTALL',
  installing: 'INSTALL',
  rebooting: 'REBOOT',
} as const

/** A device that went silent while it changed itself may be broken: that must not wait for another try. */
function timedOut(job: Job, now: Millis, isAway: boolean): Job {
  const phase = PHASES[job.status as keyof typeof PHASES] ?? 'CONFIRM'
  const error = { code: `TIMED_OUT_${phase}`, message: `too long in ${job.status}` }
  return failJob(job, error, { now, cause: 'time_out', isFinal: isAway && isLate(job.status) })
}
