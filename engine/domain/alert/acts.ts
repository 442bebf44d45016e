// What people do to an alert: acknowledge, assign, comment, resolve.
import { type AlertId, Micros, Millis } from '../../../schemas/ids.ts'
import type { Refusal } from '../../../schemas/refusals.ts'
import { LIMITS } from '../../limits.ts'
import { unreachable } from '../unreachable.ts'
import { resolveAlert, withOpenAlert } from './alert-updates.ts'
import type { Alert, Alerts } from './alerts-part.ts'
import type { Move } from './decide.ts'

export type AlertAct =
  | { readonly kind: 'ack'; readonly comment?: string | undefined }
  | { readonly kind: 'unack' }
  | {
      readonly kind: 'resolve'
      readonly comment?: string | undefined
      readonly snoozeSec?: number | undefined
    }
  | { readonly kind: 'snooze'; readonly until: Millis }
  | { readonly kind: 'unsnooze' }
  | { readonly kind: 'assign'; readonly userId: string | undefined }
  | { readonly kind: 'comment'; readonly text: string }

export type ActOutcome =
  /** `move` is undefined if nothing changed. */
  | {
      readonly kind: 'acted'
      readonly alerts: Alerts
      readonly alert: Alert
      readonly move: Move | undefined
    }
  | Refusal

interface Actor {
  readonly by: string
  readonly now: Millis
}

export function applyAct(alerts: Alerts, id: AlertId, act: AlertAct, actor: Actor): ActOutcome {
  const open = alerts.open.find((alert) => alert.id === id)
  const alert = open ?? alerts.resolved.find((each) => each.id === id)
  if (alert === undefined) return { kind: 'refused', code: 'NOT_FOUND', detail: {} }
  if (open === undefined && act.kind !== 'comment')
    return {
      kind: 'refused',
      code: 'INVALID_STATE_TRANSITION',
      detail: { message: 'the alert is resolved', from: 'resolved', allowed: [] },
    }
  const text = 'comment' in act ? act.comment : act.kind === 'comment' ? act.text : undefined
  if (text !== undefined && alert.comments.length >= LIMITS.alertCommentsMax)
    return { kind: 'refused', code: 'LIMIT_REACHED', detail: { limit: LIMITS.alertCommentsMax } }
  const changed = withAct(alert, act, actor)
  const commented = text === undefined ? changed : withComment(changed, text, actor)
  if (commented === alert && act.kind !== 'resolve') return { kind: 'acted', alerts, alert, move: undefined }
  if (act.kind === 'resolve') return resolveByUser(alerts, commented, { act: act, now: actor.now })
  const after = { ...commented, revision: alert.revision + 1 }
  const move: Move = { event: 'updated', alert: after, notice: undefined }
  return { kind: 'acted', alerts: replaceAlert(alerts, after), alert: after, move }
}

function withAct(alert: Alert, act: AlertAct, { by, now }: Actor): Alert {
  switch (act.kind) {
    case 'ack':
      return alert.acknowledgedAt === undefined
        ? { ...alert, acknowledgedAt: now, acknowledgedBy: by }
        : alert
    case 'unack':
      return alert.acknowledgedAt === undefined
        ? alert
        : { ...alert, acknowledgedAt: undefined, acknowledgedBy: undefined }
    case 'snooze':
      return alert.snoozedUntil === act.until ? alert : { ...alert, snoozedUntil: act.until, snoozedBy: by }
    case 'unsnooze':
      return alert.snoozedUntil === undefined
        ? alert
        : { ...alert, snoozedUntil: undefined, snoozedBy: undefined }
    case 'assign':
      return alert.assignee === act.userId ? alert : { ...alert, assignee: act.userId }
    case 'resolve':
    case 'comment':
      return alert
    default:
      return unreachable(act)
  }
}

function withComment(alert: Alert, text: string, { by, now: at }: Actor): Alert {
  return { ...alert, comments: [...alert.comments, { at, by, text }] }
}

function resolveByUser(
  alerts: Alerts,
  alert: Alert,
  { act, now }: { readonly act: Extract<AlertAct, { kind: 'resolve' }>; readonly now: Millis },
): ActOutcome {
  const snoozedUntil = act.snoozeSec === undefined ? undefined : Millis(now + act.snoozeSec * 1_000)
  // Until the end of this millisecond: conditions that are true now have had their alert.
  const at = Micros(now * 1_000 + 999)
  const ended = resolveAlert(withOpenAlert(alerts, alert), alert, { reason: 'user', now: at, snoozedUntil })
  const notice = alert.wasTold ? 'resolved' : undefined
  return {
    kind: 'acted',
    alerts: ended.alerts,
    alert: ended.alert,
    move: { event: 'resolved', alert: ended.alert, notice },
  }
}

function replaceAlert(alerts: Alerts, alert: Alert): Alerts {
  const replaceIn = (list: readonly Alert[]) => list.map((each) => (each.id === alert.id ? alert : each))
  return { ...alerts, open: replaceIn(alerts.open), resolved: replaceIn(alerts.resolved) }
}
