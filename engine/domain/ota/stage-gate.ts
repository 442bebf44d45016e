// The conditions that must hold before a deployment goes on to its next stage.
import type { DeviceId, Millis } from '../../../schemas/ids.ts'
import { comparisonHolds } from '../alert/leaf-truth.ts'
import { type Leap, leaptSince } from '../leap.ts'
import type { Deployment, DeploymentSpec, Gate, MetricGate, StageRule } from './deployment.ts'
import type { DeploymentCount, StageCount } from './deployment-count.ts'

export type Evidence = Readonly<Record<string, unknown>>

/** A metric of a gate, as telemetry has it; undefined if there are no values. */
export interface GateValue {
  readonly value: number | undefined
  /** The value of the same devices over the same length of time before the stage began. */
  readonly before: number | undefined
}

/** A question to telemetry, for all metrics of a gate. */
export interface GateQuestion {
  readonly stage: number
  readonly deviceIds: readonly DeviceId[]
  readonly metrics: readonly MetricGate[]
  readonly from: number
  readonly to: number
  readonly beforeFrom: number
  readonly beforeTo: number
}

const NAMED_MAX = 20

/** The rule by which this stage goes on to the next; undefined if none was requested. */
export function ruleOf({ canary, stages }: DeploymentSpec, stage: number): StageRule | undefined {
  return canary === undefined ? stages?.[stage] : stage === 0 ? canary : undefined
}

/** Whether a stage has to soak, and until when. The soak counts from the last success, across changes of the leader and of
 *  the clock. */
export function soakOf(
  rule: StageRule,
  { lastSuccessAt }: StageCount,
  { since, leaps }: { readonly since: Millis; readonly leaps: readonly Leap[] },
): { readonly from: number; readonly to: number } {
  const from = lastSuccessAt ?? since
  return { from, to: from + rule.soakSec * 1_000 + leaptSince(from, leaps) }
}

/** Fails at once if devices that were well before the update are not well any more. */
export function failedGate(stage: StageCount, gate: Gate): Evidence | undefined {
  const { offline, inError, offlineCount, inErrorCount, alerting } = stage
  if (offlineCount > gate.maxOffline)
    return { max_offline: gate.maxOffline, offline: offline.slice(0, NAMED_MAX) }
  if (inErrorCount > gate.inError)
    return { in_error: gate.inError, devices_in_error: inError.slice(0, NAMED_MAX) }
  if (gate.alerts === undefined) return undefined
  const found = gate.alerts === 'critical' ? alerting.critical : alerting.warning
  return found.length === 0
    ? undefined
    : { alerts: gate.alerts, devices_with_alerts: found.slice(0, NAMED_MAX) }
}

/** Judged at the end of the soak. A metric without values proves nothing, so it fails. */
export function failedMetric(
  metrics: readonly MetricGate[],
  values: readonly GateValue[],
): Evidence | undefined {
  for (const [i, { metric, agg, op, value: bound, relativeTo }] of metrics.entries()) {
    const { value, before } = values[i] ?? { value: undefined, before: undefined }
    const limit = relativeTo === undefined ? bound : before === undefined ? undefined : before * bound
    if (value !== undefined && limit !== undefined && comparisonHolds(op, value, limit)) continue
    const about = { metric, agg, op, value: bound, measured: value ?? null }
    return relativeTo === undefined ? about : { ...about, relative_to: relativeTo, before: before ?? null }
  }
  return undefined
}

/** The question that telemetry must answer now; undefined if there is none. */
export function gateQuestion(
  { spec, status, stage: index, stages }: Deployment,
  count: DeploymentCount,
  { now, leaps }: { readonly now: Millis; readonly leaps: readonly Leap[] },
): GateQuestion | undefined {
  const [rule, stage, jobs] = [ruleOf(spec, index), stages[index], count.stages[index]]
  if (status !== 'in_progress' || rule === undefined || stage === undefined || jobs === undefined)
    return undefined
  const { metrics } = rule.gate
  if (metrics.length === 0 || stage.state !== 'soaking') return undefined
  const { from, to } = soakOf(rule, jobs, { since: stage.since, leaps })
  if (to > now) return undefined
  const beforeTo = stage.startedAt
  return {
    stage: index,
    deviceIds: jobs.proved.map(({ deviceId }) => deviceId),
    metrics,
    from,
    to,
    beforeFrom: beforeTo - (to - from),
    beforeTo,
  }
}
