// A message on its way to a channel, as a value: its alerts, and when it is retried.
//
// D1. Alerts are added to a delivery only before it is due. Afterwards every retry sends the same message, except that alerts
//     with newer news are left out.
// - Its id and that of the notification follow from the first alert and its move, so they stay the same over a crash, a retry
//   and a redelivery.
import type { AlertId, ChannelId, Millis } from '../../../schemas/ids.ts'
import type { AlertSeverity, DeliveryEvent, DeliveryState } from '../../../schemas/vocabulary.ts'
import type { Channel } from './channel.ts'
import type { AlertMessage, MessageAlert, RuleCount } from './message.ts'
import type { Notice } from './notice.ts'

/** What a delivery reports of an alert. */
export type DeliveryMember = Pick<Notice, 'alertId' | 'revision' | 'ruleName' | 'event' | 'severity'>

export interface DeliveryAttempt {
  readonly at: Millis
  readonly statusCode: number | undefined
  readonly errorCode: string | undefined
  readonly latencyMs: number
}

export interface Delivery {
  readonly id: string
  readonly notificationId: string
  readonly channelId: ChannelId
  /** Deliveries with the same key are sent one after the other. */
  readonly key: string
  readonly event: DeliveryEvent
  readonly severity: AlertSeverity
  readonly members: readonly DeliveryMember[]
  /** The alerts that it names. */
  readonly told: readonly [MessageAlert, ...MessageAlert[]]
  readonly createdAt: Millis
  /** When it may be sent. Nothing is added to it from then on (D1). */
  readonly dueAt: Millis
  readonly state: DeliveryState
  readonly attempts: readonly DeliveryAttempt[]
  /** Attempts since it was last started. A redelivery starts again. */
  readonly tries: number
  readonly nextAttemptAt: Millis | undefined
  readonly finishedAt: Millis | undefined
}

export type SendResult =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfterSec: number | undefined }
  /** No answer, or one that has no status of HTTP: `code` says why in a word. A final one would be the same again. */
  | { readonly kind: 'failed'; readonly code: string; readonly isFinal?: true }
  /** The channel works: some receivers of a mail got it, and others were refused. */
  | { readonly kind: 'partial'; readonly mayPass: boolean }
  /** One of the host's addresses is not allowed, so nothing was sent. */
  | { readonly kind: 'blocked' }

const NAMED_MAX = 20
const ATTEMPTS_KEPT_MAX = 20
const RETRY_SEC = [1, 10, 60, 300, 900] as const
const JITTER = 0.2
const PROBE_MS = 60_000
const FAILING_RETRY_MS_MAX = 86_400_000
const RETRYABLE_STATUSES: readonly number[] = [408, 425, 429]
const STATUS_GONE = 410

export interface NotificationItem {
  readonly notice: Notice
  /** Read only by messages that name the alert, which are few in a storm. */
  readonly told: MessageAlert
}

/** The key of the deliveries that this notice may share with others. */
export function keyOf({ notice }: NotificationItem): string {
  const { event, groupBy, ruleId, device, alertId, severity, revision } = notice
  const subject = {
    rule: () => ruleId,
    device: () => device?.id ?? alertId,
    group: () => device?.group ?? '',
    none: () => `${alertId}-${revision}`,
  }[groupBy]()
  const urgency = severity === 'critical' ? 'critical' : 'normal'
  return `${event}/${urgency}/${groupBy}/${subject}`
}

/** The time at which a delivery that begins with this notice may go out. */
export function dueAtOf(
  { event, severity }: Notice,
  {
    channel,
    now,
    lastSentAt,
  }: { readonly channel: Channel; readonly now: Millis; readonly lastSentAt: Millis | undefined },
): Millis {
  if (severity === 'critical') return now
  const earliest = now + channel.groupWaitSec * 1_000
  if (event === 'resolved' || lastSentAt === undefined) return earliest as Millis
  return Math.max(earliest, lastSentAt + channel.groupIntervalSec * 1_000) as Millis
}

