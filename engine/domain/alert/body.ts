// An alert as REST, /ws, the timeline and notifications show it, but for its link, which only the API knows.
import { type Millis, toIso, toMillis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { AlertState } from '../../../schemas/vocabulary.ts'
import type { Alert } from './alerts-part.ts'
import type { CompiledRule } from './compile.ts'
import type { Notice, NoticeEvent } from './notice.ts'
import { DEFAULT_MESSAGE } from './rule.ts'
import type { Member } from './subject.ts'
import { fillTemplate } from './template.ts'

export interface AlertShown {
  readonly state: AlertState
  readonly suppressedBy: readonly string[]
}

type About = Pick<Member, 'id' | 'name' | 'type' | 'group'>

const isoOrNull = (at: Millis | undefined) => (at === undefined ? null : toIso(at))

export function alertBody(alert: Alert, device: About, { state, suppressedBy }: AlertShown): JsonObject {
  return {
    alert_id: alert.id,
    rule_id: alert.ruleId,
    rule_name: alert.ruleName,
    scope: 'device',
    device_id: device.id,
    group: device.group ?? null,
    type: alert.type,
    metric: alert.metric ?? null,
    severity: alert.severity,
    state,
    acknowledged: alert.acknowledgedAt !== undefined,
    acknowledged_by: alert.acknowledgedBy ?? null,
    acknowledged_at: isoOrNull(alert.acknowledgedAt),
    assignee: alert.assignee ?? null,
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
    comments: alert.comments.map(({ at, by, text }) => ({ at: toIso(at), by, text })),
    revision: alert.revision,
  }
}

/** The rule's message for this alert. */
export function alertMessage({ rule }: CompiledRule, alert: Alert, device: About): string {
  const body = alertBody(alert, device, { state: 'firing', suppressedBy: [] })
  const { id, name, type, group = '' } = device
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

/** What a move of the alert leaves for the notifier. */
export function noticeOf(
  alert: Alert,
  device: About,
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
    device: { id, name, type, group },
  }
}
