// What hawkBit's device API (DDI) shows of a device's jobs. A device that speaks it is never sent a message: it polls, takes
// a job when it polls, and its own report is the proof of the update.
import type { Millis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { LIMITS } from '../../limits.ts'
import { fnv1a } from '../fnv1a.ts'
import { activeJob, grantedJob, isUnfinished } from './firmware-jobs.ts'
import type { Firmware } from './firmware-part.ts'
import type { Job, JobError } from './job.ts'
import { isOpen } from './job-table.ts'
import type { OtaWord } from './ota-report.ts'

/** What a device did by one request of the DDI. `number` names a job. */
export type DdiAct =
  | { readonly kind: 'poll' }
  /** The device read what it is to install. */
  | { readonly kind: 'read'; readonly number: number }
  | {
      readonly kind: 'report'
      readonly number: number
      readonly word: OtaWord
      readonly progress: number | undefined
      readonly error: JobError | undefined
    }
  /** The device confirms that the job was cancelled. */
  | { readonly kind: 'stopped'; readonly number: number }
  | {
      readonly kind: 'configure'
      readonly mode: 'merge' | 'replace' | 'remove'
      readonly attributes: JsonObject
      readonly version: string | undefined
    }

/** The number under which a device knows a job: positive, within 31 bits, and the same for ever. */
export function ddiNumber({ plan: { deploymentId, kind } }: Job): number {
  return fnv1a(`${deploymentId}/${kind}`) & 0x7fffffff || 1
}

/** The job that the device is to work on: it has a slot, and the device has not reported its end. */
export function offeredJob(firmware: Firmware): Job | undefined {
  const atWork = grantedJob(firmware)
  const job = atWork?.status === 'rolling_back' ? atWork.back : atWork
  return job !== undefined && isOffered(job) ? job : undefined
}

export function isOffered({ isGranted, status }: Job): boolean {
  return isGranted && isOpen(status) && status !== 'confirming'
}

/** The cancelled job whose cancellation the device has not received yet. */
export function unannouncedCancel({ jobs }: Firmware): Job | undefined {
  return jobs.find(({ notice }) => notice !== undefined)
}

/** The job with this number, or the job whose rollback has it. */
export function ddiJob({ jobs }: Firmware, number: number): Job | undefined {
  for (const job of jobs)
    for (const each of job.back === undefined ? [job] : [job.back, job])
      if (ddiNumber(each) === number) return each
  return undefined
}

/** The job is over, whether or not the device reported its end. */
export function isDdiEnded({ status }: Job): boolean {
  return !isOpen(status) || status === 'confirming'
}

/** Whether the device is to send its attributes: once after its registration, and after each success. */
export function wantsConfig({ configuredAt, jobs }: Firmware): boolean {
  if (configuredAt === undefined) return true
  return jobs.some((job) =>
    [job, job.back].some((each) => each?.isProved === true && (each.confirmingAt ?? 0) >= configuredAt),
  )
}

/** How long the device may sleep until it asks again, in seconds. */
export function ddiSleepSec(firmware: Firmware, now: Millis): number {
  const { ddiSleepSec: idle, ddiSleepNearSec: near, ddiSleepWaitingSec: waiting } = LIMITS
  // If no job is due, one may still be scheduled.
  const job = activeJob(firmware, now) ?? firmware.jobs.find(isUnfinished)
  if (unannouncedCancel(firmware) !== undefined) return near
  if (job === undefined) return idle
  if (job.isGranted) return near
  const from = Math.max(job.notBefore ?? 0, job.plan.startAt ?? 0)
  if (from > now) return Math.min(idle, Math.max(near, Math.ceil((from - now) / 1_000)))
  // A job that has waited for long may wait for days: for a window, or for other devices.
  return now - Math.max(job.since, from) < LIMITS.ddiNearMs ? near : waiting
}

/** A device that does not poll for this long counts as silent. */
export function ddiTimeoutMs(sleepSec: number): number {
  return 2 * sleepSec * 1_000 + LIMITS.ddiGraceMs
}
