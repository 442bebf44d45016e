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
  grantedJob,
  jobOf,
  queuedJobs,
  unblock,
  withReach,
  withVersion,
} from '../ota/firmware-jobs.ts'
import type { Firmware } from '../ota/firmware-part.ts'
import { type Job, type JobGoal, type JobPlan, newJob } from '../ota/job.ts'
import { expireJob } from '../ota/job-deadline.ts'
import { type JobMessage, nextJobMessage, refreshJobMessage } from '../ota/job-messages.ts'
import {
  abandonJob,
  cancelJob,
  grantJob,
  markRolledBack,
  moveJob,
  restartDownloadTimer,
  retryJob,
  rollBackJob,
} from '../ota/job-moves.ts'
import { reportJob } from '../ota/job-report.ts'
import { applyStatusReport, endJobSession, type StatusReport } from '../ota/job-sessions.ts'
import { jobActions } from '../ota/job-table.ts'
import type { OtaReport } from '../ota/ota-report.ts'
import type { Effect, Outcome } from './events.ts'
import type { OtaEvent, OtaRequest } from './ota-requests.ts'
import type { Device } from './record.ts'

export function applyOtaRequest(device: Device, request: OtaRequest, now: Millis): Outcome {
  const { firmware } = device
  switch (request.kind) {
    case 'ota_enlist':
      return enlist(device, request.plan, now)
    case 'ota_grant':
      return grant(device, request, now)
    case 'ota_cancel':
      return applyJobs(
        device,
        changeJob(firmware, { id: request.deploymentId, now }, (job) => cancelJob(job, request.code, now)),
      )
    case 'ota_retry':
      return retry(device, request.deploymentId, now)
    case 'ota_roll_back':
      // A device that is working on another job rolls back after that job has ended.
      if ((grantedJob(firmware)?.plan.deploymentId ?? request.deploymentId) !== request.deploymentId)
        return { device, effects: [] }
      return applyJobs(
        device,
        changeJob(firmware, { id: request.deploymentId, now }, (job) => rollBackJob(job, request.goal, now)),
      )
    case 'ota_began':
      return applyJobs(
        device,
        changeJobs(firmware, now, (job) =>
          job.plan.deploymentId === request.deploymentId && job.isGranted
            ? moveJob(job, 'download', now)
            : job,
        ),
      )
    case 'ota_refused':
      return applyJobs(
        device,
        changeJobs(firmware, now, (job) =>
          job.plan.deploymentId === request.deploymentId ? restartDownloadTimer(job, now) : job,
        ),
      )
    case 'ota_sent':
      return applyJobs(
        device,
        changeJob(firmware, { id: request.deploymentId, now }, (job) => ({
          ...job,
          bytesSent: job.bytesSent + request.bytes,
        })),
      )
    case 'ota_unblock':
      return applyJobs(device, { firmware: unblock(firmware, request.firmwareId), moves: [] })
  }
}

export function applyOtaEvent(device: Device, event: OtaEvent, now: Millis): Outcome {
  const { firmware } = device
  switch (event.kind) {
    case 'ota_reported':
      return applyReport(device, event, now)
    case 'ota_delivered':
      return applyJobs(
        device,
        changeJobs(firmware, now, (job) => delivered(job, event.deploymentId, now)),
      )
    case 'ota_session': {
      const { own } = event
      const moved = changeJobs(firmware, now, (job) =>
        own === undefined ? job : endJobSession(job, own, now),
      )
      const known = changeEachJob(moved.firmware, now, (job) => withReach(job, event.isReachable, now))
      return applyJobs(device, { firmware: known.firmware, moves: moved.moves })
    }
    case 'ota_overdue':
      return applyJobs(
        device,
        changeEachJob(firmware, now, (job) =>
          expireJob(job, now, { ...event, version: device.firmwareVersion }),
        ),
      )
  }
}

/** Stores what the device reports to be running. The jobs are handled by `proveJobs`. */
export function withReportedImage(
  device: Device,
  report: StatusReport & { readonly bootId: string | undefined },
  now: Millis,
): Device {
  const { version, sha256, bootId } = report
  const { firmware } = device
  const isNewVersion = version !== undefined && version !== device.firmwareVersion
  // Another spelling of the same version is not a version to roll back to.
  const isUpdate = isNewVersion && !isSameVersion(version, device.firmwareVersion)
  const moved = isUpdate
    ? withVersion(firmware, { from: device.firmwareVersion, to: version, now })
    : firmware
  const isSame = moved.sha256 === (sha256 ?? moved.sha256) && moved.bootId === (bootId ?? moved.bootId)
  if (!isNewVersion && isSame) return device
  const hasRestarted = moved.bootId !== undefined && bootId !== undefined && bootId !== moved.bootId
  const ids = { sha256: sha256 ?? moved.sha256, bootId: bootId ?? moved.bootId }
  const former = hasRestarted ? { formerBootId: moved.bootId } : {}
  return {
    ...device,
    firmwareVersion: version ?? device.firmwareVersion,
    firmware: isSame ? moved : { ...moved, ...ids, ...former },
  }
}

