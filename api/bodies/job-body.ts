// A device's part in a deployment, in REST and /ws.
import type { Job } from '../../engine/domain/ota/job.ts'
import type { FeedEvent } from '../../engine/ports/feed.ts'
import { type DeviceId, toIso } from '../../schemas/ids.ts'
import type { HeldReason } from '../../schemas/vocabulary.ts'
import { isoOrNull } from './iso-or-null.ts'

/** `unreportedBytes` is the number of bytes sent that the job does not include yet. */
export function jobBody(deviceId: DeviceId, job: Job, held?: HeldReason | undefined, unreportedBytes = 0) {
  const { plan, error, back } = job
  return {
    deployment_id: plan.deploymentId,
    device_id: deviceId,
    status: job.status,
    held_reason: held ?? job.waitsFor ?? null,
    attempt: back?.attempt ?? job.attempt,
    progress: job.progress ?? null,
    bytes_sent: job.bytesSent + unreportedBytes,
    from_version: job.fromVersion ?? null,
    to_version: plan.goal.version,
    deferred_until: job.waitsFor === 'deferred' ? isoOrNull(job.notBefore) : null,
    error: error === undefined ? null : { code: error.code, message: error.message },
    late: job.late,
    rollback_status: back?.status ?? null,
    notified_at: isoOrNull(job.notifiedAt),
    downloading_at: isoOrNull(job.downloadingAt),
    downloaded_at: isoOrNull(job.downloadedAt),
    installing_at: isoOrNull(job.installingAt),
    rebooting_at: isoOrNull(job.rebootingAt),
    confirming_at: isoOrNull(job.confirmingAt),
    finished_at: isoOrNull(job.finishedAt),
    next_attempt_at: job.waitsFor === 'backoff' ? isoOrNull(job.notBefore) : null,
    created_at: toIso(job.createdAt),
  }
}

export function jobEventBody({ deviceId, job, previous }: Extract<FeedEvent, { kind: 'job' }>) {
  const { plan, status, waitsFor, attempt, progress, error } = job
  return {
    deployment_id: plan.deploymentId,
    device_id: deviceId,
    status,
    previous: previous ?? null,
    held_reason: waitsFor ?? null,
    attempt,
    progress: progress ?? null,
    error: error === undefined ? null : { code: error.code, message: error.message },
  }
}
