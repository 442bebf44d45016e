// The statuses of a job, as data. This file alone decides whether a status may move: a cause without a cell moves nothing.
// An automatic rollback is a job of its own within `rolling_back`, and moves by the same table.
import { JOB_STATUSES, type JobStatus } from '../../../schemas/vocabulary.ts'

export const JOB_CAUSES = [
  /** The device acknowledged the message, or reported anything about the attempt. */
  'notify',
  'download',
  'downloaded',
  'install',
  /** The device reported that it reboots, or its session ended while it installed. */
  'reboot',
  /** The device runs the goal after a restart, or reports success. */
  'confirm',
  /** The device stayed well for long enough, or reported success after the proof. */
  'succeed',
  /** The device restarted before it installed anything: the same attempt is sent again. */
  'restart',
  /** The device was lost while confirming. */
  'lose',
  'defer',
  /** The attempt failed, and another one follows. */
  'retry',
  'reject',
  'fail',
  'time_out',
  'cancel',
  /** The device was decommissioned while it installed, so it can report no end. */
  'abandon',
  'roll_back',
  'rolled_back',
  'rollback_failed',
  /** The proof came after the end. */
  'prove_late',
  /** A person retries the job. */
  'begin_again',
] as const
export type JobCause = (typeof JOB_CAUSES)[number]

const ENDS = { retry: 'pending', fail: 'failed', time_out: 'timed_out' } as const
const LATE = { ...ENDS, abandon: 'cancelled' } as const
const EARLY = { ...ENDS, defer: 'pending', reject: 'rejected', cancel: 'cancelled' } as const
const AFTER_FAILURE = {
  roll_back: 'rolling_back',
  prove_late: 'succeeded',
  begin_again: 'pending',
  // No rollback is possible, or the device rolled back by itself.
  rollback_failed: 'rollback_failed',
  rolled_back: 'rolled_back',
} as const

export const JOB_MOVES: Readonly<Record<JobStatus, Readonly<Partial<Record<JobCause, JobStatus>>>>> = {
  pending: {
    ...EARLY,
    notify: 'notified',
    download: 'downloading',
    downloaded: 'downloaded',
    install: 'installing',
    reboot: 'rebooting',
    confirm: 'confirming',
  },
  notified: {
    ...EARLY,
    restart: 'pending',
    download: 'downloading',
    downloaded: 'downloaded',
    install: 'installing',
    reboot: 'rebooting',
    confirm: 'confirming',
  },
  downloading: {
    ...EARLY,
    restart: 'pending',
    downloaded: 'downloaded',
    install: 'installing',
    reboot: 'rebooting',
    confirm: 'confirming',
  },
  downloaded: {
    ...EARLY,
    restart: 'pending',
    install: 'installing',
    reboot: 'rebooting',
    confirm: 'confirming',
  },
  installing: { ...LATE, reboot: 'rebooting', confirm: 'confirming' },
  rebooting: { ...LATE, confirm: 'confirming' },
  confirming: { ...LATE, lose: 'rebooting', succeed: 'succeeded' },
  succeeded: { roll_back: 'rolling_back', rollback_failed: 'rollback_failed' },
  failed: AFTER_FAILURE,
  timed_out: AFTER_FAILURE,
  rejected: { begin_again: 'pending' },
  cancelled: { prove_late: 'succeeded' },
  rolling_back: { rolled_back: 'rolled_back', rollback_failed: 'rollback_failed' },
  rolled_back: {},
  rollback_failed: {},
}

/** The position of a status in the order of an update. Up to `confirming`, a lower one is an earlier step. */
function rankOf(status: JobStatus): number {
  return JOB_STATUSES.indexOf(status)
}

/** The device works on it, or will. */
export function isOpen(status: JobStatus): boolean {
  return JOB_MOVES[status].retry !== undefined
}

/** The device has changed nothing yet, so the job can still be cancelled. */
export function isEarly(status: JobStatus): boolean {
  return JOB_MOVES[status].cancel !== undefined
}

/** What a person may do with a job of an open deployment. */
export function jobActions(status: JobStatus): readonly ('retry' | 'cancel')[] {
  if (isEarly(status)) return ['cancel']
  return JOB_MOVES[status].begin_again === undefined ? [] : ['retry']
}

/** The image is being downloaded, or may be. */
export function isDownloading(status: JobStatus): boolean {
  return rankOf(status) < rankOf('downloaded')
}

/** A failure here leaves the device with another firmware, perhaps a broken one. */
export function isLate(status: JobStatus): boolean {
  return rankOf(status) >= rankOf('installing') && rankOf(status) <= rankOf('confirming')
}
