// What a device's connections, and what it says that it runs, do to its job (the proof of an update).
import { type Micros, Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Job } from './job.ts'
import { interrupted } from './job-deadline.ts'
import { loseJob, moveJob, mustStayWell, proveJob, restartJob } from './job-moves.ts'
import { isLate, JOB_MOVES } from './job-table.ts'
import { isGoal, isOther, type ReportedImage } from './proof.ts'

/** What a device said in `status`. */
export interface StatusReport extends ReportedImage {
  /** Number of its own session; undefined if a gateway spoke for it. */
  readonly session: Micros | undefined
  /** Whether it says a boot id, and whether that is another than before. */
  readonly boot: 'changed' | 'same' | 'unsaid'
  /** It may have said so in an earlier session, and sends it again because nobody acknowledged it. */
  readonly mayBeOld: boolean
}

/** What became of a device's own session. `lost`: it ended, or another took its place. `resumed`: the device has a new one, and nobody saw the one before end:
 *  it ended with the service, which says nothing about the device. */
export type OwnSession = 'lost' | 'resumed'

/** The device has another session, or none any more. One that ended with the service is no failure of the device: it only
 *  begins its wait anew, because nobody knows how it was meanwhile. */
export function sessionOver(job: Job, own: OwnSession, now: Millis): Job {
  if (JOB_MOVES[job.status].restart !== undefined)
    return own === 'lost' && job.wasLost !== true ? { ...job, wasLost: true } : job
  if (job.status === 'installing') return own === 'lost' ? moveJob(job, 'reboot', now) : job
  if (!mustStayWell(job)) return job
  return own === 'lost' ? loseJob(job, now) : { ...job, since: now }
}

export function describeJob(job: Job, said: StatusReport, now: Millis): Job {
  const { goal } = job.plan
  if (isGoal(goal, said)) {
    if (mustStayWell(job)) return said.boot === 'changed' ? restarted(job, now) : job
    return job.plan.proof === 'reconnect' && isProof(job, said) ? proveJob(job, now) : job
  }
  if (!isOther(goal, said) || !job.isGranted) return job
  switch (job.status) {
    case 'notified':
    case 'downloading':
    case 'downloaded':
      if (!isRestart(job, said)) return job
      return restartJob(job, now, said.boot === 'changed' || job.wasLost === true)
    case 'installing':
    case 'rebooting':
      return isRestart(job, said) ? notTheGoal(job, said, now) : job
    case 'confirming':
      // Before the proof it may say what it has said all along.
      return job.isProved || isRestart(job, said)
        ? interrupted({ ...job, isRebootSaid: true }, now, said.version)
        : job
    default:
      return job
  }
}

/** It restarted without anybody having seen its session end, and runs the goal again. */
function restarted(job: Job, now: Millis): Job {
  const lost = loseJob(job, now)
  return lost.status === 'rebooting' ? proveJob(lost, now) : lost
}

/** While it installs, a device without boot ids may only have lost its connection: it gets a moment to say so. Where nobody
 *  saw its session end, that ended with the service: then it is left at its work, and the timer judges. After its restart it
 *  may first repeat what it said before: it gets a moment to say what it runs now. */
function notTheGoal(job: Job, { boot, version, mayBeOld }: StatusReport, now: Millis): Job {
  if (boot === 'changed' || (job.isRebootSaid && !mayBeOld)) return interrupted(job, now, version)
  if (job.status === 'installing' || job.suspect !== undefined) return job
  const forMs = job.isRebootSaid ? LIMITS.otaBirthMs : LIMITS.otaSuspectMs
  return { ...job, suspect: { until: Millis(now + forMs), forMs, version } }
}

/** It began after the attempt was sent. Behind a gateway there is no such session: what counts is how far it was. */
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
