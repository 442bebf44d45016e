// The stages of a deployment as requested, in the form that REST shows.
import type { DeploymentSpec, Gate, StageRule } from '../../engine/domain/ota/deployment.ts'

export function canaryBody({ canary }: DeploymentSpec) {
  if (canary === undefined) return null
  const { percent, count = null, devices } = canary
  return { percent, count, devices: devices === undefined ? null : [...devices], ...ruleBody(canary) }
}

/** The settings of a stage. The record also has its results. */
export function stageRuleBody(
  rule: (StageRule & { readonly maxConcurrent?: number | undefined }) | undefined,
) {
  return rule === undefined ? {} : { ...ruleBody(rule), max_concurrent: rule.maxConcurrent ?? null }
}

function ruleBody({ soakSec, successPercent, gate, onGateFailure, approval }: StageRule) {
  return {
    soak_sec: soakSec,
    success_percent: successPercent ?? null,
    gate: gateBody(gate),
    on_gate_failure: onGateFailure,
    approval,
  }
}

function gateBody({ maxOffline, inError, alerts, metrics }: Gate) {
  return {
    max_offline: maxOffline,
    in_error: inError,
    alerts: alerts ?? null,
    metrics: metrics.map(({ relativeTo, ...metric }) => ({ ...metric, relative_to: relativeTo ?? null })),
  }
}
