// What a device does over hawkBit's device API (DDI), as outcomes of its actor.
import { Millis } from '../../../schemas/ids.ts'
import { isObject, type JsonObject } from '../../../schemas/json.ts'
import { LIMITS } from '../../limits.ts'
import { type DdiAct, ddiJob, ddiNumber, isDdiEnded, isOffered } from '../ota/ddi.ts'
import { changeJob, changeJobs } from '../ota/firmware-jobs.ts'
import { type Job, NOT_SENT } from '../ota/job.ts'
import { deferJob, moveJob } from '../ota/job-moves.ts'
import { reportJob } from '../ota/job-report.ts'
import type { Outcome } from './events.ts'
import { metadataTooLarge } from './metadata-bound.ts'
import { applyJobs, refuse, withRunningVersion } from './ota-events.ts'
import type { Device } from './record.ts'

type Configure = Extract<DdiAct, { kind: 'configure' }>
type Report = Extract<DdiAct, { kind: 'report' }>

export function applyDdiAct(device: Device, act: Exclude<DdiAct, Configure>, now: Millis): Outcome {
  if (act.kind === 'poll') return { device, effects: [] }
  const job = ddiJob(device.firmware, act.number)
  if (job === undefined) return refuse(device, 'NOT_FOUND', { message: 'the device has no such action' })
  if (act.kind === 'stopped') return acknowledgeCancel(device, job, now)
  if (isDdiEnded(job))
    return refuse(device, 'INVALID_STATE_TRANSITION', {
      message: `the action has ended: it is ${job.status}`,
      ...{ from: job.status, to: job.status, allowed: [] },
    })
  const changed = applyJobs(
    device,
    changeJobs(device.firmware, now, (each) => {
      if (ddiNumber(each) !== act.number || !isOffered(each)) return each
      const seen = markFetched(each, now)
      return act.kind === 'read' ? seen : applyReport(seen, act, { device, now })
    }),
  )
  const after = ddiJob(changed.device.firmware, act.number)
  // A device that reported a successful installation is taken to run that image, until it reports something else.
  return after?.status === 'confirming' && after.isProved
    ? withRunningVersion(changed, after.plan.goal, now)
    : changed
}

/** Stores the attributes that a device reports in its metadata. */
export function withAttributes(device: Device, { mode, attributes }: Configure, now: Millis): Outcome {
  const { ddi: before } = device.metadata
  const previous: JsonObject = mode === 'replace' || !isObject(before) ? {} : before
  const names = new Set(Object.keys(attributes))
  const ddi =
    mode === 'remove'
      ? Object.fromEntries(Object.entries(previous).filter(([name]) => !names.has(name)))
      : { ...previous, ...attributes }
  const metadata = { ...device.metadata, ddi }
  const tooLarge = metadataTooLarge(metadata)
  if (tooLarge !== undefined) return refuse(device, 'PAYLOAD_TOO_LARGE', tooLarge)
  const configured = { ...device, firmware: { ...device.firmware, configuredAt: now } }
  if (JSON.stringify(before) === JSON.stringify(ddi)) return { device: configured, effects: [] }
  return {
    device: { ...configured, metadata, updatedAt: now, revision: device.revision + 1 },
    effects: [{ kind: 'announce', event: 'device.updated' }],
  }
}

/** The device has fetched the job, so a cancellation must be announced to it. Its proof is a report, because it has no
 *  sessions. */
function markFetched(job: Job, now: Millis): Job {
  const { plan, telling } = job
  const seen: Job = {
    ...job,
    plan: plan.proof === 'report' ? plan : { ...plan, proof: 'report' },
    telling: telling.sends > 0 ? telling : { ...NOT_SENT, sends: 1, sentAt: now },
  }
  const isNew = seen.plan !== plan || seen.telling !== telling
  return moveJob(isNew ? seen : job, 'notify', now)
}

/** A success is confirmed only after the device has had time to report another version. */
function applyReport(
  job: Job,
  act: Report,
  { device, now }: { readonly device: Device; readonly now: Millis },
): Job {
  const { word, progress, error } = act
  if (word === 'succeeded') return moveJob(job, 'confirm', now, { isProved: true })
  if (word === 'deferred') return deferJob(job, Millis(now + LIMITS.ddiDeferMs), now)
  // Some clients send this while they still download.
  const hasLoaded = job.downloadingAt !== undefined || job.downloadedAt !== undefined
  if (word === 'installing' && !hasLoaded) return { ...job, progress: progress ?? job.progress }
  const { deploymentId } = job.plan
  const report = {
    deploymentId,
    attempt: undefined,
    word,
    progress,
    version: undefined,
    error,
    until: undefined,
  }
  const running = { version: device.firmwareVersion, sha256: device.firmware.sha256 }
  return reportJob(job, report, { now, running, session: undefined })
}

function acknowledgeCancel(device: Device, { plan }: Job, now: Millis): Outcome {
  const id = plan.deploymentId
  return applyJobs(
    device,
    changeJob(device.firmware, { id, now }, (job) =>
      job.notice === undefined ? job : { ...job, notice: undefined },
    ),
  )
}
