// A deployment of firmware in REST and /ws.
import type { Deployment } from '../../engine/domain/ota/deployment.ts'
import { ruleOf } from '../../engine/domain/ota/stage-gate.ts'
import type { DeploymentEvent, DeploymentState, MemberJob } from '../../engine/ports/deployments.ts'
import type { DeploymentBody, JobBody } from '../../schemas/deployment.ts'
import { type DeploymentId, toIso } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { JobStatus } from '../../schemas/vocabulary.ts'
import { isoOrNull } from './iso-or-null.ts'
import { jobBody } from './job-body.ts'
import { canaryBody, stageRuleBody } from './stage-body.ts'

export function deploymentBody({ deployment, held, window }: DeploymentState): DeploymentBody {
  const { spec, firmware } = deployment
  return {
    deployment_id: deployment.id,
    name: spec.name ?? null,
    kind: deployment.kind,
    status: deployment.status,
    status_reason: deployment.statusReason ?? null,
    firmware_version: firmware.version,
    firmware_id: firmware.id,
    device_type: firmware.deviceType,
    firmware: {
      firmware_id: firmware.id,
      version: firmware.version,
      device_type: firmware.deviceType,
      reports_as: firmware.reportsAs,
      sha256: firmware.sha256,
      size_bytes: firmware.sizeBytes,
      filename: firmware.filename,
    },
    ...specBody(deployment),
    total: deployment.total,
    progress: progressBody(deployment),
    stage: deployment.stage,
    stages: deployment.stages.map((stage, index) => ({
      index,
      total: stage.total,
      succeeded: stage.succeeded,
      failed: stage.failed,
      state: stage.state,
      since: toIso(stage.since),
      started_at: stage.state === 'waiting' ? null : toIso(stage.startedAt),
      ...stageRuleBody(ruleOf(spec, index)),
    })),
    window,
    held: { ...held },
    skipped: { ...deployment.skipped },
    // Built from plain values.
    evidence: deployment.evidence as JsonObject,
    created_by: deployment.createdBy,
    created_at: toIso(deployment.createdAt),
    started_at: isoOrNull(deployment.startedAt),
    paused_at: isoOrNull(deployment.pausedAt),
    aborted_at: isoOrNull(deployment.abortedAt),
    finished_at: isoOrNull(deployment.finishedAt),
    deadline_at: toIso(deployment.deadlineAt),
    etag: String(deployment.revision),
  }
}

export function memberBody(id: DeploymentId, member: MemberJob, unreportedBytes = 0): JobBody {
  if (member.kind === 'job')
    return { ...jobBody(member.deviceId, member.job, member.held, unreportedBytes), reason: null }
  const isSkipped = member.kind === 'skipped'
  return {
    ...NO_JOB,
    deployment_id: id,
    device_id: member.deviceId,
    status: isSkipped ? 'skipped' : 'pending',
    reason: isSkipped ? member.reason : null,
    held_reason: isSkipped ? null : (member.held ?? null),
  }
}

/** A deployment as `/ws` sends it: its progress, without its settings. */
export function deploymentEventBody({
  deployment,
  previous,
}: Pick<DeploymentEvent, 'deployment' | 'previous'>) {
  const { firmware } = deployment
  return {
    deployment_id: deployment.id,
    name: deployment.spec.name ?? null,
    kind: deployment.kind,
    status: deployment.status,
    previous: previous ?? null,
    status_reason: deployment.statusReason ?? null,
    firmware_version: firmware.version,
    firmware_id: firmware.id,
    device_type: firmware.deviceType,
    total: deployment.total,
    progress: progressBody(deployment),
    stage: deployment.stage,
    stages: deployment.stages.map(({ total, succeeded, failed, state, since }, index) => ({
      ...{ index, total, succeeded, failed, state },
      since: toIso(since),
    })),
    evidence: deployment.evidence as JsonObject,
    created_at: toIso(deployment.createdAt),
    started_at: isoOrNull(deployment.startedAt),
    finished_at: isoOrNull(deployment.finishedAt),
    deadline_at: toIso(deployment.deadlineAt),
    etag: String(deployment.revision),
  }
}

const NO_JOB = {
  attempt: 0,
  progress: null,
  bytes_sent: 0,
  from_version: null,
  to_version: null,
  deferred_until: null,
  error: null,
  late: false,
  rollback_status: null,
  notified_at: null,
  downloading_at: null,
  downloaded_at: null,
  installing_at: null,
  rebooting_at: null,
  confirming_at: null,
  finished_at: null,
  next_attempt_at: null,
  created_at: null,
} as const

/** The target "all devices" has no value. */
function targetBody({ target: { type, value } }: Deployment['spec']): DeploymentBody['target'] {
  return value === null ? { type } : { type, value }
}

function specBody({ spec }: Deployment) {
  const { abort, timeouts, retry, ramp } = spec
  return {
    target: targetBody(spec),
    strategy: spec.strategy,
    max_concurrent: spec.maxConcurrent,
    rate_per_minute: spec.ratePerMinute ?? null,
    ramp: ramp === undefined ? null : { ...ramp },
    rollback_on_failure: spec.rollbackOnFailure,
    rollback_scope: spec.rollbackScope,
    canary: canaryBody(spec),
    abort: {
      min_finished: abort.minFinished,
      failure_percent: abort.failurePercent,
      failure_count: abort.failureCount ?? null,
    },
    timeouts: {
      download_sec: timeouts.downloadSec,
      install_sec: timeouts.installSec,
      reboot_sec: timeouts.rebootSec,
      confirm_sec: timeouts.confirmSec,
    },
    retry: { max: retry.max, backoff_sec: [...retry.backoffSec], on: [...retry.on] },
    proof: spec.proof,
    stable_sec: spec.stableSec,
    offline_ttl_sec: spec.offlineTtlSec,
    start_at: isoOrNull(spec.startAt),
    // Parsed from JSON.
    preconditions: (spec.preconditions ?? null) as JsonObject | null,
    windows: spec.windows.map(({ days, start, durationMin, tz }) => ({
      days: [...days],
      start,
      duration_min: durationMin,
      tz,
    })),
    force: spec.force,
    supersede: spec.supersede,
  }
}

const RUNNING: readonly JobStatus[] = [
  'notified',
  'downloading',
  'downloaded',
  'installing',
  'rebooting',
  'confirming',
  'rolling_back',
]

/** Members without a job are pending. Once the deployment has ended, they get none. */
function progressBody({ total, skipped, counts, finishedAt }: Deployment): DeploymentBody['progress'] {
  const of = (...statuses: readonly JobStatus[]) =>
    statuses.reduce((sum, status) => sum + (counts[status] ?? 0), 0)
  const skippedCount = Object.values(skipped).reduce((sum, n) => sum + n, 0)
  const inProgress = of(...RUNNING)
  const succeeded = of('succeeded')
  const failed = of('failed', 'timed_out', 'rejected', 'rollback_failed')
  const rolledBack = of('rolled_back')
  const counted = skippedCount + inProgress + succeeded + failed + rolledBack + of('cancelled', 'pending')
  const missing = Math.max(0, total - counted)
  const cancelled = of('cancelled') + (finishedAt === undefined ? 0 : missing)
  const final = skippedCount + succeeded + failed + rolledBack + cancelled
  return {
    total,
    pending: of('pending') + (finishedAt === undefined ? missing : 0),
    in_progress: inProgress,
    succeeded,
    failed,
    skipped: skippedCount,
    cancelled,
    rolled_back: rolledBack,
    percent: total === 0 ? 100 : Math.floor((final * 100) / total),
  }
}
