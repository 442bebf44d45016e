// Whether a leaf is true, since when, and when the passing of time alone will change that. There are three truth values,
// because the truth of a metric that was never seen is unknown.
import type { Leaf } from '../../../schemas/alert-condition.ts'
import type { Comparison } from '../../../schemas/vocabulary.ts'
import { isEmpty } from '../shadow/json-object.ts'
import { computeDelta } from '../shadow/merge.ts'
import { unreachable } from '../unreachable.ts'
import { deltaSince } from './delta-since.ts'
import type { Rule } from './rule.ts'
import type { Subject } from './subject.ts'

export const TRUTH = { no: 0, unknown: 1, yes: 2 } as const
/** 0, 1 or 2. A plain number, because it is stored in an array of numbers. */
export type Truth = number

/** What is known of a device besides its values. Times are microseconds unless their name says otherwise. */
export interface DeviceFacts {
  readonly device: Pick<Subject, 'status' | 'statusSince' | 'createdAt' | 'shadow'>
  readonly connected: boolean
  readonly connectedSinceMs: number
  readonly flapsUntilMs: number
  /** Silence counts only from this time on, because devices could not be heard before. */
  readonly forgivenAtMs: number
  /** How long a device may take to be heard again after that. */
  readonly graceMs: number
}

/** What is remembered of the leaf and its metric. */
export interface LeafMemory {
  /** Truth by the last value. */
  readonly truth: Truth
  /** When its metric, or any telemetry if it has none, was last received; 0 for never. */
  readonly receivedAt: number
  /** When the condition of a repeat became true, oldest first. */
  readonly edges: readonly number[]
  /** It is an event, and happens now. */
  readonly isNow: boolean
}

export interface LeafState {
  truth: Truth
  /** Microseconds. */
  changedAt: number
  /** When time alone changes the truth next, in microseconds. */
  nextAt: number
  isNoData: boolean
}

const NEVER = Number.POSITIVE_INFINITY

/** Writes the answer to `into`, because it is asked often. */
export function leafState(
  leaf: Leaf,
  memory: LeafMemory,
  { rule, facts, now }: { readonly rule: Rule; readonly facts: DeviceFacts; readonly now: number },
  into: LeafState,
): void {
  into.nextAt = NEVER
  into.isNoData = false
  into.changedAt = now
  switch (leaf.kind) {
    case 'threshold':
    case 'range':
    case 'rate':
      into.truth = memory.truth
      if (memory.receivedAt > 0) into.changedAt = memory.receivedAt
      applyNoData(memory, { rule, facts: facts, now }, into)
      return
    case 'absence': {
      const at = absentAt(leaf.for_sec, memory.receivedAt, { rule, facts: facts })
      if (facts.device.status === 'provisioning') into.truth = TRUTH.no
      else setTrueFrom(at, now, into)
      if (into.truth === TRUTH.no && memory.receivedAt > 0) into.changedAt = memory.receivedAt
      return
    }
    case 'state': {
      const { device, connected } = facts
      const isIn = leaf.in === undefined || leaf.in.includes(device.status)
      const isAs = leaf.connected === undefined || leaf.connected === connected
      into.truth = isIn && isAs ? TRUTH.yes : TRUTH.no
      const since = [
        ...(leaf.in === undefined ? [] : [device.statusSince]),
        ...(leaf.connected === undefined ? [] : [facts.connectedSinceMs]),
      ]
      into.changedAt = Math.max(...since) * 1_000
      return
    }
    case 'flapping':
      into.truth = now < facts.flapsUntilMs * 1_000 ? TRUTH.yes : TRUTH.no
      if (into.truth === TRUTH.yes) into.nextAt = facts.flapsUntilMs * 1_000
      else if (facts.flapsUntilMs > 0) into.changedAt = facts.flapsUntilMs * 1_000
      return
    case 'out_of_sync': {
      const since = deltaSinceMs(facts.device.shadow)
      if (since === undefined) into.truth = TRUTH.no
      else setTrueFrom((since + leaf.for_sec * 1_000) * 1_000, now, into)
      return
    }
    case 'repeat': {
      const { edges } = memory
      const first = edges[edges.length - leaf.times]
      const until = first === undefined ? 0 : first + leaf.within_sec * 1_000_000
      const last = edges.at(-1) ?? now
      into.truth = until > now ? TRUTH.yes : TRUTH.no
      if (until > now) into.nextAt = until
      into.changedAt = until > now ? last : until || now
      return
    }
    case 'log':
    case 'command_failed':
    case 'dead_letter':
    case 'deployment_failed':
      into.truth = memory.isNow ? TRUTH.yes : TRUTH.no
      return
    case 'fleet':
    case 'fleet_metric':
      // The leader judges these.
      into.truth = TRUTH.unknown
      return
    case 'heartbeat':
      into.truth = TRUTH.yes
      into.changedAt = facts.device.createdAt * 1_000
      return
    default:
      unreachable(leaf)
  }
}

