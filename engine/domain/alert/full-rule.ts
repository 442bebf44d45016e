// The rule that nobody wrote: it says that more alerts would be open than may be. What waits for room is counted and
// fires once there is some.
import { Millis, RuleId } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import { type CompiledRule, compileRule } from './compile.ts'
import type { FleetCounts, RuleCounts } from './fleet-counts.ts'
import { createRule } from './rule.ts'

const ID = RuleId('rul_system_alerts_full')

export function fullRule(): CompiledRule {
  const made = createRule(
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
  if (made.kind === 'mistakes') throw new Error(`rule ${ID}: ${made.errors[0]?.message}`)
  return compileRule(made.rule)
}

/** The devices that wait, as if the rule counted them. */
export function fullCounts({ overflowing }: FleetCounts): RuleCounts {
  const groups = [{ group: '', members: Math.max(1, overflowing), matching: overflowing }]
  return { ruleId: ID, revision: 1, leaves: [{ kind: 'counts', groups }] }
}