export function beginDelivery(
  item: NotificationItem,
  { channelId, now, dueAt }: { readonly channelId: ChannelId; readonly now: Millis; readonly dueAt: Millis },
): Delivery {
  const { alertId, revision, event, at, severity } = item.notice
  const name = `${alertId}_${revision}_${event}_${at.toString(36)}_${channelId}`
  return {
    ...{ id: `del_${name}`, notificationId: `ntf_${name}`, channelId, key: keyOf(item), event, severity },
    members: [memberOf(item)],
    told: [item.told],
    ...{ createdAt: now, dueAt, state: 'pending', attempts: [], tries: 0 },
    nextAttemptAt: dueAt,
    finishedAt: undefined,
  }
}

/** The alerts that a message names, with one more if there is room. */
export function withNamedAlert(
  told: Delivery['told'],
  more: Pick<NotificationItem, 'told'>,
): Delivery['told'] {
  return told.length < NAMED_MAX ? [...told, more.told] : told
}

/** If none of the named alerts is left, the message still names the first one: of the others it has only the number. */
export function withoutNamedAlerts(told: Delivery['told'], gone: ReadonlySet<unknown>): Delivery['told'] {
  const [first, ...others] = told.filter(({ alert }) => !gone.has(alert['alert_id']))
  return [first ?? told[0], ...others]
}

/** The delivery without alerts that have newer news. Undefined if nothing is left. */
export function withoutAlerts(delivery: Delivery, gone: ReadonlySet<AlertId>): Delivery | undefined {
  const members = delivery.members.filter(({ alertId }) => !gone.has(alertId))
  return members.length === 0
    ? undefined
    : { ...delivery, members, told: withoutNamedAlerts(delivery.told, gone) }
}

/** Joins several deliveries in one, because too many are due at once for a message each. */
export function toDigest(
  [first, ...others]: readonly [Delivery, ...Delivery[]],
  { now, dueAt }: { readonly now: Millis; readonly dueAt: Millis },
): Delivery {
  const all = [first, ...others]
  const [told, ...more] = all.flatMap(({ told }) => told).slice(0, NAMED_MAX)
  const isDigest = first.event === 'digest'
  return {
    ...first,
    id: isDigest ? first.id : `${first.id}_digest`,
    notificationId: isDigest ? first.notificationId : `${first.notificationId}_digest`,
    ...{ key: DIGEST, event: 'digest', severity: highestOf(all.map(({ severity }) => severity)) },
    members: all.flatMap(({ members }) => members),
    told: [told ?? first.told[0], ...more],
    ...{ createdAt: now, dueAt, nextAttemptAt: dueAt },
  }
}

export const DIGEST = 'digest'

export function messageOf(delivery: Delivery, at: Millis): AlertMessage {
  const { notificationId, event, told, members, severity } = delivery
  return { notificationId, event, at, told, severity, total: members.length, rules: countsOf(members) }
}

export interface AttemptResult {
  readonly delivery: Delivery
  /** `gone`: the receiver wants no more, ever. */
  readonly outcome: 'delivered' | 'retry' | 'failed' | 'gone'
}

/** Applies the result of an attempt to a delivery. `dice` is a number from 0 to 1 that spreads the retries. */
export function applyAttempt(
  delivery: Delivery,
  result: SendResult,
  context: {
    readonly startedAt: Millis
    readonly now: Millis
    readonly latencyMs: number
    readonly dice: number
    readonly isFailing: boolean
  },
): AttemptResult {
  const { now, startedAt: at, latencyMs } = context
  const attempt: DeliveryAttempt = {
    at,
    statusCode: statusOf(result),
    errorCode: errorCodeOf(result),
    latencyMs,
  }
  const tries = delivery.tries + 1
  const attempted = {
    ...delivery,
    tries,
    attempts: [...delivery.attempts, attempt].slice(-ATTEMPTS_KEPT_MAX),
  }
  const ended = { ...attempted, nextAttemptAt: undefined, finishedAt: now }
  if (attempt.errorCode === undefined)
    return { delivery: { ...ended, state: 'delivered' }, outcome: 'delivered' }
  if (result.kind === 'answered' && result.status === STATUS_GONE)
    return { delivery: { ...ended, state: 'failed' }, outcome: 'gone' }
  const waitMs = retryMs(result, tries, context)
  if (waitMs !== undefined && (!context.isFailing || now - delivery.createdAt < FAILING_RETRY_MS_MAX)) {
    const nextAttemptAt = (now + waitMs) as Millis
    return { delivery: { ...attempted, state: 'retrying', nextAttemptAt }, outcome: 'retry' }
  }
  return {
    delivery: { ...ended, state: result.kind === 'blocked' ? 'blocked' : 'failed' },
    outcome: 'failed',
  }
}

