// Validates a condition and names the place of each mistake. A condition that passes has the type `Condition`.

import {
  type Condition,
  DEPLOYMENT_FAILED_OF,
  FAILED_STATUSES,
  FLEET_AGGREGATES,
  FLEET_UNITS,
  LEAF_KINDS,
  type Leaf,
} from '../../../schemas/alert-condition.ts'
import { isObject } from '../../../schemas/json.ts'
import type { FieldError } from '../../../schemas/problem.ts'
import { COMPARISONS, DEVICE_STATUSES, LOG_LEVELS } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import {
  between,
  type Fields,
  flag,
  listOf,
  metric,
  needed,
  number,
  oneOf,
  oneOrListOfOne,
  scalar,
  text,
  whole,
  wrongType,
} from './condition-fields.ts'
import { checkScope } from './fleet-scope.ts'

const SECONDS = LIMITS.alertDurationSecMax
const GROUP_LEVEL = { check: whole(1, LIMITS.groupLevelsMax) }

const KINDS: Readonly<Record<Leaf['kind'], Fields>> = {
  threshold: {
    metric: needed(metric),
    op: needed(oneOf(COMPARISONS)),
    value: needed(scalar),
    clear_value: { check: number },
  },
  range: {
    metric: needed(metric),
    min: { check: number },
    max: { check: number },
    clear_margin: { check: between(0, Number.MAX_VALUE) },
  },
  absence: { metric: { check: metric }, for_sec: needed(whole(1, SECONDS)) },
  state: { in: { check: listOf(DEVICE_STATUSES) }, connected: { check: flag } },
  rate: {
    metric: needed(metric),
    op: needed(oneOf(COMPARISONS)),
    per_sec: needed(number),
    window_sec: needed(whole(1, 86_400)),
  },
  repeat: {
    // Looked at as a condition of its own.
    condition: needed(() => undefined),
    times: needed(whole(2, 100)),
    within_sec: needed(whole(1, SECONDS)),
  },
  flapping: {},
  out_of_sync: { for_sec: needed(whole(0, SECONDS)) },
  log: { level: needed(oneOf(LOG_LEVELS)), contains: { check: text(LIMITS.ruleMessageCharsMax) } },
  command_failed: {
    command: { check: text(LIMITS.commandNameCharsMax) },
    statuses: { check: listOf(FAILED_STATUSES) },
  },
  deployment_failed: { of: { check: oneOrListOfOne(DEPLOYMENT_FAILED_OF) } },
  dead_letter: { reason: { check: text(LIMITS.labelCharsMax) } },
  heartbeat: {},
  fleet: {
    // Looked at as a condition of its own.
    of: needed(() => undefined),
    op: needed(oneOf(COMPARISONS)),
    value: needed(between(0, Number.MAX_SAFE_INTEGER)),
    unit: { check: oneOf(FLEET_UNITS) },
    min_members: { check: whole(1, 1_000_000) },
    group_level: GROUP_LEVEL,
  },
  fleet_metric: {
    metric: needed(metric),
    agg: needed(oneOf(FLEET_AGGREGATES)),
    op: needed(oneOf(COMPARISONS)),
    value: needed(number),
    clear_value: { check: number },
    stale_after_sec: { check: whole(1, SECONDS) },
    every_sec: { check: whole(10, 86_400) },
    group_level: GROUP_LEVEL,
  },
}

export type CheckedCondition =
  | { readonly kind: 'condition'; readonly condition: Condition }
  | { readonly kind: 'mistakes'; readonly errors: readonly FieldError[] }

/** `path` is the pointer to the condition within the body. */
export function checkCondition(value: unknown, path: string): CheckedCondition {
  const state: CheckState = { errors: [], leaves: 0 }
  checkNode(value, { path, depth: 1 }, state)
  if (state.leaves > LIMITS.conditionLeavesMax)
    state.errors.push({
      path,
      code: 'TOO_MANY',
      message: `has more than ${LIMITS.conditionLeavesMax} leaves`,
    })
  // Every field was checked above, if there is no mistake.
  if (state.errors.length === 0) state.errors.push(...checkScope(value as Condition, path))
  const errors = state.errors.slice(0, LIMITS.validationErrorsMax)
  if (errors.length > 0) return { kind: 'mistakes', errors }
  return { kind: 'condition', condition: value as Condition }
}

interface CheckState {
  readonly errors: FieldError[]
  leaves: number
}
interface Place {
  readonly path: string
  readonly depth: number
}

function checkNode(value: unknown, place: Place, state: CheckState): void {
  const { path, depth } = place
  const { errors } = state
  if (!isObject(value)) {
    errors.push({ path, ...wrongType('an object') })
    return
  }
  if (depth > LIMITS.conditionDepthMax) {
    errors.push({
      path,
      code: 'TOO_DEEP',
      message: `is nested deeper than ${LIMITS.conditionDepthMax} levels`,
    })
    return
  }
  const [only] = Object.keys(value)
  if (Object.keys(value).length === 1 && (only === 'all' || only === 'any' || only === 'not'))
    checkBranch(only, value[only], place, state)
  else checkLeaf(value, path, state)
}

function checkBranch(name: 'all' | 'any' | 'not', inner: unknown, place: Place, state: CheckState): void {
  const path = `${place.path}/${name}`
  const depth = place.depth + 1
  if (name === 'not') {
    checkNode(inner, { path, depth }, state)
    return
  }
  if (!Array.isArray(inner)) {
    state.errors.push({ path, ...wrongType('a list of conditions') })
    return
  }
  if (inner.length === 0 || inner.length > LIMITS.conditionLeavesMax) {
    const [code, bound] = inner.length === 0 ? ['TOO_FEW', 'at least 1'] : ['TOO_MANY', 'at most 16']
    state.errors.push({ path, code, message: `must have ${bound} conditions` })
    return
  }
  inner.forEach((each, i) => {
    checkNode(each, { path: `${path}/${i}`, depth }, state)
  })
}

