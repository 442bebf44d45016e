// The timers of a job: when it must be checked next, and what has run out then. They follow from the job (R6), and from the
// last time at which devices could not be heard: a timer that ran meanwhile waits a little longer for what the device did.
import type { Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { type Leap, leaptSince } from '../leap.ts'
import type { Job } from './job.ts'
import {
  abandonRollback,
  awaitReconnect,
  failJob,
  grantJob,
  isStabilizing,
  succeedJob,
  withRollback,
} from './job-moves.ts'
import { isLate } from './job-table.ts'

const NEVER = Number.POSITIVE_INFINITY

/** What delays the end of a timer. */
export interface Grace {
  /** Messages that devices sent before this time may still arrive: the service was down, or busy with other entries. */
  readonly forgivenAt: number
  readonly leaps: readonly Leap[]
}

/** What a timer needs to know about the device besides its job. */
export interface TimerContext extends Grace {
  /** The device has no session. */
  readonly isAway: boolean
  /** What the device last reported to run. */
  readonly version?: string | undefined
}

export function jobDeadline(job: Job, grace: Grace): number {
  switch (job.status) {
    case 'pending':
      return Math.min(job.isGranted ? grantedDeadline(job, grace) : NEVER, offlineDeadline(job, grace))
    case 'rolling_back':
      if (job.back === undefined) return NEVER
      return Math.min(
        jobDeadline(job.back, grace),
        job.back.isGranted ? NEVER : (job.back.notBefore ?? NEVER),
      )
    case 'failed':
    case 'timed_out':
    case 'succeeded':
      return job.rollback === 'due' ? offlineDeadline(job, grace) : NEVER
    default:
      return Math.min(phaseDeadline(job, grace), suspectDeadline(job, grace))
  }
}

/** Names the timer that has run out at this time. */
export function expireJob(job: Job, now: Millis, context: TimerContext): Job {
  const { isAway } = context
  if (job.status === 'rolling_back')
    return job.back === undefined ? job : withRollback(job, expireBack(job.back, now, context), now)
  if (jobDeadline(job, context) > now) return job
  if (job.rollback === 'due') return abandonRollback(job, job.error, now)
  if (suspectDeadline(job, context) <= now && phaseDeadline(job, context) > now)
    return failInterrupted(job, now, job.suspect?.version)
  switch (job.status) {
    case 'pending':
      return expirePending(job, now, context)
    case 'confirming':
      if (!job.isProved) return failUnproved(job, context.version, now)
      // Its session ended with the service, and it has not reconnected: its state is unknown.
      return isAway && isStabilizing(job) ? awaitReconnect(job, now) : succeedJob(job, now)
    default:
      return failTimedOut(job, now, isAway)
  }
}

/** Judges a device that is back and does not run the goal. */
export function failInterrupted(job: Job, now: Millis, version: string | undefined): Job {
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

function expireBack(back: Job, now: Millis, context: TimerContext): Job {
  const isDue = back.status === 'pending' && !back.isGranted && (back.notBefore ?? NEVER) <= now
  return isDue
    ? grantJob(back, { number: back.grants + 1, notAfter: undefined, now })
    : expireJob(back, now, context)
}

/** A timer that began before devices could be heard again runs on for a moment from then, but never longer than its usual
 *  time. */
function withGrace(from: number, ms: number, { forgivenAt, leaps }: Grace): number {
  const at = from + ms + leaptSince(from, leaps)
  return from < forgivenAt ? Math.max(at, forgivenAt + Math.min(ms, LIMITS.otaForgivenMs)) : at
}

/** The message was sent often enough without an answer, or the device has been away for so long that others need its slot. */
function grantedDeadline({ telling, awaySince, since, plan }: Job, grace: Grace): number {
  if (awaySince !== undefined) return withGrace(Math.max(since, awaySince), plan.downloadSec * 1_000, grace)
  return telling.sends < LIMITS.otaSendsMax ? NEVER : withGrace(telling.sentAt ?? 0, LIMITS.otaRetryMs, grace)
}

function offlineDeadline({ awaySince, plan }: Job, grace: Grace): number {
  if (awaySince === undefined) return NEVER
  return withGrace(Math.max(awaySince, plan.startAt ?? 0), plan.offlineTtlSec * 1_000, grace)
}

function suspectDeadline({ suspect }: Job, grace: Grace): number {
  if (suspect === undefined) return NEVER
  const { until, forMs = LIMITS.otaSuspectMs } = suspect
  return withGrace(until - forMs, forMs, grace)
}

function phaseDeadline(job: Job, grace: Grace): number {
  const { plan, since, isProved, notifiedAt, waitedAt } = job
  switch (job.status) {
    case 'notified':
    case 'downloading':
      return withGrace(Math.max(notifiedAt ?? since, waitedAt ?? 0), plan.downloadSec * 1_000, grace)
    case 'downloaded':
    case 'installing':
      return withGrace(since, plan.installSec * 1_000, grace)
    case 'rebooting':
      return withGrace(since, plan.rebootSec * 1_000, grace)
    case 'confirming':
      return withGrace(since, (isProved ? plan.stableSec : plan.confirmSec) * 1_000, grace)
    default:
      return NEVER
  }
}

function expirePending(job: Job, now: Millis, grace: Grace): Job {
  if (offlineDeadline(job, grace) <= now)
    return failJob(
      job,
      { code: 'OFFLINE_TOO_LONG', message: `not reached for ${job.plan.offlineTtlSec} s` },
      { now, cause: 'time_out' },
    )
  if (job.awaySince !== undefined) return failTimedOut(job, now, true)
  return failJob(
    job,
    { code: 'NOT_ACKNOWLEDGED', message: `sent ${job.telling.sends} times and never acknowledged` },
    { now },
  )
}

function failUnproved(job: Job, reported: string | undefined, now: Millis): Job {
  const message = `expected ${job.plan.goal.reportsAs}, reported ${reported ?? 'nothing'}, although it said that it succeeded`
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

/** A device that falls silent during its installation may be broken, so there is no further attempt. */
function failTimedOut(job: Job, now: Millis, isAway: boolean): Job {
  // No other status has a timer that ends here.
  const phase = PHASES[job.status as keyof typeof PHASES]
  const error = { code: `TIMED_OUT_${phase}`, message: `too long in ${job.status}` }
  return failJob(job, error, { now, cause: 'time_out', isFinal: isAway && isLate(job.status) })
}
