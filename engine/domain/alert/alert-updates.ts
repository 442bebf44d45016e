// The alerts of a device after one of them moved.
import { Micros, type Millis, toMillis } from '../../../schemas/ids.ts'
import type { AlertEndReason } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import { type Alert, type Alerts, memoOf, type RuleMemo } from './alerts-part.ts'

/** Resolves an alert whatever its condition says. */
export function resolveAlert(
  alerts: Alerts,
  alert: Alert,
  {
    reason,
    now,
    snoozedUntil,
  }: { readonly reason: AlertEndReason; readonly now: Micros; readonly snoozedUntil?: Millis | undefined },
): { readonly alerts: Alerts; readonly alert: Alert } {
  // A sweep judges as of the time at which it began, and the alert may have fired by a message that came meanwhile.
  const at = Micros(Math.max(now, alert.firedAt * 1_000))
  const ended: Alert = {
    ...alert,
    resolvedAt: toMillis(at),
    reason,
    revision: alert.revision + 1,
  }
  const before = memoOf(alerts, alert.ruleId)
  const memo: RuleMemo = {
    ruleId: alert.ruleId,
    endedAt: at,
    ruleKey: alert.ruleKey,
    // Ended by its rule and not by its condition: once the rule judges again, what is still true is news.
    snoozedUntil: reason === 'recovered' || reason === 'user' ? snoozedUntil : toMillis(at),
    episodes: before?.episodes ?? [],
  }
  return {
    alert: ended,
    alerts: {
      open: alerts.open.filter(({ id }) => id !== alert.id),
      resolved: [ended, ...alerts.resolved].slice(0, LIMITS.alertsResolvedKeptMax),
      memos: [...alerts.memos.filter(({ ruleId }) => ruleId !== alert.ruleId), memo],
    },
  }
}

/** The same alerts with this one in the place of its predecessor. */
export function withOpenAlert(alerts: Alerts, alert: Alert): Alerts {
  const isKnown = alerts.open.some(({ id }) => id === alert.id)
  const open = isKnown
    ? alerts.open.map((each) => (each.id === alert.id ? alert : each))
    : [...alerts.open, alert]
  return { ...alerts, open }
}
