// An alert rule: data that reaches every shard with a revision (A4).
import type { Condition } from '../../../schemas/alert-condition.ts'
import type { RuleBody, RuleRequestBody } from '../../../schemas/alert-rule.ts'
import { type Millis, RuleId, toIso } from '../../../schemas/ids.ts'
import type { FieldError } from '../../../schemas/problem.ts'
import { LIMITS } from '../../limits.ts'
import { isZone } from '../telemetry/zone.ts'
import { checkCondition } from './check-condition.ts'
import { groupLevelOf, isFleetCondition } from './fleet-scope.ts'
import { isEventLeaf, isMomentary, leavesOf } from './leaves.ts'
import { checkTarget } from './target.ts'
import { unknownPlaceholders } from './template.ts'

/** The rule as the API shows it, without what is computed for each answer. */
export interface Rule extends Omit<RuleBody, 'rule_id' | 'state' | 'etag'> {
  readonly rule_id: RuleId
  /** Since when it has judged without a break: silence counts from here at the earliest. Milliseconds. */
  readonly activated_at: number
}

export const DEFAULT_MESSAGE = '{{device.name}}: {{alert.type}} {{alert.value}} ({{alert.threshold}})'

export type RuleOutcome =
  | { readonly kind: 'rule'; readonly rule: Rule }
  | { readonly kind: 'mistakes'; readonly errors: readonly FieldError[] }

export interface RuleAuthor {
  readonly id: string
  readonly by: string
  readonly now: Millis
}

/** A new rule with its defaults. The request has passed its schema. */
export function createRule(request: RuleRequestBody, { id, by, now }: RuleAuthor): RuleOutcome {
  const errors = checkRule(request)
  if (errors.length > 0) return { kind: 'mistakes', errors }
  const at = toIso(now)
  return {
    kind: 'rule',
    rule: {
      ...withDefaults(request),
      rule_id: RuleId(id),
      source: 'api',
      revision: 1,
      created_by: by,
      created_at: at,
      updated_at: at,
      activated_at: now,
    },
  }
}

/** The rule as it is after a change. It keeps its activation unless it was off. */
export function replaceRule(before: Rule, request: RuleRequestBody, now: Millis): RuleOutcome {
  const errors = checkRule(request)
  if (errors.length > 0) return { kind: 'mistakes', errors }
  const { rule_id, source, revision, created_by, created_at, activated_at } = before
  const replacement = withDefaults(request)
  const isActivated =
    (replacement.enabled && !before.enabled) ||
    JSON.stringify([replacement.condition, replacement.target]) !==
      JSON.stringify([before.condition, before.target])
  const activated = isActivated ? now : activated_at
  const identity = { rule_id, source, created_by, created_at, activated_at: activated }
  return {
    kind: 'rule',
    rule: { ...replacement, ...identity, revision: revision + 1, updated_at: toIso(now) },
  }
}

/** The request that would create this rule. A merge patch of the rule is applied to it. */
export function toRuleRequest(rule: Rule): RuleRequestBody {
  const { rule_id: _, source, revision, created_by, created_at, updated_at, activated_at, ...request } = rule
  return request
}

function withDefaults(request: RuleRequestBody) {
  const { condition, flap } = request
  const keepFiringSec = leavesOf(condition).some(isEventLeaf) ? LIMITS.eventHoldSecDefault : 0
  return {
    name: request.name,
    description: request.description ?? null,
    enabled: request.enabled ?? true,
    severity: request.severity ?? 'warning',
    target: request.target.type === 'fleet' ? { type: 'all' as const } : request.target,
    condition,
    levels: request.levels ?? null,
    clear: request.clear ?? null,
    for_sec: request.for_sec ?? 0,
    keep_firing_for_sec: request.keep_firing_for_sec ?? keepFiringSec,
    repeat_interval_sec: request.repeat_interval_sec ?? 14_400,
    no_data: request.no_data ?? 'keep',
    no_data_after_sec: request.no_data_after_sec ?? 300,
    active: request.active ?? [],
    during_maintenance: request.during_maintenance ?? 'mute',
    inhibit_when_offline: request.inhibit_when_offline ?? true,
    inhibited_by: request.inhibited_by ?? [],
    flap: {
      episodes: flap?.episodes ?? 3,
      within_sec: flap?.within_sec ?? 600,
      hold_sec: flap?.hold_sec ?? 900,
    },
    send_resolved: request.send_resolved ?? true,
    channels: request.channels ?? null,
    group_by: request.group_by ?? 'rule',
    message: request.message ?? null,
    labels: request.labels ?? {},
  } as const
}

/** What the schema of the body cannot say. */
function checkRule(request: RuleRequestBody): readonly FieldError[] {
  const { condition, clear, levels, active = [] } = request
  const checked = checkCondition(condition, '/condition')
  const errors: FieldError[] = [...(checked.kind === 'mistakes' ? checked.errors : [])]
  if (clear !== undefined && clear !== null) {
    const cleared = checkCondition(clear, '/clear')
    if (cleared.kind === 'mistakes') errors.push(...cleared.errors)
    else if (checked.kind === 'condition' && !hasSameScope(cleared.condition, checked.condition))
      errors.push({
        path: '/clear',
        code: 'NOT_ALLOWED',
        message:
          'must be about the same as the condition: single devices, or the fleet at the same group_level',
      })
  }
  errors.push(...checkTarget(request.target))
  if (checked.kind === 'condition') {
    if (levels !== undefined && levels !== null) errors.push(...checkLevels(condition, levels))
    if ((request.for_sec ?? 0) > 0 && isMomentary(condition))
      errors.push({
        path: '/for_sec',
        code: 'NOT_ALLOWED',
        message: 'must be 0: this condition is an event and never lasts',
      })
  }
  for (const name of unknownPlaceholders(request.message ?? ''))
    errors.push({ path: '/message', code: 'UNKNOWN_PLACEHOLDER', message: `{{${name}}} means nothing` })
  active.forEach(({ tz = 'UTC' }, i) => {
    if (!isZone(tz))
      errors.push({ path: `/active/${i}/tz`, code: 'NOT_ALLOWED', message: 'is no time zone of the IANA' })
  })
  return errors
}

function hasSameScope(clear: Condition, condition: Condition): boolean {
  return (
    isFleetCondition(clear) === isFleetCondition(condition) && groupLevelOf(clear) === groupLevelOf(condition)
  )
}

function checkLevels(
  condition: Condition,
  levels: NonNullable<RuleRequestBody['levels']>,
): readonly FieldError[] {
  const isThreshold = 'kind' in condition && condition.kind === 'threshold'
  if (!isThreshold || typeof condition.value !== 'number' || condition.op === '==' || condition.op === '!=')
    return [{ path: '/levels', code: 'NOT_ALLOWED', message: 'goes with a threshold of >, >=, < or <= only' }]
  const isAbove = condition.op.startsWith('>')
  const errors: FieldError[] = []
  const seen = new Set<string>()
  levels.forEach(({ severity, value, clear_value: clear }, i) => {
    if (seen.has(severity))
      errors.push({ path: `/levels/${i}/severity`, code: 'DUPLICATE', message: 'is named twice' })
    seen.add(severity)
    if (clear !== undefined && (isAbove ? clear > value : clear < value))
      errors.push({
        path: `/levels/${i}/clear_value`,
        code: 'OUT_OF_RANGE',
        message: `must not be ${isAbove ? 'greater' : 'less'} than value`,
      })
  })
  return errors
}
