// A device's part in a deployment, in REST and /ws.
import type { Job } from '../../engine/domain/ota/job.ts'
import type { FeedEvent } from '../../engine/ports/feed.ts'
import { type DeviceId, type Millis, toIso } from '../../schemas/ids.ts'
import type { HeldReason } from '../../schemas/vocabulary.ts'

/** `untold` is the number of bytes sent that the job does not include yet. */
export function jobBody(deviceId: DeviceId, job: Job, held?: HeldReason | undefined, untold = 0) {
  const { plan, error, back } = job
  return {
    deployment_id: plan.deploymentId,
    device_id: deviceId,
    status: job.status,
    held_reason: held ?? job.waitsFor ?? null,
    attempt: back?.attempt ?? job.attempt,
    progress: job.progress ?? null,
    bytes_sent: job.bytesSent + untold,
    from_version: job.fromVersion ?? null,
    to_version: plan.goal.version,
    deferred_until: job.waitsFor === 'deferred' ? at(job.notBefore) : null,
    error: error === undefined ? null : { code: error.code, message: error.message },
    late: job.late,
    rollback_status: back?.status ?? null,
    notified_at: at(job.notifiedAt),
    downloading_at: at(job.downloadingAt),
    downloaded_at: at(job.downloadedAt),
    installing_at: at(job.installingAt),
    rebooting_at: at(job.rebootingAt),
    confirming_at: at(job.confirmingAt),
    finished_at: at(job.finishedAt),
    next_attempt_at: job.waitsFor === 'backoff' ? at(job.notBefore) : null,
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

function at(time: Millis | undefined): string | null {
  return time === undefined ? null : toIso(time)
}
