// How a deployment progresses: its next status and stages, as a function of its record, the counts of its jobs and the time.
// It causes nothing itself: the orchestrator acts on the new record.
import { Millis } from '../../../schemas/ids.ts'
import type { DeploymentStatus, JobStatus } from '../../../schemas/vocabulary.ts'
import type { Leap } from '../leap.ts'
import type { Deployment, JobCounts, Stage, StageRule, StageState } from './deployment.ts'
import { isFinalStatus } from './deployment.ts'
import type { DeploymentCount } from './deployment-count.ts'
import { type Evidence, failedGate, failedMetric, type GateValue, ruleOf, soakOf } from './stage-gate.ts'

const STALLED_MS = 86_400_000

export interface ProgressFacts {
  readonly now: Millis
  /** Soaks do not count them. */
  readonly leaps: readonly Leap[]
  /** Every member has its job by now. */
  readonly isEnlisted: boolean
  /** Telemetry's answer about the metrics of the gate that is due; undefined until it has answered. */
  readonly gateValues?: readonly GateValue[] | undefined
}

/** Returns the deployment as it is now, or the same reference if nothing changed. */
export function advance(before: Deployment, count: DeploymentCount, facts: ProgressFacts): Deployment {
  const after = decide(before, count, facts)
  if (after.finishedAt !== undefined || !isFinalStatus(after.status)) return after
  // No further member gets a job, so it does not matter whether every member has one: a leader that takes over now does
  // not enlist them again.
  return count.unfinished === 0 ? { ...after, finishedAt: facts.now } : after
}

function decide(before: Deployment, count: DeploymentCount, facts: ProgressFacts): Deployment {
  const { now, isEnlisted } = facts
  let deployment = withCounts(before, count)
  if (deployment.finishedAt !== undefined) return before
  if (isFinalStatus(deployment.status)) return deployment
  if (deployment.deadlineAt <= now)
    return withStatus(deployment, count.succeeded > 0 ? 'completed' : 'failed', now, 'deadline')
  if (deployment.status === 'scheduled' && (deployment.spec.startAt ?? 0) <= now)
    deployment = withStatus(deployment, 'pending', now)
  const { startedAt = now } = deployment
  if (deployment.startedAt === undefined && hasBegun(count)) deployment = { ...deployment, startedAt }
  if (deployment.status === 'pending' && (hasBegun(count) || (isEnlisted && hasOnlyCancelled(count))))
    deployment = { ...withStatus(deployment, 'in_progress', now), startedAt }
  if (deployment.status === 'rolling_back')
    return isRollingBack(deployment, count)
      ? deployment
      : withStatus(deployment, 'rolled_back', now, deployment.statusReason)
  if (deployment.status !== 'in_progress') return pauseIfStalled(deployment, count, now)
  const cause = abortCause(deployment, count)
  if (cause !== undefined) return abortDeployment(deployment, count, now, cause)
  return pauseIfStalled(isEnlisted ? withStage(deployment, count, facts) : deployment, count, now)
}

/** Updates the counts of a finished deployment. Devices keep a limited number of past jobs: once one of them has been
 *  dropped, the counts stay as they were. */
export function withFinalCounts(deployment: Deployment, count: DeploymentCount): Deployment {
  return totalJobs(count.counts) === totalJobs(deployment.counts) ? withCounts(deployment, count) : deployment
}

/** Stops it. Devices that have to roll back do so first. */
export function abortDeployment(
  deployment: Deployment,
  count: DeploymentCount,
  now: Millis,
  { reason, evidence }: { readonly reason: string; readonly evidence: Readonly<Record<string, unknown>> },
): Deployment {
  const { spec } = deployment
  const stages = deployment.stages.map((stage, i) =>
    i === deployment.stage ? { ...stage, state: 'failed' as const, since: now } : stage,
  )
  const stopped = { ...deployment, stages, abortedAt: now, evidence: { ...deployment.evidence, ...evidence } }
  const rollsBack = spec.rollbackOnFailure && isRollingBack(stopped, count)
  return withStatus(stopped, rollsBack ? 'rolling_back' : 'aborted', now, reason)
}

export function withStatus(
  deployment: Deployment,
  status: DeploymentStatus,
  now: Millis,
  reason?: string | undefined,
): Deployment {
  return {
    ...deployment,
    status,
    statusReason: reason,
    statusSince: now,
    pausedAt: status === 'paused' ? now : undefined,
    revision: deployment.revision + 1,
  }
}

/** A device is rolling back, or has to. */
function isRollingBack({ spec, abortedAt }: Deployment, count: DeploymentCount): boolean {
  const { counts, due, stages } = count
  if ((counts.rolling_back ?? 0) > 0 || due > 0) return true
  const isAnyProved = stages.some(({ proved }) => proved.length > 0)
  return spec.rollbackScope === 'deployment' && abortedAt !== undefined && isAnyProved
}

function hasBegun({ counts }: DeploymentCount): boolean {
  return Object.entries(counts).some(([status, n]) => n > 0 && status !== 'pending' && status !== 'cancelled')
}

/** No device is left that could begin. */
function hasOnlyCancelled({ counts, unfinished }: DeploymentCount): boolean {
  return (counts.cancelled ?? 0) > 0 && unfinished === 0
}

