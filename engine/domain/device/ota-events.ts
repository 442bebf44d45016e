// The events of a device's firmware jobs, as outcomes of its actor.
import type { DeploymentId, Micros, Millis } from '../../../schemas/ids.ts'
import { isSameVersion } from '../../../schemas/same-version.ts'
import { LIMITS } from '../../limits.ts'
import {
  activeJob,
  addJob,
  changeJob,
  changeJobs,
  type FirmwareChange,
  jobAtWork,
  jobOf,
  queuedJobs,
  unblock,
  withReach,
  withVersion,
} from '../ota/firmware-jobs.ts'
import type { Firmware } from '../ota/firmware-part.ts'
import { type Job, type JobGoal, type JobPlan, newJob } from '../ota/job.ts'
import { expireJob } from '../ota/job-deadline.ts'
import { beginAgain, cameBack, cancelJob, grantJob, moveJob, rollBackJob, waitJob } from '../ota/job-moves.ts'
import { reportJob } from '../ota/job-report.ts'
import { describeJob, type StatusReport, sessionOver } from '../ota/job-sessions.ts'
import { isEarly, jobActions } from '../ota/job-table.ts'
import { type OtaSend, refreshJob, tellJob } from '../ota/job-telling.ts'
import type { OtaReport } from '../ota/ota-report.ts'
import type { Effect, Outcome } from './events.ts'
import type { OtaEvent, OtaRequest } from './ota-requests.ts'
import type { Device } from './record.ts'

export function otaRequested(device: Device, wish: OtaRequest, now: Millis): Outcome {
  const { firmware } = device
  switch (wish.kind) {
    case 'ota_enlist':
      return enlist(device, wish.plan, now)
    case 'ota_grant':
      return grant(device, wish, now)
    case 'ota_cancel':
      return applyJobs(
        device,
        changeJob(firmware, { id: wish.deploymentId, now }, (job) => cancelJob(job, wish.code, now)),
      )
    case 'ota_retry':
      return retry(device, wish.deploymentId, now)
    case 'ota_roll_back':
      // A device that is working on another job rolls back after that job has ended.
      if ((jobAtWork(firmware)?.plan.deploymentId ?? wish.deploymentId) !== wish.deploymentId)
        return { device, effects: [] }
      return applyJobs(
        device,
        changeJob(firmware, { id: wish.deploymentId, now }, (job) => rollBackJob(job, wish.goal, now)),
      )
    case 'ota_began':
      return applyJobs(
        device,
        changeJobs(firmware, now, (job) =>
          job.plan.deploymentId === wish.deploymentId && job.isGranted ? moveJob(job, 'download', now) : job,
        ),
      )
    case 'ota_refused':
      return applyJobs(
        device,
        changeJobs(firmware, now, (job) =>
          job.plan.deploymentId === wish.deploymentId ? waitJob(job, now) : job,
        ),
      )
    case 'ota_sent':
      return applyJobs(
        device,
        changeJob(firmware, { id: wish.deploymentId, now }, (job) => ({
          ...job,
          bytesSent: job.bytesSent + wish.bytes,
        })),
      )
    case 'ota_unblock':
      return applyJobs(device, { firmware: unblock(firmware, wish.firmwareId), moves: [] })
  }
}

export function otaHappened(device: Device, event: OtaEvent, now: Millis): Outcome {
  const { firmware } = device
  switch (event.kind) {
    case 'ota_reported':
      return reported(device, event, now)
    case 'ota_delivered':
      return applyJobs(
        device,
        changeJobs(firmware, now, (job) => delivered(job, event.deploymentId, now)),
      )
    case 'ota_session': {
      const { own } = event
      const moved = changeJobs(firmware, now, (job) => (own === undefined ? job : sessionOver(job, own, now)))
      const known = replaceWhole(moved.firmware, now, (job) => withReach(job, event.isReachable, now))
      return applyJobs(device, { firmware: known.firmware, moves: moved.moves })
    }
    case 'ota_overdue':
      return applyJobs(
        device,
        replaceWhole(firmware, now, (job) =>
          expireJob(job, now, { ...event, version: device.firmwareVersion }),
        ),
      )
  }
}

