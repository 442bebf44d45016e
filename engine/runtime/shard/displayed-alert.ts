// How an open or resolved alert is shown: from its record, with current values from the vitals.
import { toMillis } from '../../../schemas/ids.ts'
import type { Alert } from '../../domain/alert/alerts-part.ts'
import type { DisplayedState } from '../../domain/alert/body.ts'
import { findingsOf, type JudgeContext, mutedBy } from '../../domain/alert/judge.ts'
import type { Device } from '../../domain/device/record.ts'
import type { Actor } from './actor.ts'
import { phaseAt } from './alert-phases.ts'

/** `device`: the record that contains the alert. The actor's own record may be older. */
export function displayedState(
  { watch }: Actor,
  alert: Alert,
  { device, occasion }: { readonly device: Device; readonly occasion: JudgeContext },
): DisplayedState {
  const now = toMillis(occasion.now)
  const rule = watch?.fit.ruleIndex.get(alert.ruleId)
  const compiled = rule === undefined ? undefined : watch?.fit.rules[rule]
  if (alert.resolvedAt !== undefined) return { state: 'resolved', suppressedBy: [] }
  if (watch === undefined || rule === undefined || compiled === undefined)
    return { state: 'firing', suppressedBy: [] }
  const phase = phaseAt(watch, rule, device.alerts, now)
  const isSnoozed = alert.snoozedUntil !== undefined && now < alert.snoozedUntil
  const muted = mutedBy(compiled, alert.severity, device.alerts, occasion)
  return {
    state: phase === 'recovering' ? 'recovering' : 'firing',
    suppressedBy: isSnoozed ? [...muted, 'snooze'] : muted,
  }
}

/** The alert with its current values. */
export function withCurrentValues({ watch, device }: Actor, alert: Alert, occasion: JudgeContext): Alert {
  const rule = watch?.fit.ruleIndex.get(alert.ruleId)
  if (watch === undefined || rule === undefined || alert.resolvedAt !== undefined) return alert
  const { value, lastValueAt, count } = findingsOf(watch, rule, {
    alerts: device.alerts,
    refreshed: undefined,
    occasion: { ...occasion, eventValue: alert.value },
  })
  return { ...alert, value: value ?? alert.value, lastValueAt: lastValueAt ?? alert.lastValueAt, count }
}
