// Applies a device's connections, and the version it reports, to its job (the proof of an update).
import { type Micros, Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Job } from './job.ts'
import { failInterrupted } from './job-deadline.ts'
import { countLoss, isStabilizing, moveJob, proveJob, restartJob } from './job-moves.ts'
import { isLate, JOB_MOVES } from './job-table.ts'
import { differsFromGoal, matchesGoal, type ReportedImage } from './proof.ts'

export interface StatusReport extends ReportedImage {
  /** The number of its own session; undefined if a gateway reported for it. */
  readonly session: Micros | undefined
  /** Whether it reports a boot id, and whether that has changed. */
  readonly boot: 'changed' | 'same' | 'unsaid'
  /** The report may be from an earlier session, sent again because it was not acknowledged. */
  readonly mayBeOld: boolean
}

/** What happened to a device's own session. `lost`: it ended, or another one replaced it. `resumed`: the device has a new
 *  one, and the former one ended with the service, which says nothing about the device. */
export type OwnSession = 'lost' | 'resumed'

/** The device has another session, or none. A session that ended with the service is no failure of the device: the timer
 *  only starts again, because the device's state meanwhile is unknown. */
export function endJobSession(job: Job, own: OwnSession, now: Millis): Job {
  if (JOB_MOVES[job.status].restart !== undefined)
    return own === 'lost' && job.wasLost !== true ? { ...job, wasLost: true } : job
  if (job.status === 'installing') return own === 'lost' ? moveJob(job, 'reboot', now) : job
  if (!isStabilizing(job)) return job
  return own === 'lost' ? countLoss(job, now) : { ...job, since: now }
}

export function applyStatusReport(job: Job, report: StatusReport, now: Millis): Job {
  const { goal } = job.plan
  if (matchesGoal(goal, report)) {
    if (isStabilizing(job)) return report.boot === 'changed' ? proveAfterRestart(job, now) : job
    return job.plan.proof === 'reconnect' && isProof(job, report) ? proveJob(job, now) : job
  }
  if (!differsFromGoal(goal, report) || !job.isGranted) return job
  switch (job.status) {
    case 'notified':
    case 'downloading':
    case 'downloaded':
      if (!isRestart(job, report)) return job
      return restartJob(job, now, report.boot === 'changed' || job.wasLost === true)
    case 'installing':
    case 'rebooting':
      return isRestart(job, report) ? suspectOtherVersion(job, report, now) : job
    case 'confirming':
      // Until the proof it may go on reporting the former version.
      return job.isProved || isRestart(job, report)
        ? failInterrupted({ ...job, isRebootSaid: true }, now, report.version)
        : job
    default:
      return job
  }
}

/** The device restarted without an observed end of its session, and runs the goal again. */
function proveAfterRestart(job: Job, now: Millis): Job {
  const reconnecting = countLoss(job, now)
  return reconnecting.status === 'rebooting' ? proveJob(reconnecting, now) : reconnecting
}

/** A device without boot ids that is installing may only have lost its connection, so it gets a moment to say so. If no end
 *  of its session was observed, the session ended with the service; then the timer decides. After its restart a device may
 *  first repeat earlier reports, so it gets a moment to say what it runs now. */
function suspectOtherVersion(job: Job, { boot, version, mayBeOld }: StatusReport, now: Millis): Job {
  if (boot === 'changed' || (job.isRebootSaid && !mayBeOld)) return failInterrupted(job, now, version)
  if (job.status === 'installing' || job.suspect !== undefined) return job
  const forMs = job.isRebootSaid ? LIMITS.otaBirthMs : LIMITS.otaSuspectMs
  return { ...job, suspect: { until: Millis(now + forMs), forMs, version } }
}

/** Whether the session began after the attempt was sent. A device behind a gateway has no session; its progress decides. */
function isProof(job: Job, { session, boot }: StatusReport): boolean {
  if (boot === 'changed') return job.telling.firstIn !== undefined
  const { firstIn } = job.telling
  if (session === undefined) return isLate(job.status)
  return firstIn !== undefined && session > firstIn
}

function isRestart({ telling, seenIn }: Job, { session, boot }: StatusReport): boolean {
  if (boot !== 'unsaid') return boot === 'changed'
  return session !== undefined && session > Math.max(telling.firstIn ?? session, seenIn ?? 0)
}