/** Stores what the device reports to be running. The jobs are handled by `proved`. */
export function described(
  device: Device,
  said: StatusReport & { readonly bootId: string | undefined },
  now: Millis,
): Device {
  const { version, sha256, bootId } = said
  const { firmware } = device
  const isMoved = version !== undefined && version !== device.firmwareVersion
  // Another spelling of the same version is not a version to roll back to.
  const isOther = isMoved && !isSameVersion(version, device.firmwareVersion)
  const moved = isOther ? withVersion(firmware, { from: device.firmwareVersion, to: version, now }) : firmware
  const isSame = moved.sha256 === (sha256 ?? moved.sha256) && moved.bootId === (bootId ?? moved.bootId)
  if (!isMoved && isSame) return device
  const hasRestarted = moved.bootId !== undefined && bootId !== undefined && bootId !== moved.bootId
  const told = { sha256: sha256 ?? moved.sha256, bootId: bootId ?? moved.bootId }
  const former = hasRestarted ? { formerBootId: moved.bootId } : {}
  return {
    ...device,
    firmwareVersion: version ?? device.firmwareVersion,
    firmware: isSame ? moved : { ...moved, ...told, ...former },
  }
}

/** Applies what the device reports to be running to its jobs. */
export function proved(device: Device, said: StatusReport, now: Millis): Outcome {
  if (device.firmware.jobs.length === 0) return { device, effects: [] }
  const isFaulty = device.status === 'error'
  const change = changeJobs(device.firmware, now, (job) => (isFaulty ? job : describeJob(job, said, now)))
  // A device that is already back on its old version does not need a rollback.
  const back = replaceWhole(change.firmware, now, (job) =>
    job.rollback === 'due' && isSameVersion(job.fromVersion, said.version) ? cameBack(job, now) : job,
  )
  const after = applyJobs(device, { firmware: back.firmware, moves: [...change.moves, ...back.moves] })
  return named(after, said, now)
}

/** A device that reports the hash of its image but no version runs the version of the job that the hash proved. */
function named(outcome: Outcome, { version, sha256 }: StatusReport, now: Millis): Outcome {
  if (version !== undefined || sha256 === undefined) return outcome
  const proofs = outcome.device.firmware.jobs
    .flatMap((job) => [job, job.back])
    .filter((job) => job?.isProved === true && job.plan.goal.sha256 === sha256.toLowerCase())
  const proof = proofs.at(-1)
  return proof === undefined ? outcome : running(outcome, proof.plan.goal, now)
}

/** The device runs this version, which it does not name itself. */
export function running({ device, effects }: Outcome, { reportsAs: to }: JobGoal, now: Millis): Outcome {
  const from = device.firmwareVersion
  if (isSameVersion(from, to)) return { device, effects }
  const firmware = withVersion(device.firmware, { from, to, now })
  return {
    device: { ...device, firmware, firmwareVersion: to, updatedAt: now, revision: device.revision + 1 },
    effects: [...effects, { kind: 'announce', event: 'device.updated' }],
  }
}

/** Applies faults to the jobs that are waiting for the device to stay healthy. */
export function faulted(device: Device, now: Millis): Outcome {
  if (device.firmware.jobs.length === 0) return { device, effects: [] }
  return applyJobs(
    device,
    changeJobs(device.firmware, now, (job) =>
      job.status === 'confirming' ? sessionOver(job, 'lost', now) : job,
    ),
  )
}

/** Ends the jobs of a device that was decommissioned. */
export function abandonJobs(device: Device, now: Millis): Outcome {
  if (device.firmware.jobs.length === 0) return { device, effects: [] }
  return applyJobs(
    device,
    replaceWhole(device.firmware, now, (job) => {
      const gone = isEarly(job.status) ? cancelJob(job, 'DECOMMISSIONED', now) : job
      return { ...gone, notice: undefined, rollback: undefined }
    }),
  )
}

/** Runs after every event. Sends the message that is due, if a live session takes it. */
export function sendOta(
  device: Device,
  context: { readonly session: Micros | undefined; readonly now: Millis },
): Outcome {
  const { firmware, status } = device
  if (status === 'decommissioned') return { device, effects: [] }
  for (const job of firmware.jobs) {
    const told = tellJob(job, context)
    if (told !== undefined) return sent(device, job, told)
  }
  return { device, effects: [] }
}

function sent(
  device: Device,
  before: Job,
  { job, send }: { readonly job: Job; readonly send: Omit<OtaSend, 'seq'> },
): Outcome {
  const { firmware } = device
  const seq = firmware.seq + 1
  const jobs = firmware.jobs.map((each) => (each === before ? job : each))
  return {
    device: { ...device, firmware: { ...firmware, seq, jobs } },
    effects: [{ kind: 'ota', send: { ...send, seq } }],
  }
}

