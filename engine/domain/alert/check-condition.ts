// Whether a condition may be kept, with the place of each mistake. What passes has the type `Condition`.
import { type Condition, FAILED_STATUSES, LEAF_KINDS, type Leaf } from '../../../schemas/alert-condition.ts'
import type { FieldError } from '../../../schemas/problem.ts'
import { COMPARISONS, DEVICE_STATUSES, LOG_LEVELS } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'

type Mistake = Pick<FieldError, 'code' | 'message'>
type Check = (value: unknown) => Mistake | undefined
interface Field {
  readonly check: Check
  readonly isNeeded?: true
}
type Fields = Readonly<Record<string, Field>>

const SECONDS = LIMITS.alertDurationSecMax
const metric: Check = text(LIMITS.metricNameBytesMax)
const number: Check = (value) =>
  typeof value === 'number' && Number.isFinite(value) ? undefined : wrongType('a number')

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
  dead_letter: { reason: { check: text(LIMITS.labelCharsMax) } },
  heartbeat: {},
}

export type CheckedCondition =
  | { readonly kind: 'condition'; readonly condition: Condition }
  | { readonly kind: 'mistakes'; readonly errors: readonly FieldError[] }

/** `path` is the pointer to the condition within the body. */
export function checkCondition(value: unknown, path: string): CheckedCondition {
  const checking: Checking = { errors: [], leaves: 0 }
  checkNode(value, { path, depth: 1 }, checking)
  if (checking.leaves > LIMITS.conditionLeavesMax)
    checking.errors.push({
      path,
      code: 'TOO_MANY',
      message: `has more than ${LIMITS.conditionLeavesMax} leaves`,
    })
  const errors = checking.errors.slice(0, LIMITS.validationErrorsMax)
  if (errors.length > 0) return { kind: 'mistakes', errors }
  // Every field was checked above.
  return { kind: 'condition', condition: value as Condition }
}

interface Checking {
  readonly errors: FieldError[]
  leaves: number
}
interface Place {
  readonly path: string
  readonly depth: number
}

function checkNode(value: unknown, place: Place, checking: Checking): void {
  const { path, depth } = place
  const { errors } = checking
  if (!isRecord(value)) {
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
    checkBranch(only, value[only], place, checking)
  else checkLeaf(value, path, checking)
}

function checkBranch(name: 'all' | 'any' | 'not', inner: unknown, place: Place, checking: Checking): void {
  const path = `${place.path}/${name}`
  const depth = place.depth + 1
  if (name === 'not') {
    checkNode(inner, { path, depth }, checking)
    return
  }
  if (!Array.isArray(inner)) {
    checking.errors.push({ path, ...wrongType('a list of conditions') })
    return
  }
  if (inner.length === 0 || inner.length > LIMITS.conditionLeavesMax) {
    const [code, bound] = inner.length === 0 ? ['TOO_FEW', 'at least 1'] : ['TOO_MANY', 'at most 16']
    checking.errors.push({ path, code, message: `must have ${bound} conditions` })
    return
  }
  inner.forEach((each, i) => {
    checkNode(each, { path: `${path}/${i}`, depth }, checking)
  })
}

function checkLeaf(value: Readonly<Record<string, unknown>>, path: string, checking: Checking): void {
  const { errors } = checking
  const { kind } = value
  checking.leaves++
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
        path: `${path}/${name.slice(0, 128).replaceAll('~', '~0').replaceAll('/', '~1')}`,
        code: 'UNKNOWN_PARAMETER',
        message: `is not known; ${leaf} has ${Object.keys(fields).join(', ') || 'no fields'}`,
      })
  for (const [name, { check, isNeeded }] of Object.entries(fields)) {
    const given = value[name]
    if (given === undefined && isNeeded !== true) continue
    const mistake = given === undefined ? { code: 'REQUIRED', message: 'is required' } : check(given)
    if (mistake !== undefined) errors.push({ path: `${path}/${name}`, ...mistake })
  }
  if (errors.length > before) return
  if (leaf === 'repeat') checkRepeated(value['condition'], `${path}/condition`, checking)
  // Its fields are checked one by one above; what is left is how they fit together.
  else errors.push(...checkTogether(value as Leaf, path))
}

function checkRepeated(inner: unknown, path: string, checking: Checking): void {
  const isLeaf = isRecord(inner) && 'kind' in inner && inner['kind'] !== 'repeat'
  if (isLeaf) checkLeaf(inner, path, checking)
  else
    checking.errors.push({ path, code: 'NOT_ALLOWED', message: 'must be a condition without others inside' })
  checking.leaves--
}

function checkTogether(leaf: Leaf, path: string): readonly FieldError[] {
  if (leaf.kind === 'threshold') return checkThreshold(leaf, path)
  if (leaf.kind === 'range') {
    const { min, max, clear_margin: margin = 0 } = leaf
    if (min === undefined && max === undefined)
      return [{ path, code: 'REQUIRED', message: 'needs min, max or both' }]
    if (min !== undefined && max !== undefined && min + margin > max - margin)
      return [{ path: `${path}/max`, code: 'OUT_OF_RANGE', message: 'leaves no value that is inside' }]
  }
  if (leaf.kind === 'state' && leaf.in === undefined && leaf.connected === undefined)
    return [{ path, code: 'REQUIRED', message: 'needs in, connected or both' }]
  return []
}

function checkThreshold(
  { op, value, clear_value: clear }: Extract<Leaf, { kind: 'threshold' }>,
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

function needed(check: Check): Field {
  return { check, isNeeded: true }
}

function text(charsMax: number): Check {
  return (value) => {
    if (typeof value !== 'string') return wrongType('a text')
    if (value === '') return { code: 'TOO_SHORT', message: 'must not be empty' }
    if (value.length > charsMax)
      return { code: 'TOO_LONG', message: `must have at most ${charsMax} characters` }
    return undefined
  }
}

function scalar(value: unknown): Mistake | undefined {
  if (typeof value === 'string') return text(LIMITS.ruleMessageCharsMax)(value)
  return typeof value === 'boolean' ? undefined : number(value)
}

function flag(value: unknown): Mistake | undefined {
  return typeof value === 'boolean' ? undefined : wrongType('true or false')
}

function oneOf(words: readonly string[]): Check {
  return (value) =>
    typeof value === 'string' && words.includes(value)
      ? undefined
      : { code: 'NOT_ALLOWED', message: `must be one of ${words.join(', ')}` }
}

function listOf(words: readonly string[]): Check {
  const isWord = oneOf(words)
  return (value) => {
    if (!Array.isArray(value)) return wrongType('a list')
    if (value.length === 0) return { code: 'TOO_FEW', message: 'must not be empty' }
    if (value.length > words.length) return { code: 'TOO_MANY', message: 'has words more than once' }
    return value.map(isWord).find((mistake) => mistake !== undefined)
  }
}

function between(min: number, max: number): Check {
  return (value) => {
    if (typeof value !== 'number' || !Number.isFinite(value)) return wrongType('a number')
    return value >= min && value <= max
      ? undefined
      : { code: 'OUT_OF_RANGE', message: `must be from ${min} to ${max}` }
  }
}

function whole(min: number, max: number): Check {
  const isBetween = between(min, max)
  return (value) => isBetween(value) ?? (Number.isInteger(value) ? undefined : wrongType('a whole number'))
}

function wrongType(what: string): Mistake {
  return { code: 'WRONG_TYPE', message: `must be ${what}` }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
