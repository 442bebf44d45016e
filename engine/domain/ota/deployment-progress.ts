// How a deployment goes on by what its jobs say: its status and stages, as a function of the record, the counts and the
// time. It asks for nothing: what follows from the new record is worked out from that.
import { type DeviceId, Millis } from '../../../schemas/ids.ts'
import type { DeploymentStatus, JobStatus } from '../../../schemas/vocabulary.ts'
import type { Deployment, JobCounts, Stage, StageState } from './deployment.ts'
import { isFinalStatus } from './deployment.ts'
import type { Candidate, Holder, JobTally, Returner } from './tally.ts'

/** The jobs of one stage, of all shards together. */
export interface StageCount {
  readonly counts: JobCounts
  readonly succeeded: number
  readonly failed: number
  readonly offline: readonly DeviceId[]
  readonly inError: readonly DeviceId[]
  readonly proved: readonly Returner[]
  readonly lastSuccessAt: Millis | undefined
  readonly ready: number
  readonly candidates: readonly Candidate[]
}

export interface DeploymentCount {
  readonly stages: readonly StageCount[]
  readonly counts: JobCounts
  readonly held: JobTally['held']
  readonly succeeded: number
  readonly failed: number
  readonly due: number
  readonly unfinished: number
  readonly holders: readonly Holder[]
  readonly returners: readonly Returner[]
  readonly stoppable: readonly DeviceId[]
  readonly movedAt: number
}

const STALLED_MS = 86_400_000

export function countOf(
  { id, stages }: Pick<Deployment, 'id' | 'stages'>,
  tallies: readonly JobTally[],
): DeploymentCount {
  const own = tallies.filter(({ deploymentId }) => deploymentId === id)
  const sum = (pick: (tally: JobTally) => number, of: readonly JobTally[] = own) =>
    of.reduce((total, tally) => total + pick(tally), 0)
  return {
    stages: stages.map((_, stage): StageCount => {
      const of = own.filter((tally) => tally.stage === stage)
      const times = of.flatMap(({ lastSuccessAt }) => lastSuccessAt ?? [])
      return {
        counts: merged(of.map(({ counts }) => counts)),
        succeeded: sum(({ succeeded }) => succeeded, of),
        failed: sum(({ failed }) => failed, of),
        offline: of.flatMap(({ offline }) => offline),
        inError: of.flatMap(({ inError }) => inError),
        proved: of.flatMap(({ proved }) => proved),
        lastSuccessAt: times.length === 0 ? undefined : Millis(Math.max(...times)),
        ready: sum(({ ready }) => ready, of),
        candidates: of.flatMap(({ candidates }) => candidates),
      }
    }),
    counts: merged(own.map(({ counts }) => counts)),
    held: merged(own.map(({ held }) => held)),
    succeeded: sum(({ succeeded }) => succeeded),
    failed: sum(({ failed }) => failed),
    due: sum(({ due }) => due),
    unfinished: sum(({ unfinished }) => unfinished),
    holders: own.flatMap(({ holders }) => holders),
    returners: own.flatMap(({ returners }) => returners),
    stoppable: own.flatMap(({ stoppable }) => stoppable),
    movedAt: Math.max(0, ...own.map(({ movedAt }) => movedAt)),
  }
}

/** The deployment as it is now; the same reference if nothing about it changed. `isEnlisted`: every member has its
 *  job. */
export function advance(
  before: Deployment,
  count: DeploymentCount,
  now: Millis,
  isEnlisted: boolean,
): Deployment {
  let deployment = withCounts(before, count)
  if (deployment.finishedAt !== undefined) return before
  if (isFinalStatus(deployment.status)) {
    const isStopped = deployment.status === 'cancelled' || deployment.status === 'aborted'
    return count.unfinished === 0 && (isEnlisted || isStopped)
      ? { ...deployment, finishedAt: now }
      : deployment
  }
  if (deployment.deadlineAt <= now)
    return moved(deployment, count.succeeded > 0 ? 'completed' : 'failed', now, 'deadline')
  if (deployment.status === 'scheduled' && (deployment.spec.startAt ?? 0) <= now)
    deployment = moved(deployment, 'pending', now)
  if (deployment.status === 'pending' && hasBegun(count))
    deployment = { ...moved(deployment, 'in_progress', now), startedAt: deployment.startedAt ?? now }
  if (deployment.status === 'rolling_back')
    return isGoingBack(deployment, count)
      ? deployment
      : moved(deployment, 'rolled_back', now, deployment.statusReason)
  if (deployment.status !== 'in_progress') return stalled(deployment, count, now)
  const cause = abortCause(deployment, count)
  if (cause !== undefined) return aborted(deployment, count, now, cause)
  return stalled(isEnlisted ? withStage(deployment, count, now) : deployment, count, now)
}

/** Stops it: whoever has to go back does so first. */
export function aborted(
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
  const rollsBack = spec.rollbackOnFailure && isGoingBack(stopped, count)
  return moved(stopped, rollsBack ? 'rolling_back' : 'aborted', now, reason)
}

export function moved(
  deployment: Deployment,
  status: DeploymentStatus,
  now: Millis,
  reason?: string | undefined,
): Deployment {
  return {
    ...deployment,
    status,
    statusReason: reason,
    pausedAt: status === 'paused' ? now : undefined,
    revision: deployment.revision + 1,
  }
}