/** True from `at` onwards. */
function setTrueFrom(at: number, now: number, into: LeafState): void {
  into.truth = at <= now ? TRUTH.yes : TRUTH.no
  if (at <= now) into.changedAt = at
  else into.nextAt = at
}

/** When the silence will have lasted long enough. A device that could not be heard gets some time to be heard again. */
function absentAt(
  forSec: number,
  receivedAt: number,
  { rule, facts }: { readonly rule: Rule; readonly facts: DeviceFacts },
): number {
  const { device, forgivenAtMs, graceMs } = facts
  const since = Math.max(receivedAt, rule.activated_at * 1_000, device.createdAt * 1_000)
  const grace = Math.min(forSec * 1_000, graceMs)
  return Math.max(since + forSec * 1_000_000, (forgivenAtMs + grace) * 1_000)
}

function applyNoData(
  { receivedAt }: LeafMemory,
  about: { readonly rule: Rule; readonly facts: DeviceFacts; readonly now: number },
  into: LeafState,
): void {
  const { no_data: policy, no_data_after_sec: afterSec } = about.rule
  if (policy === 'keep' || about.facts.device.status === 'provisioning') return
  // A metric that was never received counts as missing only with the policy `alert`.
  if (receivedAt === 0 && policy === 'ok') return
  const at = absentAt(afterSec, receivedAt, about)
  if (at > about.now) {
    into.nextAt = at
    return
  }
  into.changedAt = at
  into.truth = policy === 'alert' ? TRUTH.yes : TRUTH.no
  into.isNoData = policy === 'alert'
}

function deltaSinceMs({
  desired,
  reported,
  desiredTimes,
  reportedTimes,
}: Subject['shadow']): number | undefined {
  const delta = computeDelta(desired, reported)
  if (isEmpty(delta)) return undefined
  return deltaSince(delta, desiredTimes, reportedTimes)
}

/** Whether the value meets the threshold. If it did before, it does until the clearing value is reached. */
export function meetsThreshold(
  value: number | string,
  { op, value: wanted, clear_value: clear }: Extract<Leaf, { kind: 'threshold' }>,
  wasTrue: boolean,
): boolean {
  if (typeof wanted === 'string' || typeof value === 'string') {
    const isSame = value === wanted
    return op === '==' ? isSame : op === '!=' && !isSame
  }
  if (comparisonHolds(op, value, Number(wanted))) return true
  if (!wasTrue || clear === undefined) return false
  return op === '>' || op === '>=' ? value > clear : value < clear
}

export function comparisonHolds(op: Comparison, left: number, right: number): boolean {
  switch (op) {
    case '>':
      return left > right
    case '>=':
      return left >= right
    case '<':
      return left < right
    case '<=':
      return left <= right
    case '==':
      return left === right
    case '!=':
      return left !== right
    default:
      return unreachable(op)
  }
}

export function isOutside(
  value: number,
  { min, max, clear_margin: margin = 0 }: Extract<Leaf, { kind: 'range' }>,
  wasTrue: boolean,
): boolean {
  const by = wasTrue ? margin : 0
  return (min !== undefined && value < min + by) || (max !== undefined && value > max - by)
}
