// The state machine of a rule on a device, as a table and the functions that apply it. Pure: it sees the device's alerts, the
// findings of the rule's conditions, and the time.
//
// - An open alert stays the same alert until it is resolved. A resolved alert is never reopened.
// K2. An episode begins only after the previous one ended, so an entry that is read again opens nothing.
// K3. Notifications follow from a saved move. A muted alert fires all the same; its notification is sent once nothing mutes
//     it any more (A6).
import { Micros, type Millis, toMillis } from '../../../schemas/ids.ts'
import type { Json } from '../../../schemas/json.ts'
import type { AlertEndReason, AlertState } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import { type AlertSubject, alertId } from './alert-id.ts'
import { resolveAlert, withOpenAlert } from './alert-updates.ts'
import { type Alert, type Alerts, memoOf, openOf, type RuleMemo } from './alerts-part.ts'
import { type CompiledRule, type Root, severityRank } from './compile.ts'
import type { NoticeEvent } from './notice.ts'

export type Phase = 'inactive' | Exclude<AlertState, 'resolved'>
/** What the conditions say: true, true for as long as `for_sec`, false, or false for as long as the alert keeps firing. */
export type Verdict = 'true' | 'long_true' | 'false' | 'long_false'

/** [contract 5.3] `resolved` means that the alert ends and its rule is inactive again. */
const STATES: Readonly<Record<Phase, Readonly<Record<Verdict, Phase | 'resolved'>>>> = {
  inactive: { true: 'pending', long_true: 'firing', false: 'inactive', long_false: 'inactive' },
  pending: { true: 'pending', long_true: 'firing', false: 'inactive', long_false: 'inactive' },
  firing: { true: 'firing', long_true: 'firing', false: 'recovering', long_false: 'resolved' },
  recovering: { true: 'firing', long_true: 'firing', false: 'recovering', long_false: 'resolved' },
}

/** What a rule's conditions say of a device now. Times are microseconds. */
export interface Findings {
  /** Since when each root is true, the worst first. Negative if it is false, 0 if it was never judged. */
  readonly since: readonly number[]
  /** The same for the condition that clears the alert, if the rule has one. */
  readonly clearSince: number | undefined
  readonly count: number
  readonly type: string
  readonly metric: string | undefined
  readonly value: Json
  readonly lastValueAt: Millis | undefined
  readonly thresholds: readonly Json[]
  /** What mutes an alert of this severity. */
  readonly mutedBy: (severity: Alert['severity']) => readonly string[]
}

export interface Move {
  readonly event: 'fired' | 'severity' | 'resolved' | 'updated' | 'repeat'
  readonly alert: Alert
  /** The notification that it causes, if any. */
  readonly notice: NoticeEvent | undefined
}

export interface Decision {
  readonly alerts: Alerts
  readonly moves: readonly Move[]
  /** When the passing of time can move it next, in milliseconds. 0: decide again at once. */
  readonly nextAt: number
  /** It would fire if there were room for another open alert. */
  readonly isHeldBack?: boolean
}

interface Context {
  readonly rule: CompiledRule
  readonly subject: AlertSubject
  readonly findings: Findings
  readonly now: Micros
  /** Another alert may be opened. */
  readonly hasRoom: boolean
  /** Fills in the rule's message. */
  readonly message: (alert: Alert) => string
}

const NEVER = Number.POSITIVE_INFINITY

export function decide(alerts: Alerts, context: Context): Decision {
  const open = openOf(alerts, context.rule.id)
  return open === undefined ? whileClosed(alerts, context) : whileOpen(alerts, open, context)
}

/** The state that the rule is in, for people to see. */
export function phaseOf(
  alerts: Alerts,
  rule: CompiledRule,
  findings: Pick<Findings, 'since' | 'clearSince'>,
  now: number,
): Phase {
  const open = openOf(alerts, rule.id)
  if (open === undefined) {
    const since = Math.max(...findings.since)
    return since > 0 && mayBegin(memoOf(alerts, rule.id), rule, { since, now }) ? 'pending' : 'inactive'
  }
  return rule.isMomentary || clearedSince(findings, open) === undefined ? 'firing' : 'recovering'
}

