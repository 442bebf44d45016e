// The rules that the file of device types asks for. They exist as long as their field does.
import type { Condition } from '../../../schemas/alert-condition.ts'
import type { EditRuleBody, RuleRequestBody } from '../../../schemas/alert-rule.ts'
import { Millis, RuleId } from '../../../schemas/ids.ts'
import type { DeviceType, StatusField, TelemetryField } from '../device-type/definition.ts'
import { createRule, type Rule } from './rule.ts'

/** Hysteresis: the share of the width of a range, or of the value if there is none, by which a value must return. */
const CLEAR_SHARE = 0.02

/** What may be changed of such a rule. */
export const TYPE_RULE_FIELDS = [
  'enabled',
  'for_sec',
  'keep_firing_for_sec',
  'channels',
  'repeat_interval_sec',
] as const satisfies readonly (keyof EditRuleBody)[]

export function rulesOfTypes(types: Iterable<DeviceType>): readonly Rule[] {
  return [...types].flatMap(({ name, telemetry, statusFields }) => [
    ...telemetry.flatMap((field) => rulesOfField(name, field)),
    ...statusFields.flatMap((field) => rulesOfStatus(name, field, telemetry)),
  ])
}

/** The rule with what was changed of it. */
export function withSavedChanges(rule: Rule, saved: Rule): Rule {
  const { enabled, for_sec, keep_firing_for_sec, channels, repeat_interval_sec, revision, updated_at } = saved
  return {
    ...rule,
    enabled,
    for_sec,
    keep_firing_for_sec,
    channels,
    repeat_interval_sec,
    revision,
    updated_at,
  }
}

function rulesOfField(type: string, field: TelemetryField): readonly Rule[] {
  const { field: metric, unit, range, alertAbove, alertBelow } = field
  const withUnit = (value: number) => [value, unit].filter((part) => part !== undefined).join(' ')
  const rules: Rule[] = []
  if (alertAbove !== undefined) {
    const clear_value = roundDouble(alertAbove - margin(alertAbove, range))
    const condition = { kind: 'threshold', metric, op: '>', value: alertAbove, clear_value } as const
    rules.push(
      typeRule(`${type}_${metric}_above`, type, {
        name: `${metric} above ${withUnit(alertAbove)}`,
        condition,
      }),
    )
  }
  if (alertBelow !== undefined) {
    const clear_value = roundDouble(alertBelow + margin(alertBelow, range))
    const condition = { kind: 'threshold', metric, op: '<', value: alertBelow, clear_value } as const
    rules.push(
      typeRule(`${type}_${metric}_below`, type, {
        name: `${metric} below ${withUnit(alertBelow)}`,
        condition,
      }),
    )
  }
  return rules
}

function rulesOfStatus(
  type: string,
  { field: metric, warnBelow, criticalBelow }: StatusField,
  telemetry: readonly TelemetryField[],
): readonly Rule[] {
  const telemetryField = telemetry.find(({ field }) => field === metric)
  const levels = [
    ...(warnBelow === undefined ? [] : [{ severity: 'warning' as const, value: warnBelow }]),
    ...(criticalBelow === undefined ? [] : [{ severity: 'critical' as const, value: criticalBelow }]),
  ].map((level) => ({
    ...level,
    clear_value: roundDouble(level.value + margin(level.value, telemetryField?.range)),
  }))
  const [first] = levels
  if (first === undefined) return []
  const { value, clear_value } = first
  const condition = { kind: 'threshold', metric, op: '<', value, clear_value } as const
  const limit = [value, telemetryField?.unit].filter((part) => part !== undefined).join(' ')
  return [typeRule(`${type}_${metric}_levels`, type, { name: `${metric} below ${limit}`, condition, levels })]
}

function typeRule(
  id: string,
  type: string,
  request: {
    readonly name: string
    readonly condition: Condition
    readonly levels?: NonNullable<RuleRequestBody['levels']>
  },
): Rule {
  const outcome = createRule(
    {
      severity: 'warning',
      ...request,
      name: request.name.slice(0, 128),
      target: { type: 'type', value: type },
    },
    { id: `rul_type_${id}`, by: 'system', now: Millis(0) },
  )
  if (outcome.kind === 'mistakes') throw new Error(`rule ${id}: ${outcome.errors[0]?.message}`)
  return { ...outcome.rule, rule_id: RuleId(`rul_type_${id}`), source: 'device_type' }
}

function margin(value: number, range: TelemetryField['range']): number {
  return range === undefined ? Math.abs(value) * CLEAR_SHARE : (range[1] - range[0]) * CLEAR_SHARE
}

/** Sums of decimal fractions as people write them: 3.4, where the double is 3.4000000000000004. */
function roundDouble(value: number): number {
  return Number(value.toPrecision(15))
}