function enlist(device: Device, plan: JobPlan, now: Millis): Outcome {
  const { firmware } = device
  if (jobOf(firmware, plan.deploymentId) !== undefined) return { device, effects: [] }
  if (queuedJobs(firmware) >= LIMITS.jobsQueuedMax)
    return refuse(device, 'COMMAND_QUEUE_FULL', { message: 'too many firmware jobs wait for this device' })
  // Whether the device is reachable follows immediately as an event of its own.
  const about = { createdAt: now, fromVersion: device.firmwareVersion, awaySince: undefined }
  return applyJobs(device, addJob(firmware, newJob(plan, about)))
}

/** Gives a place to a job if it is this job's turn. */
function grant(device: Device, wish: Extract<OtaRequest, { kind: 'ota_grant' }>, now: Millis): Outcome {
  const { deploymentId: id, number, notAfter } = wish
  if (activeJob(device.firmware, now)?.plan.deploymentId !== id) return { device, effects: [] }
  if (device.status === 'maintenance') return { device, effects: [] }
  return applyJobs(
    device,
    changeJob(device.firmware, { id, now }, (job) => {
      const granted = grantJob(job, { number, notAfter, now })
      if (granted === job) return job
      return {
        ...granted,
        // After the first try, the running version may be a result of that try, so it is not a version to roll back to.
        fromVersion: job.tries === 0 ? device.firmwareVersion : (job.fromVersion ?? device.firmwareVersion),
        wasInError: device.status === 'error',
      }
    }),
  )
}

function retry(device: Device, id: DeploymentId, now: Millis): Outcome {
  const job = jobOf(device.firmware, id)
  if (job === undefined) return refuse(device, 'NOT_FOUND', { message: 'the device has no such job' })
  const change = changeJob(device.firmware, { id, now }, (each) => beginAgain(each, now))
  if (change.firmware === device.firmware)
    return refuse(device, 'INVALID_STATE_TRANSITION', {
      message: `the update of this device is ${job.status}: one that failed, timed out or was rejected is tried again`,
      ...{ from: job.status, to: 'pending', allowed: jobActions(job.status) },
    })
  return applyJobs(device, change)
}

function reported(
  device: Device,
  { report, session }: { readonly report: OtaReport; readonly session: Micros | undefined },
  now: Millis,
): Outcome {
  const { firmware } = device
  const job = jobOf(firmware, report.deploymentId)
  if (job === undefined) return { device, effects: [] }
  if (report.word === 'refresh') {
    const again = refreshJob(job, now)
    return again === undefined ? { device, effects: [] } : sent(device, job, again)
  }
  const said = { version: device.firmwareVersion, sha256: firmware.sha256 }
  const outcome = applyJobs(
    device,
    changeJobs(firmware, now, (each) =>
      each.plan.deploymentId === report.deploymentId ? reportJob(each, report, { now, said, session }) : each,
    ),
  )
  // Where a report is proof, `status` may say the new version later, or never.
  const proof = proofIn(jobOf(outcome.device.firmware, report.deploymentId))
  const isKnown = proof === undefined || proof.plan === proofIn(job)?.plan
  return isKnown ? outcome : running(outcome, proof.plan.goal, now)
}

/** The job, or its way back, that proved what the device runs. */
const proofIn = (job: Job | undefined) => [job?.back, job].find((each) => each?.isProved === true)

function delivered(job: Job, id: DeploymentId | string, now: Millis): Job {
  if (job.plan.deploymentId !== id) return job
  if (job.notice !== undefined) return { ...job, notice: undefined }
  return job.isGranted && job.telling.sends > 0 && job.status === 'pending'
    ? moveJob(job, 'notify', now)
    : job
}

function replaceWhole(firmware: Firmware, now: Millis, change: (job: Job) => Job): FirmwareChange {
  let next: FirmwareChange = { firmware, moves: [] }
  for (const { plan } of firmware.jobs) {
    const one = changeJob(next.firmware, { id: plan.deploymentId, now }, change)
    next = { firmware: one.firmware, moves: [...next.moves, ...one.moves] }
  }
  return next
}

/** Applies changed jobs to the device, with the effects that announce them. */
export function applyJobs(device: Device, { firmware, moves }: FirmwareChange): Outcome {
  if (firmware === device.firmware) return { device, effects: [] }
  const effects = moves.map(({ job, previous }): Effect => ({ kind: 'job_moved', job, previous }))
  return { device: { ...device, firmware }, effects }
}

export function refuse(
  device: Device,
  code: Extract<Effect, { kind: 'refuse' }>['code'],
  detail: Readonly<Record<string, unknown>>,
): Outcome {
  return { device, effects: [{ kind: 'refuse', code, detail }] }
}
