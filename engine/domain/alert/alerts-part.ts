// What a device keeps of its alerts beside its record. It is replaced as a whole on change; the same reference means
// unchanged (R7). What moves with every value (how long a condition has been true, the value, the count) is a vital and
// is in `watch.ts`.
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
  /** Tells whether the rule judges today as it did at the last move. */
  readonly ruleKey: string
  readonly description: string | null
  readonly labels: Readonly<Record<string, string>>
  readonly groupBy: AlertGrouping
  /** The rule's channels; null means those that are default. */
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
  /** Up to when `count` counts. */
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
  /** It is one of too many episodes in a short while, and stays open until its condition was false for long. */
  readonly flapping: boolean
  /** When somebody was last told that it fires; undefined while it is muted. */
  readonly toldAt: Millis | undefined
  /** Nobody is reminded of it before then, and then somebody is if it still fires. */
  readonly snoozedUntil?: Millis | undefined
  readonly snoozedBy?: string | undefined
  /** Somebody was told of this episode at least once. */
  readonly wasTold: boolean
  /** Grows with every move, and orders notifications. */
  readonly revision: number
}

/** What is remembered of a rule on a device when none of its alerts is open. */
export interface RuleMemo {
  readonly ruleId: RuleId
  /** An episode must begin after this moment: what was true before has had its alert. */
  readonly endedAt: Micros
  /** What the rule asked then, as `CompiledRule.key`: what is true by another condition has had no alert. */
  readonly ruleKey?: string | undefined
  /** A condition that is still true gives a new alert from then on, although it was never false. */
  readonly snoozedUntil: Millis | undefined
  /** When the latest episodes fired, oldest first. */
  readonly episodes: readonly Millis[]
}

export interface Alerts {
  readonly open: readonly Alert[]
  /** The latest ones, newest first. */
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

/** What is remembered of rules that are deleted goes with the next change. */
export function withMemosOf(alerts: Alerts, isKnown: (id: RuleId) => boolean): Alerts {
  const memos = alerts.memos.filter(({ ruleId }) => isKnown(ruleId))
  return memos.length === alerts.memos.length ? alerts : { ...alerts, memos }
}
