// An instance that counts its `for_sec`, as people see it. It is no alert yet, so it has no id.
import { type Micros, toIso, toMillis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { AlertSource } from './body.ts'
import type { CompiledRule } from './compile.ts'

/** `root`: the number of the severity that counts. */
export function pendingBody(
  { rule, roots, leaves }: CompiledRule,
  { id, group }: AlertSource,
  startedAt: Micros,
  root = 0,
): JsonObject {
  const [leaf] = leaves
  return {
    alert_id: null,
    rule_id: rule.rule_id,
    rule_name: rule.name,
    scope: id === undefined ? 'fleet' : 'device',
    device_id: id ?? null,
    group: group ?? null,
    group_key: `rule:${rule.rule_id}`,
    type: leaf?.kind ?? 'all',
    metric: leaf !== undefined && 'metric' in leaf ? (leaf.metric ?? null) : null,
    severity: roots[root]?.severity ?? rule.severity,
    state: 'pending',
    acknowledged: false,
    acknowledged_by: null,
    acknowledged_at: null,
    assignee: null,
    snoozed_until: null,
    snoozed_by: null,
    value: null,
    threshold: null,
    message: '',
    description: rule.description,
    labels: rule.labels,
    started_at: toIso(toMillis(startedAt)),
    fired_at: null,
    resolved_at: null,
    last_value_at: null,
    count: 0,
    reason: null,
    flapping: false,
    suppressed_by: [],
    notified: [],
    comments: [],
    revision: 0,
  }
}
