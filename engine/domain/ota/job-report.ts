// Applies a device's report about an attempt to its job. Progress only moves forward within an attempt: a report that is
// behind the status, about another attempt, or after the end changes nothing.
import type { Micros, Millis } from '../../../schemas/ids.ts'
import { unreachable } from '../unreachable.ts'
import type { Job, JobError } from './job.ts'
import { cancelJob, deferJob, failJob, moveJob, rejectJob, succeedJob } from './job-moves.ts'
import { isLate, isOpen, type JobCause } from './job-table.ts'
import type { OtaReport } from './ota-report.ts'
import { matchesGoal, type ReportedImage } from './proof.ts'

export interface ReportContext {
  readonly now: Millis
  /** What the device last reported to run. */
  readonly running: ReportedImage
  readonly session: Micros | undefined
}

export function reportJob(job: Job, report: OtaReport, context: ReportContext): Job {
  if (!isOpen(job.status) || !job.isGranted) return job
  if (report.attempt !== undefined && report.attempt !== job.attempt) return job
  if (isFromBeforeRestart(job, report)) return job
  const cleared = withoutSuspicion(job)
  const moved = apply(cleared, report, context)
  if (moved === cleared) return isLate(cleared.status) ? withSession(cleared, context) : cleared
  const { progress = moved.progress } = report
  return { ...moved, progress, seenIn: context.session ?? moved.seenIn }
}

/** Devices keep unacknowledged reports and send them again, even after a restart. Such a report says nothing as long as the
 *  device was not sent the message again: it may have forgotten the update, so the message is due first. */
function isFromBeforeRestart({ status, notifiedAt, telling }: Job, { word }: OtaReport): boolean {
  const hasRestarted = status === 'pending' && notifiedAt !== undefined
  return hasRestarted && telling.sends === 0 && UNDER_WAY.has(word)
}

const UNDER_WAY: ReadonlySet<OtaReport['word']> = new Set([
  'accepted',
  'downloading',
  'verifying',
  'downloaded',
  'installing',
  'rebooting',
  'confirming',
] as const)

function apply(job: Job, report: OtaReport, context: ReportContext): Job {
  const { now } = context
  switch (report.word) {
    case 'accepted':
    case 'confirming':
    case 'refresh':
      return moveJob(job, 'notify', now)
    case 'downloading':
      return moveJob(job, 'download', now)
    case 'verifying':
    case 'downloaded':
      return moveJob(job, 'downloaded', now)
    case 'installing':
      // Only its session ended: the device is still installing.
      if (job.status === 'rebooting' && !job.isRebootSaid) return { ...job, since: now }
      return moveJob(job, 'install', now)
    case 'rebooting':
      if (job.status === 'rebooting' && !job.isRebootSaid) return { ...job, since: now, isRebootSaid: true }
      return moveJob(job, 'reboot', now, { isRebootSaid: true })
    case 'succeeded':
      return acceptSuccess(job, report, context)
    case 'already_installed':
      return confirmInstalled(job, report, context)
    case 'rolled_back':
      if (job.plan.kind === 'rollback') return acceptSuccess(job, report, context)
      return isLate(job.status)
        ? failJob(job, report.error ?? error('ROLLED_BACK_BY_DEVICE', 'the device went back by itself'), {
            now,
          })
        : job
    case 'failed':
      return failJob(job, report.error ?? error('FAILED', 'the device did not say why'), { now })
    case 'rejected':
      return rejectJob(job, report.error ?? error('REJECTED', 'the device does not take it'), now)
    case 'deferred':
      return report.until === undefined ? job : deferJob(job, report.until, now)
    case 'cancelled':
      return { ...cancelJob(job, 'CANCELLED_BY_DEVICE', now), notice: undefined }
    default:
      return unreachable(report.word)
  }
}

/** The device reports success. It is believed if a report is enough of a proof and says the version, unless the device has
 *  said before that it runs it. Otherwise the version must be seen. */
function acceptSuccess(job: Job, { version }: OtaReport, { running, now }: ReportContext): Job {
  const { proof, goal } = job.plan
  if (job.status === 'confirming' && job.isProved) return succeedJob(job, now)
  if (proof === 'reconnect') return moveJob(job, 'confirm', now)
  if (!matchesGoal(goal, version === undefined ? running : { version, sha256: undefined }))
    return version === undefined ? moveJob(job, 'confirm', now) : mismatch(job, version, now)
  return succeedJob({ ...moveUnlessConfirming(job, 'confirm', now), isProved: true }, now)
}

function confirmInstalled(job: Job, { version }: OtaReport, { running, now }: ReportContext): Job {
  const known = version === undefined ? running : { version, sha256: running.sha256 }
  if (!matchesGoal(job.plan.goal, known)) return mismatch(job, known.version, now)
  return succeedJob({ ...moveUnlessConfirming(job, 'confirm', now), isProved: true }, now)
}

function mismatch(job: Job, reported: string | undefined, now: Millis): Job {
  const message = `expected ${job.plan.goal.reportsAs}, reported ${reported ?? 'nothing'}`
  return failJob(job, error('VERSION_MISMATCH', message), { now })
}

function moveUnlessConfirming(job: Job, cause: JobCause, now: Millis): Job {
  return job.status === 'confirming' ? job : moveJob(job, cause, now)
}

/** Notes the session of a report that moved nothing: the device still works, so its new session is no restart. */
function withSession(job: Job, { session }: ReportContext): Job {
  return session === undefined || session <= (job.seenIn ?? 0) ? job : { ...job, seenIn: session }
}

function withoutSuspicion(job: Job): Job {
  return job.suspect === undefined ? job : { ...job, suspect: undefined }
}

function error(code: string, message: string): JobError {
  return { code, message }
}