/** Applies what the device reports to be running to its jobs. */
export function proveJobs(device: Device, report: StatusReport, now: Millis): Outcome {
  if (device.firmware.jobs.length === 0) return { device, effects: [] }
  const isFaulty = device.status === 'error'
  const change = changeJobs(device.firmware, now, (job) =>
    isFaulty ? job : applyStatusReport(job, report, now),
  )
  // A device that is already back on its old version does not need a rollback.
  const back = changeEachJob(change.firmware, now, (job) =>
    job.rollback === 'due' && isSameVersion(job.fromVersion, report.version) ? markRolledBack(job, now) : job,
  )
  const after = applyJobs(device, { firmware: back.firmware, moves: [...change.moves, ...back.moves] })
  return nameVersion(after, report, now)
}

/** A device that reports the hash of its image but no version runs the version of the job that the hash proved. */
function nameVersion(outcome: Outcome, { version, sha256 }: StatusReport, now: Millis): Outcome {
  if (version !== undefined || sha256 === undefined) return outcome
  const proofs = outcome.device.firmware.jobs
    .flatMap((job) => [job, job.back])
    .filter((job) => job?.isProved === true && job.plan.goal.sha256 === sha256.toLowerCase())
  const proof = proofs.at(-1)
  return proof === undefined ? outcome : withRunningVersion(outcome, proof.plan.goal, now)
}

/** The device runs this version, which it does not name itself. */
export function withRunningVersion(
  { device, effects }: Outcome,
  { reportsAs: to }: JobGoal,
  now: Millis,
): Outcome {
  const from = device.firmwareVersion
  if (isSameVersion(from, to)) return { device, effects }
  const firmware = withVersion(device.firmware, { from, to, now })
  return {
    device: { ...device, firmware, firmwareVersion: to, updatedAt: now, revision: device.revision + 1 },
    effects: [...effects, { kind: 'announce', event: 'device.updated' }],
  }
}

/** Applies faults to the jobs that are waiting for the device to stay healthy. */
export function applyFaults(device: Device, now: Millis): Outcome {
  if (device.firmware.jobs.length === 0) return { device, effects: [] }
  return applyJobs(
    device,
    changeJobs(device.firmware, now, (job) =>
      job.status === 'confirming' ? endJobSession(job, 'lost', now) : job,
    ),
  )
}

/** Ends the jobs of a device that was decommissioned. */
export function abandonJobs(device: Device, now: Millis): Outcome {
  if (device.firmware.jobs.length === 0) return { device, effects: [] }
  return applyJobs(
    device,
    changeEachJob(device.firmware, now, (job) => abandonJob(job, now)),
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
    const message = nextJobMessage(job, context)
    if (message !== undefined) return toSendOutcome(device, job, message)
  }
  return { device, effects: [] }
}

function toSendOutcome(device: Device, before: Job, { job, send }: JobMessage): Outcome {
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

/** Gives the job a slot if it is the next one of the device. */
function grant(device: Device, request: Extract<OtaRequest, { kind: 'ota_grant' }>, now: Millis): Outcome {
  const { deploymentId: id, number, notAfter } = request
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
  const change = changeJob(device.firmware, { id, now }, (each) => retryJob(each, now))
  if (change.firmware === device.firmware)
    return refuse(device, 'INVALID_STATE_TRANSITION', {
      message: `the update of this device is ${job.status}: one that failed, timed out or was rejected is tried again`,
      ...{ from: job.status, to: 'pending', allowed: jobActions(job.status) },
    })
  return applyJobs(device, change)
}

function applyReport(
  device: Device,
  { report, session }: { readonly report: OtaReport; readonly session: Micros | undefined },
  now: Millis,
): Outcome {
  const { firmware } = device
  const job = jobOf(firmware, report.deploymentId)
  if (job === undefined) return { device, effects: [] }
  if (report.word === 'refresh') {
    const message = refreshJobMessage(job, now)
    return message === undefined ? { device, effects: [] } : toSendOutcome(device, job, message)
  }
  const running = { version: device.firmwareVersion, sha256: firmware.sha256 }
  const outcome = applyJobs(
    device,
    changeJobs(firmware, now, (each) =>
      each.plan.deploymentId === report.deploymentId
        ? reportJob(each, report, { now, running, session })
        : each,
    ),
  )
  // If a report is enough of a proof, the device may report the new version on `status` later, or never.
  const proof = provedJob(jobOf(outcome.device.firmware, report.deploymentId))
  const isKnown = proof === undefined || proof.plan === provedJob(job)?.plan
  return isKnown ? outcome : withRunningVersion(outcome, proof.plan.goal, now)
}

/** The job, or its rollback, that proved what the device runs. */
const provedJob = (job: Job | undefined) => [job?.back, job].find((each) => each?.isProved === true)

function delivered(job: Job, id: DeploymentId | string, now: Millis): Job {
  if (job.plan.deploymentId !== id) return job
  if (job.notice !== undefined) return { ...job, notice: undefined }
  return job.isGranted && job.telling.sends > 0 && job.status === 'pending'
    ? moveJob(job, 'notify', now)
    : job
}

function changeEachJob(firmware: Firmware, now: Millis, change: (job: Job) => Job): FirmwareChange {
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