function whileClosed(alerts: Alerts, context: Context): Decision {
  const { rule, findings, now } = context
  const forMicros = rule.rule.for_sec * 1_000_000
  const memo = memoOf(alerts, rule.id)
  let nextAt = NEVER
  for (let i = 0; i < rule.roots.length; i++) {
    const root = rule.roots[i]
    const since = findings.since[i] ?? 0
    if (root === undefined || since <= 0) continue
    if (!mayBegin(memo, rule, { since, now })) {
      if (memo?.snoozedUntil !== undefined) nextAt = Math.min(nextAt, memo.snoozedUntil)
      continue
    }
    const verdict: Verdict = now >= since + forMicros ? 'long_true' : 'true'
    if (STATES.pending[verdict] === 'firing' && !context.hasRoom)
      return { alerts, moves: [], nextAt: toMillis(now) + LIMITS.alertsFullRetryMs, isHeldBack: true }
    if (STATES.pending[verdict] === 'firing') return fire(alerts, { root, since, place: i }, context)
    nextAt = Math.min(nextAt, Math.ceil((since + forMicros) / 1_000))
  }
  return { alerts, moves: [], nextAt }
}

/** by K2 */
function mayBegin(
  memo: RuleMemo | undefined,
  { key }: CompiledRule,
  { since, now }: { readonly since: number; readonly now: number },
): boolean {
  if (memo === undefined || since > memo.endedAt) return true
  if (memo.ruleKey !== undefined && memo.ruleKey !== key) return true
  return memo.snoozedUntil !== undefined && now >= memo.snoozedUntil * 1_000
}

function fire(
  alerts: Alerts,
  { root, since, place }: { readonly root: Root; readonly since: number; readonly place: number },
  context: Context,
): Decision {
  const { rule, subject, findings, now } = context
  const { rule: settings } = rule
  const at = toMillis(now)
  const memo = memoOf(alerts, rule.id)
  const { episodes, within_sec: withinSec } = settings.flap
  const recent = [...(memo?.episodes ?? []), at]
    .filter((each) => each > at - withinSec * 1_000)
    .slice(-episodes)
  const alert: Alert = {
    id: alertId(rule.id, subject, [since, memo?.endedAt ?? 0]),
    ruleId: rule.id,
    ruleName: settings.name,
    ruleKey: rule.key,
    description: settings.description,
    labels: settings.labels,
    groupBy: settings.group_by,
    channels: settings.channels,
    sendResolved: settings.send_resolved,
    type: findings.type,
    metric: findings.metric,
    severity: root.severity,
    highestSeverity: root.severity,
    threshold: findings.thresholds[place] ?? null,
    value: findings.value,
    lastValueAt: findings.lastValueAt,
    count: 1,
    countedAt: now,
    startedAt: Micros(since),
    firedAt: at,
    resolvedAt: undefined,
    reason: undefined,
    message: '',
    acknowledgedAt: undefined,
    acknowledgedBy: undefined,
    assignee: undefined,
    comments: [],
    flapping: recent.length >= episodes,
    toldAt: undefined,
    wasTold: false,
    revision: 1,
  }
  const next: RuleMemo = {
    ruleId: rule.id,
    endedAt: memo?.endedAt ?? Micros(0),
    ruleKey: memo?.ruleKey,
    snoozedUntil: undefined,
    episodes: recent,
  }
  const memos = [...alerts.memos.filter(({ ruleId }) => ruleId !== rule.id), next]
  return notifyUnlessMuted({ ...alerts, memos }, alert, { ...context, event: 'fired' })
}

/** Adds the alert to the open ones, or replaces it there, with a notification unless it is muted (K3). */
function notifyUnlessMuted(
  alerts: Alerts,
  alert: Alert,
  context: Context & { readonly event: Move['event'] },
): Decision {
  const { findings, now, message, event } = context
  const isMuted = findings.mutedBy(alert.severity).length > 0
  const filledIn = { ...alert, message: message(alert) }
  const opened: Alert = isMuted
    ? { ...filledIn, toldAt: undefined }
    : { ...filledIn, toldAt: toMillis(now), wasTold: true }
  return {
    alerts: withOpenAlert(alerts, opened),
    moves: [{ event, alert: opened, notice: isMuted ? undefined : 'fired' }],
    // Decided once more, because another level may follow.
    nextAt: 0,
  }
}