export function restartDelivery(delivery: Delivery, now: Millis): Delivery {
  return { ...delivery, state: 'pending', tries: 0, dueAt: now, nextAttemptAt: now, finishedAt: undefined }
}

export function isFinal({ state }: Delivery): boolean {
  return state !== 'pending' && state !== 'retrying'
}

/** The same delivery to another channel, because this one failed. */
export function toFallback(delivery: Delivery, channelId: ChannelId, now: Millis): Delivery {
  const name = delivery.id.replace(/^del_/, '')
  return {
    ...restartDelivery(delivery, now),
    ...{
      id: `del_${name}_${channelId}`,
      notificationId: `ntf_${name}_${channelId}`,
      channelId,
      attempts: [],
    },
    createdAt: now,
  }
}

export function errorCodeOf(result: SendResult): string | undefined {
  if (result.kind === 'blocked') return 'WEBHOOK_TARGET_FORBIDDEN'
  if (result.kind === 'partial') return 'SMTP_RECIPIENT'
  if (result.kind === 'failed') return result.code
  return result.status >= 200 && result.status < 300 ? undefined : `HTTP_${result.status}`
}

export function statusOf(result: SendResult): number | undefined {
  return result.kind === 'answered' ? result.status : undefined
}

function retryMs(
  result: SendResult,
  tries: number,
  { dice, isFailing }: { readonly dice: number; readonly isFailing: boolean },
): number | undefined {
  if (result.kind === 'blocked') return undefined
  if (result.kind === 'partial' && !result.mayPass) return undefined
  // A failing channel is tried once a minute until it works, whatever its answers say.
  if (isFailing) return PROBE_MS
  if (!isWorthRetrying(result)) return undefined
  const sec = RETRY_SEC[tries - 1]
  if (sec === undefined) return undefined
  const spreadMs = sec * 1_000 * (1 - JITTER + 2 * JITTER * dice)
  const requestedMs = result.kind === 'answered' ? (result.retryAfterSec ?? 0) * 1_000 : 0
  return Math.max(spreadMs, requestedMs)
}

function isWorthRetrying(result: Exclude<SendResult, { kind: 'blocked' }>): boolean {
  if (result.kind === 'failed') return result.isFinal !== true
  if (result.kind === 'partial') return true
  return result.status >= 500 || result.status < 200 || RETRYABLE_STATUSES.includes(result.status)
}

export function memberOf({
  notice: { alertId, revision, ruleName, event, severity },
}: NotificationItem): DeliveryMember {
  return { alertId, revision, ruleName, event, severity }
}

function countsOf(members: readonly DeliveryMember[]): readonly RuleCount[] {
  const counts = new Map<string, { name: string; fired: number; resolved: number }>()
  for (const { ruleName: name, event } of members) {
    const count = counts.get(name) ?? { name, fired: 0, resolved: 0 }
    counts.set(name, count)
    if (event === 'resolved') count.resolved++
    else count.fired++
  }
  return [...counts.values()].sort((a, b) => b.fired + b.resolved - a.fired - a.resolved)
}

function highestOf(severities: readonly AlertSeverity[]): AlertSeverity {
  return severities.includes('critical') ? 'critical' : severities.includes('warning') ? 'warning' : 'info'
}