function abortCause(
  { spec, stage, stages }: Deployment,
  count: DeploymentCount,
): { readonly reason: string; readonly evidence: Readonly<Record<string, unknown>> } | undefined {
  const { failed, succeeded } = count
  const { minFinished, failurePercent, failureCount } = spec.abort
  const finished = failed + succeeded
  const isOver = failed > 0 && (failed * 100) / finished >= failurePercent
  if (finished >= minFinished && isOver)
    return { reason: 'failure_percent', evidence: { finished, failed, failure_percent: failurePercent } }
  if (failureCount !== undefined && finished >= minFinished && failed >= failureCount)
    return { reason: 'failure_count', evidence: { finished, failed, failure_count: failureCount } }
  const [now, total] = [count.stages[stage], stages[stage]?.total ?? 0]
  const successPercent = ruleOf(spec, stage)?.successPercent
  if (successPercent === undefined || now === undefined) return undefined
  const counted = total - (now.counts.cancelled ?? 0)
  const needed = Math.ceil((counted * successPercent) / 100)
  // Failed as soon as the required share cannot be reached any more.
  if (counted - now.failed >= needed) return undefined
  return {
    reason: 'success_percent',
    evidence: { stage, total: counted, failed: now.failed, success_percent: successPercent },
  }
}

const OPEN: readonly JobStatus[] = [
  'pending',
  'notified',
  'downloading',
  'downloaded',
  'installing',
  'rebooting',
  'confirming',
]

function withStage(deployment: Deployment, count: DeploymentCount, facts: ProgressFacts): Deployment {
  const { now } = facts
  const { stage: index, stages, spec } = deployment
  const [stage, jobs] = [stages[index], count.stages[index]]
  if (stage === undefined || jobs === undefined) return deployment
  if (OPEN.some((status) => (jobs.counts[status] ?? 0) > 0)) return deployment
  const isLast = index === stages.length - 1
  if (isLast) return finish(deployment, count, now)
  const rule = ruleOf(spec, index)
  if (rule === undefined || stage.total === 0) return toNextStage(deployment, now)
  const failing = failedGate(jobs, rule.gate)
  if (failing !== undefined) return stopAtGate(deployment, count, { rule, now, gate: failing })
  const soak = soakOf(rule, jobs, { since: stage.since, leaps: facts.leaps })
  const isJudged = rule.gate.metrics.length === 0 || facts.gateValues !== undefined
  if (soak.to > now || !isJudged)
    return stage.state === 'soaking'
      ? deployment
      : withStageState(deployment, index, 'soaking', Millis(soak.from))
  const missed = failedMetric(rule.gate.metrics, facts.gateValues ?? [])
  if (missed !== undefined) return stopAtGate(deployment, count, { rule, now, gate: missed })
  if (rule.approval && stage.state !== 'awaiting_approval')
    return withStatus(withStageState(deployment, index, 'awaiting_approval', now), 'paused', now, 'approval')
  return toNextStage(deployment, now)
}

/** Aborts or pauses the deployment because a gate failed. */
function stopAtGate(
  deployment: Deployment,
  count: DeploymentCount,
  { rule, now, gate }: { readonly rule: StageRule; readonly now: Millis; readonly gate: Evidence },
): Deployment {
  const evidence = { stage: deployment.stage, gate }
  if (rule.onGateFailure === 'abort')
    return abortDeployment(deployment, count, now, { reason: 'gate_failed', evidence })
  const shown = { ...deployment, evidence: { ...deployment.evidence, ...evidence } }
  return withStatus(shown, 'paused', now, 'gate_failed')
}

/** Goes on to the next stage. Also called when a person approves it, or resumes after a failed gate. */
export function toNextStage(deployment: Deployment, now: Millis): Deployment {
  const { stage, stages } = deployment
  const passed = withStageState(deployment, stage, 'passed', now)
  if (stage >= stages.length - 1) return passed
  return withStageState({ ...passed, stage: stage + 1 }, stage + 1, 'running', now)
}

function finish(deployment: Deployment, { succeeded, failed }: DeploymentCount, now: Millis): Deployment {
  const isCompleted = succeeded > 0 || failed === 0
  const ended = withStageState(deployment, deployment.stage, isCompleted ? 'passed' : 'failed', now)
  return withStatus(ended, isCompleted ? 'completed' : 'failed', now)
}

function withStageState(deployment: Deployment, index: number, state: StageState, since: Millis): Deployment {
  const stages = deployment.stages.map(
    (stage, i): Stage =>
      i === index
        ? { ...stage, state, since, startedAt: state === 'running' ? since : stage.startedAt }
        : stage,
  )
  return { ...deployment, stages, revision: deployment.revision + 1 }
}

/** Canaries that have been unreachable for a day would block a deployment for ever, so a person decides. */
function pauseIfStalled(deployment: Deployment, count: DeploymentCount, now: Millis): Deployment {
  const { spec, stage: index, stages, status } = deployment
  const [stage, jobs] = [stages[index], count.stages[index]]
  if (ruleOf(spec, index) === undefined || index !== 0 || stage === undefined || jobs === undefined)
    return deployment
  if (status !== 'pending' && status !== 'in_progress') return deployment
  const waits = (jobs.counts.pending ?? 0) > 0 && jobs.candidates.length === 0 && count.holders.length === 0
  const since = Math.max(stage.since, count.movedAt)
  return waits && since + STALLED_MS <= now
    ? withStatus(deployment, 'paused', now, 'canary_stalled')
    : deployment
}

function withCounts(deployment: Deployment, { counts, stages: counted }: DeploymentCount): Deployment {
  const isSame = JSON.stringify(sorted(deployment.counts)) === JSON.stringify(sorted(counts))
  if (isSame) return deployment
  const stages = deployment.stages.map((stage, i): Stage => {
    const { succeeded = 0, failed = 0 } = counted[i] ?? {}
    return { ...stage, succeeded, failed }
  })
  return { ...deployment, counts, stages }
}

function totalJobs(counts: JobCounts): number {
  return Object.values(counts).reduce((sum, jobs) => sum + jobs, 0)
}

function sorted(counts: JobCounts): readonly (readonly [string, number])[] {
  return Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1))
}