function checkLeaf(value: Readonly<Record<string, unknown>>, path: string, state: CheckState): void {
  const { errors } = state
  const { kind } = value
  state.leaves++
  const known: readonly unknown[] = LEAF_KINDS
  if (!known.includes(kind)) {
    errors.push({
      path: `${path}/kind`,
      code: kind === undefined ? 'REQUIRED' : 'NOT_ALLOWED',
      message: `must be one of ${LEAF_KINDS.join(', ')}, or the condition is {"all":[…]}, {"any":[…]} or {"not":…}`,
    })
    return
  }
  // It is one of the list.
  const leaf = kind as Leaf['kind']
  const fields = KINDS[leaf]
  const before = errors.length
  for (const name of Object.keys(value))
    if (name !== 'kind' && !Object.hasOwn(fields, name))
      errors.push({
        path: `${path}/${pointerPart(name)}`,
        code: 'UNKNOWN_PARAMETER',
        message: `is not known; ${leaf} has ${Object.keys(fields).join(', ') || 'no fields'}`,
      })
  for (const [name, { check, isNeeded }] of Object.entries(fields)) {
    const fieldValue = value[name]
    if (fieldValue === undefined && isNeeded !== true) continue
    const mistake =
      fieldValue === undefined ? { code: 'REQUIRED', message: 'is required' } : check(fieldValue)
    if (mistake !== undefined) errors.push({ path: `${path}/${name}`, ...mistake })
  }
  if (errors.length > before) return
  if (leaf === 'repeat') checkRepeated(value['condition'], `${path}/condition`, state)
  else if (leaf === 'fleet') checkFleetOf(value, path, state)
  // Its fields were checked one by one above. What remains is whether they fit together.
  else errors.push(...checkFieldsFit(value as Leaf, path))
}

function checkRepeated(inner: unknown, path: string, state: CheckState): void {
  const isLeaf = isObject(inner) && 'kind' in inner && inner['kind'] !== 'repeat'
  if (isLeaf) checkLeaf(inner, path, state)
  else state.errors.push({ path, code: 'NOT_ALLOWED', message: 'must be a condition without others inside' })
  state.leaves--
}

/** What members are counted for: a state, that they flap, or an alert of another rule. */
function checkFleetOf(value: Readonly<Record<string, unknown>>, path: string, state: CheckState): void {
  const { of: counted, unit, value: bound } = value
  const at = `${path}/of`
  if (unit === 'percent' && typeof bound === 'number' && bound > 100)
    state.errors.push({
      path: `${path}/value`,
      code: 'OUT_OF_RANGE',
      message: 'must be at most 100 percent',
    })
  if (isObject(counted) && 'rule_id' in counted) {
    const mistake = text(LIMITS.ruleIdCharsMax)(counted['rule_id'])
    if (mistake !== undefined) state.errors.push({ path: `${at}/rule_id`, ...mistake })
    for (const name of Object.keys(counted))
      if (name !== 'rule_id')
        state.errors.push({
          path: `${at}/${pointerPart(name)}`,
          code: 'UNKNOWN_PARAMETER',
          message: 'is not known beside rule_id',
        })
  } else if (isObject(counted) && (counted['kind'] === 'state' || counted['kind'] === 'flapping')) {
    checkLeaf(counted, at, state)
    state.leaves--
  } else
    state.errors.push({
      path: at,
      code: 'NOT_ALLOWED',
      message: 'must be a condition of the kind state or flapping, or {"rule_id":"…"}',
    })
}

/** A name as a part of a JSON pointer. */
function pointerPart(name: string): string {
  return name.slice(0, 128).replaceAll('~', '~0').replaceAll('/', '~1')
}

function checkFieldsFit(leaf: Leaf, path: string): readonly FieldError[] {
  if (leaf.kind === 'threshold') return checkThreshold(leaf, path)
  if (leaf.kind === 'range') {
    const { min, max, clear_margin: margin = 0 } = leaf
    if (min === undefined && max === undefined)
      return [{ path, code: 'REQUIRED', message: 'needs min, max or both' }]
    if (min !== undefined && max !== undefined && min + margin > max - margin)
      return [{ path: `${path}/max`, code: 'OUT_OF_RANGE', message: 'leaves no value that is inside' }]
  }
  if (leaf.kind === 'fleet_metric' && leaf.clear_value !== undefined) return checkThreshold(leaf, path)
  if (leaf.kind === 'state' && leaf.in === undefined && leaf.connected === undefined)
    return [{ path, code: 'REQUIRED', message: 'needs in, connected or both' }]
  return []
}

function checkThreshold(
  {
    op,
    value,
    clear_value: clear,
  }: Pick<Extract<Leaf, { kind: 'threshold' }>, 'op' | 'value' | 'clear_value'>,
  path: string,
): readonly FieldError[] {
  if (typeof value !== 'number' && op !== '==' && op !== '!=')
    return [{ path: `${path}/op`, code: 'NOT_ALLOWED', message: 'must be == or != for this value' }]
  if (clear === undefined) return []
  const at = `${path}/clear_value`
  if (typeof value !== 'number' || op === '==' || op === '!=')
    return [{ path: at, code: 'NOT_ALLOWED', message: 'goes with >, >=, < and <= only' }]
  const isAbove = op === '>' || op === '>='
  if (isAbove ? clear > value : clear < value)
    return [
      {
        path: at,
        code: 'OUT_OF_RANGE',
        message: `must not be ${isAbove ? 'greater' : 'less'} than value`,
      },
    ]
  return []
}
