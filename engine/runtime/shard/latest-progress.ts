// The progress of an update that was heard and is in no record yet. The record takes it when the job moves (U8).
import type { Device } from '../../domain/device/record.ts'
import { grantedJob } from '../../domain/ota/firmware-jobs.ts'
import type { Job } from '../../domain/ota/job.ts'
import type { Actor } from './actor.ts'

/** The device with the latest progress of its job, for a decision that may move the job. */
export function withLatestProgress({ latestProgress: latest }: Actor, device: Device): Device {
  if (latest === undefined) return device
  const { firmware } = device
  const job = grantedJob(firmware)
  // A rollback keeps a progress of its own.
  if (job === undefined || job.back !== undefined || !isOf(latest, job)) return device
  if (job.progress === latest.percent) return device
  const jobs = firmware.jobs.map((each) => (each === job ? { ...job, progress: latest.percent } : each))
  return { ...device, firmware: { ...firmware, jobs } }
}

/** The last progress heard of the job's current attempt, if any. */
export function progressOf({ latestProgress: latest }: Actor, job: Job | undefined): number | undefined {
  return latest !== undefined && job !== undefined && isOf(latest, job) ? latest.percent : undefined
}

export const attemptOf = ({ attempt, back }: Job) => back?.attempt ?? attempt

function isOf({ id, attempt }: NonNullable<Actor['latestProgress']>, job: Job): boolean {
  return id === job.plan.deploymentId && attempt === attemptOf(job)
}
