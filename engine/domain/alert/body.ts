// An alert as REST, /ws, the timeline and notifications show it, without its link, which only the API knows.
import { type DeviceId, type Millis, toIso, toMillis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { AlertState } from '../../../schemas/vocabulary.ts'
import { unreachable } from '../unreachable.ts'
import type { Alert } from './alerts-part.ts'
import type { CompiledRule } from './compile.ts'
import type { Notice, NoticeEvent } from './notice.ts'
import { DEFAULT_MESSAGE } from './rule.ts'
import type { Member } from './subject.ts'
import { fillTemplate } from './template.ts'

export interface DisplayedState {
  readonly state: AlertState
  readonly suppressedBy: readonly string[]
}

/** What an alert is about. Without an id it is about the fleet, or a group of it. */
export type AlertSource = Pick<Member, 'name' | 'type' | 'group'> & { readonly id: DeviceId | undefined }

const isoOrNull = (at: Millis | undefined) => (at === undefined ? null : toIso(at))

export function alertBody(
  alert: Alert,
  device: AlertSource,
  { state, suppressedBy }: DisplayedState,
): JsonObject {
  return {
    alert_id: alert.id,
    rule_id: alert.ruleId,
    rule_name: alert.ruleName,
    scope: device.id === undefined ? 'fleet' : 'device',
    device_id: device.id ?? null,
    group: device.group ?? null,
    group_key: groupKeyOf(alert, device),
    type: alert.type,
    metric: alert.metric ?? null,
    severity: alert.severity,
    state,
    acknowledged: alert.acknowledgedAt !== undefined,
    acknowledged_by: alert.acknowledgedBy ?? null,
    acknowledged_at: isoOrNull(alert.acknowledgedAt),
    assignee: alert.assignee ?? null,
    snoozed_until: isoOrNull(alert.snoozedUntil),
    snoozed_by: alert.snoozedBy ?? null,
    value: alert.value,
    threshold: alert.threshold,
    message: alert.message,
    description: alert.description,
    labels: alert.labels,
    started_at: toIso(toMillis(alert.startedAt)),
    fired_at: toIso(alert.firedAt),
    resolved_at: isoOrNull(alert.resolvedAt),
    last_value_at: isoOrNull(alert.lastValueAt),
    count: alert.count,
    reason: alert.reason ?? null,
    flapping: alert.flapping,
    suppressed_by: suppressedBy,
    // Known only to the leader, which is asked where it is shown to people.
    notified: [],
    comments: alert.comments.map(({ at, by, text }) => ({ at: toIso(at), by, text })),
    revision: alert.revision,
  }
}

/** Alerts with the same key belong to one storm. It has the values that the rule groups its notifications by. */
function groupKeyOf(
  { ruleId, groupBy, id: alertId }: Pick<Alert, 'ruleId' | 'groupBy' | 'id'>,
  { id, group }: AlertSource,
): string {
  switch (groupBy) {
    case 'rule':
      return `rule:${ruleId}`
    case 'device':
      return `device:${id ?? alertId}`
    case 'group':
      return `group:${group ?? ''}`
    case 'none':
      return `alert:${alertId}`
    default:
      return unreachable(groupBy)
  }
}

/** The rule's message for this alert. */
export function alertMessage({ rule }: CompiledRule, alert: Alert, device: AlertSource): string {
  const body = alertBody(alert, device, { state: 'firing', suppressedBy: [] })
  const { id = '', name, type, group = '' } = device
  return fillTemplate(rule.message ?? DEFAULT_MESSAGE, {
    alert: body,
    event: 'fired',
    message: '',
    link: '',
    device: { id, name, type, group, link: '' },
    rule: { id: rule.rule_id, name: rule.name },
    total: 1,
  })
}

/** The notice that a move of the alert leaves for the notifier. */
export function noticeOf(
  alert: Alert,
  device: AlertSource,
  { event, at, state }: { readonly event: NoticeEvent; readonly at: Millis; readonly state: AlertState },
): Notice {
  const { id, name, type, group } = device
  return {
    alertId: alert.id,
    ruleId: alert.ruleId,
    ruleName: alert.ruleName,
    event,
    revision: alert.revision,
    at,
    severity: alert.severity,
    highestSeverity: alert.highestSeverity,
    // Ids, by the check of the rule.
    channels: (alert.channels ?? undefined) as Notice['channels'],
    groupBy: alert.groupBy,
    sendResolved: alert.sendResolved,
    message: alert.message,
    suppressedBy: [],
    alert: alertBody(alert, device, { state, suppressedBy: [] }),
    device: id === undefined ? undefined : { id, name, type, group },
  }
}