function whileOpen(alerts: Alerts, open: Alert, context: Context): Decision {
  const { rule, findings, now } = context
  const clearedAt = clearedSince(findings, open)
  if (open.ruleKey !== rule.key) return applyChangedRule(alerts, open, context)
  if (clearedAt !== undefined) {
    const keepSec = open.flapping ? rule.rule.flap.hold_sec : rule.rule.keep_firing_for_sec
    const until = clearedAt + keepSec * 1_000_000
    const verdict: Verdict = now >= until ? 'long_false' : 'false'
    if (STATES.firing[verdict] === 'resolved')
      return resolve(alerts, open, { ...context, reason: 'recovered' })
    return { alerts, moves: [], nextAt: Math.ceil(until / 1_000) }
  }
  const adjusted = adjustSeverity(open, context)
  if (adjusted.raised)
    return notifyUnlessMuted(alerts, withCurrentValues(adjusted.alert, context), {
      ...context,
      event: 'severity',
    })
  if (adjusted.alert !== open) {
    const lowered = withCurrentValues(adjusted.alert, context)
    return {
      alerts: withOpenAlert(alerts, lowered),
      moves: [{ event: 'severity', alert: lowered, notice: undefined }],
      nextAt: 0,
    }
  }
  return remind(alerts, open, { ...context, nextAt: adjusted.nextAt })
}

/** Sends what a muted alert has not sent yet, and reminders. */
function remind(alerts: Alerts, open: Alert, context: Context & { readonly nextAt: number }): Decision {
  const { rule, findings, now, nextAt } = context
  const at = toMillis(now)
  const isMuted = findings.mutedBy(open.severity).length > 0
  const { snoozedUntil } = open
  if (snoozedUntil !== undefined && at < snoozedUntil)
    return { alerts, moves: [], nextAt: Math.min(nextAt, snoozedUntil) }
  if (snoozedUntil !== undefined) return endSnooze(alerts, open, { ...context, isMuted })
  if (isMuted) return { alerts, moves: [], nextAt }
  if (open.toldAt === undefined) {
    const notified = {
      ...withCurrentValues(open, context),
      toldAt: at,
      wasTold: true,
      revision: open.revision + 1,
    }
    return {
      alerts: withOpenAlert(alerts, notified),
      moves: [{ event: 'updated', alert: notified, notice: 'fired' }],
      nextAt: 0,
    }
  }
  if (open.acknowledgedAt !== undefined || open.flapping) return { alerts, moves: [], nextAt }
  const repeatAt = open.toldAt + rule.rule.repeat_interval_sec * 1_000
  if (at < repeatAt) return { alerts, moves: [], nextAt: Math.min(nextAt, repeatAt) }
  const repeated = { ...withCurrentValues(open, context), toldAt: at, revision: open.revision + 1 }
  return {
    alerts: withOpenAlert(alerts, repeated),
    moves: [{ event: 'repeat', alert: repeated, notice: 'repeat' }],
    nextAt: 0,
  }
}

/** The snooze has ended and the alert still fires. */
function endSnooze(alerts: Alerts, open: Alert, context: Context & { readonly isMuted: boolean }): Decision {
  const { now, isMuted } = context
  const isNotified = !isMuted && open.acknowledgedAt === undefined && !open.flapping
  const updated: Alert = {
    ...withCurrentValues(open, context),
    snoozedUntil: undefined,
    snoozedBy: undefined,
    toldAt: isNotified ? toMillis(now) : isMuted ? undefined : open.toldAt,
    wasTold: open.wasTold || isNotified,
    revision: open.revision + 1,
  }
  return {
    alerts: withOpenAlert(alerts, updated),
    moves: [
      {
        event: 'updated',
        alert: updated,
        notice: isNotified ? (open.wasTold ? 'repeat' : 'fired') : undefined,
      },
    ],
    nextAt: 0,
  }
}

