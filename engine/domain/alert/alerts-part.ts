// The part of a device's record that is about its alerts. It is replaced as a whole on change; the same reference means
// unchanged (R7). What changes with every value (since when a condition is true, the value, the count) is a vital and is
// in `watch.ts`.
import type { AlertId, Micros, Millis, RuleId } from '../../../schemas/ids.ts'
import type { Json } from '../../../schemas/json.ts'
import type { AlertEndReason, AlertGrouping, AlertSeverity } from '../../../schemas/vocabulary.ts'

export interface AlertComment {
  readonly at: Millis
  readonly by: string
  readonly text: string
}

/** One episode of a rule on a device. */
export interface Alert {
  readonly id: AlertId
  readonly ruleId: RuleId
  readonly ruleName: string
  /** Shows whether the rule is still judged as it was at the last move. */
  readonly ruleKey: string
  readonly description: string | null
  readonly labels: Readonly<Record<string, string>>
  readonly groupBy: AlertGrouping
  /** The rule's channels; null means the default channels. */
  readonly channels: readonly string[] | null
  readonly sendResolved: boolean
  /** Kind of the condition, or `no_data`. */
  readonly type: string
  readonly metric: string | undefined
  readonly severity: AlertSeverity
  readonly highestSeverity: AlertSeverity
  readonly threshold: Json
  /** The value at the last move. */
  readonly value: Json
  readonly lastValueAt: Millis | undefined
  readonly count: number
  /** The time up to which `count` has been counted. */
  readonly countedAt: Micros
  /** When the condition became true. */
  readonly startedAt: Micros
  readonly firedAt: Millis
  readonly resolvedAt: Millis | undefined
  readonly reason: AlertEndReason | undefined
  readonly message: string
  readonly acknowledgedAt: Millis | undefined
  readonly acknowledgedBy: string | undefined
  readonly assignee: string | undefined
  readonly comments: readonly AlertComment[]
  /** Too many episodes followed each other in a short time, so this one stays open until its condition has been false for long. */
  readonly flapping: boolean
  /** When a notification last said that it fires; undefined while it is muted. */
  readonly toldAt: Millis | undefined
  /** No reminder is sent before this time. If the alert still fires then, one is sent. */
  readonly snoozedUntil?: Millis | undefined
  readonly snoozedBy?: string | undefined
  /** At least one notification of this episode was sent. */
  readonly wasTold: boolean
  /** Grows with every move, and orders notifications. */
  readonly revision: number
}

/** What is remembered of a rule on a device when none of its alerts is open. */
export interface RuleMemo {
  readonly ruleId: RuleId
  /** An episode must begin after this time: earlier conditions have had their alert. */
  readonly endedAt: Micros
  /** The rule's condition at that time, as `CompiledRule.key`. Another condition has not had its alert. */
  readonly ruleKey?: string | undefined
  /** A condition that is still true at this time opens a new alert, although it was never false. */
  readonly snoozedUntil: Millis | undefined
  /** When the latest episodes fired, oldest first. */
  readonly episodes: readonly Millis[]
}

export interface Alerts {
  readonly open: readonly Alert[]
  /** The latest resolved alerts, newest first. */
  readonly resolved: readonly Alert[]
  readonly memos: readonly RuleMemo[]
}

export const NO_ALERTS: Alerts = Object.freeze({ open: [], resolved: [], memos: [] })

export function openOf({ open }: Alerts, ruleId: RuleId): Alert | undefined {
  for (const alert of open) if (alert.ruleId === ruleId) return alert
  return undefined
}

export function memoOf({ memos }: Alerts, ruleId: RuleId): RuleMemo | undefined {
  for (const memo of memos) if (memo.ruleId === ruleId) return memo
  return undefined
}

/** Removes memos of deleted rules with the next change. */
export function withMemosOf(alerts: Alerts, isKnown: (id: RuleId) => boolean): Alerts {
  const memos = alerts.memos.filter(({ ruleId }) => isKnown(ruleId))
  return memos.length === alerts.memos.length ? alerts : { ...alerts, memos }
}
