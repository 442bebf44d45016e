// A built-in rule. It fires when the limit of open alerts is reached, and shows how many devices have a condition that
// waits for room.
import { Millis, RuleId } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { type CompiledRule, compileRule } from './compile.ts'
import type { FleetCounts, RuleCounts } from './fleet-counts.ts'
import { createRule } from './rule.ts'

const ID = RuleId('rul_system_alerts_full')

export function overflowRule(): CompiledRule {
  const outcome = createRule(
    {
      name: 'too many open alerts',
      severity: 'critical',
      target: { type: 'all' },
      condition: { kind: 'fleet', of: { rule_id: ID }, op: '>', value: 0 },
      keep_firing_for_sec: 60,
      message: `{{alert.value}} devices have conditions that raise no alert, because ${LIMITS.alertsOpenMax} alerts are open: resolve some, or make rules narrower`,
    },
    { id: ID, by: 'system', now: Millis(0) },
  )
  if (outcome.kind === 'mistakes') throw new Error(`rule ${ID}: ${outcome.errors[0]?.message}`)
  return compileRule(outcome.rule)
}

/** The devices that wait, as if the rule counted them. */
export function overflowCounts({ overflowing }: FleetCounts): RuleCounts {
  const groups = [{ group: '', members: Math.max(1, overflowing), matching: overflowing }]
  return { ruleId: ID, revision: 1, leaves: [{ kind: 'counts', groups }] }
}