/** The rule has changed since the last move: the alert stays open if it is true by the new rule, and ends otherwise. Its
 *  severity is decided next, as always. */
function applyChangedRule(alerts: Alerts, open: Alert, context: Context): Decision {
  const { rule, findings } = context
  if (Math.max(...findings.since) <= 0) return resolve(alerts, open, { ...context, reason: 'rule_changed' })
  const place = findings.since.findIndex((since) => since > 0)
  const updated: Alert = {
    ...withCurrentValues(open, context),
    ruleKey: rule.key,
    type: findings.type,
    metric: findings.metric,
    threshold: findings.thresholds[place] ?? null,
    revision: open.revision + 1,
  }
  return {
    alerts: withOpenAlert(alerts, updated),
    moves: [{ event: 'updated', alert: updated, notice: undefined }],
    nextAt: 0,
  }
}

function resolve(
  alerts: Alerts,
  open: Alert,
  context: Context & { readonly reason: AlertEndReason },
): Decision {
  const { reason, now } = context
  const ended = resolveAlert(alerts, withCurrentValues(open, context), { reason, now })
  return {
    alerts: ended.alerts,
    moves: [{ event: 'resolved', alert: ended.alert, notice: open.wasTold ? 'resolved' : undefined }],
    nextAt: 0,
  }
}

/** The severity rises to the worst level that has been true for long enough, and falls to the worst level that is true. */
function adjustSeverity(
  open: Alert,
  { rule, findings, now }: Context,
): { readonly alert: Alert; readonly raised: boolean; readonly nextAt: number } {
  const forMicros = rule.rule.for_sec * 1_000_000
  const rank = severityRank(open.severity)
  let nextAt = NEVER
  for (let i = 0; i < rule.roots.length; i++) {
    const root = rule.roots[i]
    const since = findings.since[i] ?? 0
    if (root === undefined || since <= 0) continue
    const threshold = findings.thresholds[i] ?? null
    const levelled = { ...open, severity: root.severity, threshold, revision: open.revision + 1 }
    if (root.rank === rank) break
    if (root.rank < rank) return { alert: levelled, raised: false, nextAt }
    if (now < since + forMicros) {
      nextAt = Math.min(nextAt, Math.ceil((since + forMicros) / 1_000))
      continue
    }
    const isHighest = root.rank > severityRank(open.highestSeverity)
    const alert: Alert = {
      ...levelled,
      highestSeverity: isHighest ? root.severity : open.highestSeverity,
      acknowledgedAt: undefined,
      acknowledgedBy: undefined,
      // The snooze was set for a lower severity, so it no longer applies.
      snoozedUntil: undefined,
      snoozedBy: undefined,
    }
    return { alert, raised: true, nextAt }
  }
  return { alert: open, raised: false, nextAt }
}

/** Since when the alert's condition has been false, or its clearing condition true; undefined while it holds. */
function clearedSince(
  { since, clearSince }: Pick<Findings, 'since' | 'clearSince'>,
  open: Alert,
): number | undefined {
  if (clearSince !== undefined) return clearSince > 0 ? Math.max(clearSince, open.startedAt) : undefined
  let last = 0
  for (const each of since) {
    if (each > 0) return undefined
    last = Math.max(last, -each)
  }
  return Math.max(last, open.startedAt)
}

/** The alert with the values of now, and with what its rule says now about whom to tell. */
function withCurrentValues(
  alert: Alert,
  { rule, findings, now }: Pick<Context, 'rule' | 'findings' | 'now'>,
): Alert {
  const { value, lastValueAt, count } = findings
  const { name, channels, send_resolved } = rule.rule
  return {
    ...alert,
    ruleName: name,
    channels,
    sendResolved: send_resolved,
    value: value ?? alert.value,
    lastValueAt: lastValueAt ?? alert.lastValueAt,
    count,
    countedAt: now,
  }
}
