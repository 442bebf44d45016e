// Parses and checks the stages of a requested deployment, and the preconditions for devices to start.

import { checkCondition } from '../../engine/domain/alert/check-condition.ts'
import { leavesOf } from '../../engine/domain/alert/leaves.ts'
import type { Canary, Gate, StageRule, StageSpec } from '../../engine/domain/ota/deployment.ts'
import { PRECONDITION_KINDS } from '../../engine/domain/ota/precondition.ts'
import type { Condition } from '../../schemas/alert-condition.ts'
import type { DeploymentRequestBody } from '../../schemas/deployment.ts'
import type { CanaryRequestBody, GateRequestBody, StageRequestBody } from '../../schemas/deployment-stage.ts'
import { parseDeviceId } from '../../schemas/ids.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'

const SOAK_SEC = 300
const ALL_PERCENT = 100

export interface Staging {
  readonly kind: 'staging'
  readonly canary: Canary | undefined
  readonly stages: readonly StageSpec[] | undefined
  readonly maxConcurrent: number
}

export function toStaging(body: DeploymentRequestBody): Staging | Refusal {
  const { strategy = 'rolling', canary } = body
  if (strategy === 'stages') return toStages(body)
  if (body.stages != null)
    return invalid('/stages', { code: 'NOT_ALLOWED', message: 'goes with the strategy stages only' })
  const maxConcurrent = body.max_concurrent ?? (strategy === 'all' ? 1_000 : 10)
  if (strategy !== 'canary') return { kind: 'staging', canary: undefined, stages: undefined, maxConcurrent }
  const unfit = refuseGate(canary ?? {}, '/canary')
  return unfit ?? { kind: 'staging', canary: toCanary(canary ?? {}), stages: undefined, maxConcurrent }
}

/** A condition that is judged at one moment. Undefined if there is none. */
export function toPreconditions(
  value: unknown,
): { readonly kind: 'found'; readonly preconditions: Condition | undefined } | Refusal {
  if (value === undefined || value === null) return { kind: 'found', preconditions: undefined }
  const checked = checkCondition(value, '/preconditions')
  if (checked.kind === 'mistakes')
    return refused('VALIDATION_FAILED', {
      message: 'preconditions are no condition',
      errors: checked.errors.map((error) => ({ ...error, in: 'body' })),
    })
  const kinds: readonly string[] = PRECONDITION_KINDS
  const other = leavesOf(checked.condition).find(({ kind }) => !kinds.includes(kind))
  if (other === undefined) return { kind: 'found', preconditions: checked.condition }
  const message = `takes ${kinds.join(' and ')} only, and not ${other.kind}`
  return invalid('/preconditions', { code: 'NOT_ALLOWED', message })
}

function toStages({ stages, max_concurrent: maxConcurrent }: DeploymentRequestBody): Staging | Refusal {
  if (stages == null || stages.length === 0)
    return invalid('/stages', { code: 'REQUIRED', message: 'is needed for the strategy stages' })
  let percent = 0
  for (const [i, stage] of stages.entries()) {
    const path = `/stages/${i}`
    const isLast = i === stages.length - 1
    const unfit = refuseStage(stage, { path, percent, isLast }) ?? refuseGate(stage, path)
    if (unfit !== undefined) return unfit
    percent = stage.percent ?? percent
    if (maxConcurrent !== undefined && (stage.max_concurrent ?? 0) > maxConcurrent)
      return invalid(`${path}/max_concurrent`, {
        code: 'OUT_OF_RANGE',
        message: 'must not be above max_concurrent of the deployment',
      })
  }
  const widest = Math.max(...stages.map((stage) => stage.max_concurrent ?? 10))
  return {
    kind: 'staging',
    canary: undefined,
    stages: stages.map((stage, i) => toStage(stage, i === stages.length - 1)),
    maxConcurrent: maxConcurrent ?? widest,
  }
}

function refuseStage(
  { percent, count }: StageRequestBody,
  place: { readonly path: string; readonly percent: number; readonly isLast: boolean },
): Refusal | undefined {
  const { path, isLast } = place
  if (percent != null && count != null)
    return invalid(`${path}/count`, { code: 'NOT_ALLOWED', message: 'cannot be given together with percent' })
  if (isLast)
    return count == null && (percent ?? ALL_PERCENT) === ALL_PERCENT
      ? undefined
      : invalid(`${path}/percent`, { code: 'NOT_ALLOWED', message: 'must be 100 in the last stage' })
  if (percent == null && count == null)
    return invalid(`${path}/percent`, { code: 'REQUIRED', message: 'or count is needed' })
  if (percent != null && percent <= place.percent)
    return invalid(`${path}/percent`, {
      code: 'OUT_OF_RANGE',
      message: 'must be above that of the stage before, because it counts those devices, too',
    })
  return undefined
}

function refuseGate(
  { soak_sec: soakSec = SOAK_SEC, gate }: { readonly soak_sec?: number; readonly gate?: GateRequestBody },
  path: string,
): Refusal | undefined {
  if (soakSec > 0 || (gate?.metrics ?? []).length === 0) return undefined
  const message = 'needs a soak_sec: metrics are judged over that time'
  return invalid(`${path}/gate/metrics`, { code: 'NOT_ALLOWED', message })
}

function toCanary(requested: CanaryRequestBody): Canary {
  return {
    percent: requested.percent ?? 10,
    count: requested.count ?? undefined,
    devices: requested.devices?.flatMap((each) => parseDeviceId(each) ?? []),
    ...toRule(requested, ALL_PERCENT),
  }
}

/** The last stage accepts any success rate unless the request says otherwise, because no stage follows it. */
function toStage(requested: StageRequestBody, isLast: boolean): StageSpec {
  return {
    percent: requested.percent ?? (isLast ? ALL_PERCENT : undefined),
    count: requested.count ?? undefined,
    maxConcurrent: requested.max_concurrent ?? undefined,
    ...toRule(requested, isLast ? undefined : ALL_PERCENT),
    ...(isLast ? { soakSec: 0 } : {}),
  }
}

function toRule(
  requested: Pick<
    CanaryRequestBody,
    'soak_sec' | 'success_percent' | 'gate' | 'on_gate_failure' | 'approval'
  >,
  successPercent: number | undefined,
): StageRule {
  return {
    soakSec: requested.soak_sec ?? SOAK_SEC,
    successPercent: requested.success_percent ?? successPercent,
    gate: toGate(requested.gate ?? {}),
    onGateFailure: requested.on_gate_failure ?? 'abort',
    approval: requested.approval ?? false,
  }
}

function toGate({ max_offline, in_error, alerts, metrics = [] }: GateRequestBody): Gate {
  return {
    maxOffline: max_offline ?? 0,
    inError: in_error ?? 0,
    alerts: alerts ?? undefined,
    metrics: metrics.map(({ metric, agg = 'avg', op, value, relative_to }) => ({
      ...{ metric, agg, op, value },
      relativeTo: relative_to ?? undefined,
    })),
  }
}
