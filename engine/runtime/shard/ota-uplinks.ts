// A device's messages about its firmware: which one it runs, and how an update proceeds. Each of them acts once.
import type { Ack } from '../../domain/command/ack-message.ts'
import type { StatusMessage } from '../../domain/device/status-message.ts'
import { jobOf } from '../../domain/ota/firmware-jobs.ts'
import type { Job } from '../../domain/ota/job.ts'
import type { StatusReport } from '../../domain/ota/job-sessions.ts'
import { type OtaReport, readOtaStatus, reportOfAck } from '../../domain/ota/ota-report.ts'
import { LIMITS } from '../../limits.ts'
import type { Actor } from './actor.ts'
import type { Batch } from './batch.ts'
import { type Incoming, timeOf } from './incoming.ts'
import { attemptOf, progressOf } from './latest-progress.ts'

export function applyOtaStatus(actor: Actor, incoming: Incoming, batch: Batch): void {
  const message = readOtaStatus(incoming.item.payload, timeOf(incoming))
  if (message.kind === 'malformed') {
    batch.counts.refused++
    batch.open.park(incoming, 'MALFORMED_OTA_STATUS', message.detail)
  } else if (message.kind === 'ignored') batch.counts.ignored++
  else if (incoming.isNew) report(actor, message.report, incoming, batch)
}

/** Applies the answer if it is about a deployment. Returns false if it is about a command. */
export function answersJob(actor: Actor, ack: Ack, incoming: Incoming, batch: Batch): boolean {
  const { firmware } = batch.decisions.deviceOf(actor)
  if (firmware.jobs.length === 0 || jobOf(firmware, ack.requestId) === undefined) return false
  report(actor, reportOfAck(ack), incoming, batch)
  return true
}

export function applyDescription(
  actor: Actor,
  said: Extract<StatusMessage, { kind: 'said' }> & Pick<StatusReport, 'mayBeOld'>,
  incoming: Incoming,
  batch: Batch,
): void {
  const { firmwareVersion: version, firmwareSha256: sha256, bootId, mayBeOld } = said
  if (version === undefined && sha256 === undefined && bootId === undefined) return
  const { bootId: known, formerBootId } = batch.decisions.deviceOf(actor).firmware
  const boot = bootId === undefined ? 'unsaid' : known !== undefined && known !== bootId ? 'changed' : 'same'
  const isDirect = incoming.item.via.length === 0
  const session = isDirect ? actor.session?.number : undefined
  // A restart ends all connections. So this status is from before the restart: it was not acknowledged and came again.
  const isOld = boot === 'changed' && bootId === formerBootId
  if (isOld && session !== undefined && session === actor.bootReportedIn) return
  if (bootId !== undefined) actor.bootReportedIn = session
  batch.decisions.decide(
    actor,
    { kind: 'described', report: { version, sha256, bootId, boot, mayBeOld, session } },
    timeOf(incoming),
  )
}

/** Progress alone changes no record. It is told on the feed and kept with the next change (U8). */
function report(actor: Actor, said: OtaReport, incoming: Incoming, batch: Batch): void {
  const now = timeOf(incoming)
  const before = batch.decisions.deviceOf(actor)
  const session = actor.session?.number
  const job = jobOf(before.firmware, said.deploymentId)
  const { progress = progressOf(actor, job) } = said
  const after = batch.decisions.decide(
    actor,
    { kind: 'ota_reported', report: { ...said, progress }, session },
    now,
  )
  if (after !== before) {
    if (jobOf(after.firmware, said.deploymentId)?.progress === said.progress) actor.latestProgress = undefined
    batch.counts.stored++
    return
  }
  const isProgress = said.progress !== undefined && job?.isGranted === true && isOfAttempt(said, job)
  if (isProgress)
    actor.latestProgress = { id: said.deploymentId, attempt: attemptOf(job), percent: said.progress }
  if (!isProgress || (actor.progressPublishedAt ?? 0) + LIMITS.otaProgressMs > now) {
    batch.counts.ignored++
    return
  }
  actor.progressPublishedAt = now
  batch.counts.stored++
  batch.open.feed.push({
    kind: 'job',
    event: 'deployment.device',
    deviceId: before.id,
    at: now,
    previous: job.status,
    job: { ...job, progress: said.progress },
  })
}

function isOfAttempt({ attempt }: OtaReport, job: Job): boolean {
  return attempt === undefined || attempt === attemptOf(job)
}