/** Somebody is on the way back, or has to go there. */
function isGoingBack({ spec, abortedAt }: Deployment, count: DeploymentCount): boolean {
  const { counts, due } = count
  if ((counts.rolling_back ?? 0) > 0 || due > 0) return true
  return spec.rollbackScope === 'deployment' && abortedAt !== undefined && (counts.succeeded ?? 0) > 0
}

function hasBegun({ counts }: DeploymentCount): boolean {
  return Object.entries(counts).some(([status, n]) => n > 0 && status !== 'pending' && status !== 'cancelled')
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
  if (spec.canary === undefined || stage !== 0 || now === undefined) return undefined
  const counted = total - (now.counts.cancelled ?? 0)
  const needed = Math.ceil((counted * spec.canary.successPercent) / 100)
  // Judged as soon as it is out of reach.
  if (counted - now.failed >= needed) return undefined
  return {
    reason: 'success_percent',
    evidence: { stage, total: counted, failed: now.failed, success_percent: spec.canary.successPercent },
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

function withStage(deployment: Deployment, count: DeploymentCount, now: Millis): Deployment {
  const { stage: index, stages, spec } = deployment
  const [stage, jobs] = [stages[index], count.stages[index]]
  if (stage === undefined || jobs === undefined) return deployment
  if (OPEN.some((status) => (jobs.counts[status] ?? 0) > 0)) return deployment
  const isLast = index === stages.length - 1
  if (isLast) return ended(deployment, count, now)
  const rule = spec.canary
  if (rule === undefined) return next(deployment, now)
  const failing = failedGate(jobs, rule.gate)
  if (failing !== undefined) {
    const evidence = { stage: index, gate: failing }
    if (rule.onGateFailure === 'abort')
      return aborted(deployment, count, now, { reason: 'gate_failed', evidence })
    return moved(
      { ...deployment, evidence: { ...deployment.evidence, ...evidence } },
      'paused',
      now,
      'gate_failed',
    )
  }
  // It soaks from the last success, whoever leads meanwhile.
  const soaksSince = jobs.lastSuccessAt ?? stage.since
  if (soaksSince + rule.soakSec * 1_000 > now)
    return stage.state === 'soaking' ? deployment : inStage(deployment, index, 'soaking', soaksSince)
  if (rule.approval && stage.state !== 'awaiting_approval')
    return moved(inStage(deployment, index, 'awaiting_approval', now), 'paused', now, 'approval')
  return next(deployment, now)
}

/** A person let it go on although a gate failed, or approved it. */
export function next(deployment: Deployment, now: Millis): Deployment {
  const { stage, stages } = deployment
  const passed = inStage(deployment, stage, 'passed', now)
  if (stage >= stages.length - 1) return passed
  return inStage({ ...passed, stage: stage + 1 }, stage + 1, 'running', now)
}

function failedGate(
  { offline, inError }: StageCount,
  gate: { readonly maxOffline: number; readonly inError: number },
): Readonly<Record<string, unknown>> | undefined {
  if (offline.length > gate.maxOffline) return { max_offline: gate.maxOffline, offline: offline.slice(0, 20) }
  if (inError.length > gate.inError) return { in_error: gate.inError, devices_in_error: inError.slice(0, 20) }
  return undefined
}

function ended(deployment: Deployment, { succeeded, failed }: DeploymentCount, now: Millis): Deployment {
  const passed = inStage(deployment, deployment.stage, 'passed', now)
  return moved(passed, succeeded > 0 || failed === 0 ? 'completed' : 'failed', now)
}

function inStage(deployment: Deployment, index: number, state: StageState, since: Millis): Deployment {
  const stages = deployment.stages.map(
    (stage, i): Stage => (i === index ? { ...stage, state, since } : stage),
  )
  return { ...deployment, stages, revision: deployment.revision + 1 }
}

/** Canaries that nobody can reach for a day keep a deployment from ever going on: a person decides. */
function stalled(deployment: Deployment, count: DeploymentCount, now: Millis): Deployment {
  const { spec, stage: index, stages, status } = deployment
  const [stage, jobs] = [stages[index], count.stages[index]]
  if (spec.canary === undefined || index !== 0 || stage === undefined || jobs === undefined) return deployment
  if (status !== 'pending' && status !== 'in_progress') return deployment
  const waits = (jobs.counts.pending ?? 0) > 0 && jobs.candidates.length === 0 && count.holders.length === 0
  const since = Math.max(stage.since, count.movedAt)
  return waits && since + STALLED_MS <= now ? moved(deployment, 'paused', now, 'canary_stalled') : deployment
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

function sorted(counts: JobCounts): readonly (readonly [string, number])[] {
  return Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1))
}

function merged<Key extends string>(
  all: readonly Readonly<Partial<Record<Key, number>>>[],
): Readonly<Partial<Record<Key, number>>> {
  const sum: Partial<Record<Key, number>> = {}
  // The keys of an object of this type.
  for (const one of all)
    for (const key of Object.keys(one) as Key[]) sum[key] = (sum[key] ?? 0) + (one[key] ?? 0)
  return sum
}
