// Alerts about the fleet as users see them, and the effects of their moves: frames of /ws, rows of the history, and notices
// for the channels.
import { Buffer } from 'node:buffer'
import { type DeviceId, Micros, type Millis, type RuleId } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { AlertSeverity, AlertState } from '../../../schemas/vocabulary.ts'
import { countSeverity, mergeAlertCounts, NO_ALERT_COUNTS } from '../../domain/alert/alert-results.ts'
import { type Alert, openOf } from '../../domain/alert/alerts-part.ts'
import { type AlertSource, alertBody, alertMessage, noticeOf } from '../../domain/alert/body.ts'
import type { CompiledRule } from '../../domain/alert/compile.ts'
import { type Move, phaseOf } from '../../domain/alert/decide.ts'
import type { FleetInstance } from '../../domain/alert/fleet-instance.ts'
import type { LeafResult } from '../../domain/alert/fleet-truth.ts'
import { TRUTH } from '../../domain/alert/leaf-truth.ts'
import { leafOfAlert } from '../../domain/alert/leaves.ts'
import { encodeNotice, noticeKey } from '../../domain/alert/notice.ts'
import { pendingBody } from '../../domain/alert/pending-body.ts'
import type { CompiledSilence } from '../../domain/alert/silence.ts'
import { type WrittenRow, writtenRow } from '../../domain/history/row.ts'
import type { Author } from '../../domain/shadow/record.ts'
import type { AlertCounts } from '../../ports/alerts.ts'
import { type FeedEvent, FLEET } from '../../ports/feed.ts'
import type { Notice } from '../../ports/notices.ts'
import { alertEventOf, alertMoveBody } from '../shard/alert-effects.ts'
import { versionOf } from '../shard/history-rows.ts'

/** What else is known about an instance. */
export interface FleetContext {
  readonly rule: CompiledRule | undefined
  readonly now: Millis
  readonly sights: readonly LeafResult[] | undefined
  readonly silences: readonly CompiledSilence[]
  /** Whether the other rule fires for the same group. */
  readonly isFiring: (id: RuleId) => boolean
}

function placeOf({ place }: Pick<FleetInstance, 'place'>): AlertSource {
  return { id: undefined, name: place ?? 'fleet', type: '', group: place }
}

export function fleetMutedBy(
  instance: FleetInstance,
  { rule, now, silences, isFiring }: Omit<FleetContext, 'sights'>,
): (severity: AlertSeverity) => readonly string[] {
  const { place: group, ruleId } = instance
  // An alert about the fleet has no device, so a silence matches it by its group alone.
  const member = {
    ...{ id: '' as DeviceId, name: '', type: '', group, tags: [] },
    ...{ status: 'online' as const, parentId: undefined, firmwareVersion: undefined },
  }
  return (severity) => [
    ...silences
      .filter((silence) => silence.matches(member, ruleId, severity) && silence.stateAt(now).isInside)
      .map(({ id }) => `silence:${id}`),
    ...(rule?.rule.inhibited_by ?? []).filter((id) => isFiring(id as RuleId)).map((id) => `rule:${id}`),
  ]
}

export function fleetMessage(instance: FleetInstance, rule: CompiledRule): (alert: Alert) => string {
  return (alert) => alertMessage(rule, alert, placeOf(instance))
}

/** The open alerts, what is pending, and the latest resolved ones. */
export function fleetBodies(instance: FleetInstance, about: FleetContext): readonly JsonObject[] {
  const { alerts } = instance
  const { rule } = about
  const all = [...alerts.open, ...alerts.resolved].map((alert) =>
    alertBody(current(alert, instance, about), placeOf(instance), displayedAs(alert, instance, about)),
  )
  if (rule === undefined || phaseIn(instance, about) !== 'pending') return all
  return [...all, fleetPending(instance, rule)]
}

export function fleetCountsOf(
  all: readonly ({ readonly instance: FleetInstance } & FleetContext)[],
): AlertCounts {
  return mergeAlertCounts(
    all.map(({ instance, ...about }): AlertCounts => {
      const { ruleId, place = '', alerts } = instance
      const phase = phaseIn(instance, about)
      const open = openOf(alerts, ruleId)
      if (phase === 'inactive') return NO_ALERT_COUNTS
      const severity = open?.severity ?? about.rule?.rule.severity ?? 'warning'
      const isFiring = phase === 'firing' ? 1 : 0
      const isPending = phase === 'pending' ? 1 : 0
      return {
        ...NO_ALERT_COUNTS,
        byState: { ...NO_ALERT_COUNTS.byState, [phase]: countSeverity(undefined, severity) },
        byGroup: open === undefined ? {} : { [place]: countSeverity(undefined, severity) },
        byRule: { [ruleId]: { firing: isFiring, pending: isPending } },
      }
    }),
  )
}

/** The events for an instance that has just become pending. */
export function fleetPendingEvents(
  before: FleetInstance,
  instance: FleetInstance,
  about: FleetContext,
): readonly FeedEvent[] {
  const { rule, now } = about
  const isFresh = phaseIn(instance, about) === 'pending' && phaseIn(before, about) !== 'pending'
  if (rule === undefined || !isFresh) return []
  const alert = fleetPending(instance, rule)
  return [{ kind: 'alert', event: 'alert.pending', deviceId: FLEET, at: now, alert }]
}

function fleetPending(instance: FleetInstance, rule: CompiledRule): JsonObject {
  const startedAt = Math.max(...instance.since.slice(0, rule.roots.length))
  return pendingBody(rule, placeOf(instance), Micros(startedAt))
}

/** The leader's decisions have no place in the log. */
const SWEPT = { place: undefined }

interface FleetEffects {
  readonly feed: FeedEvent[]
  readonly history: WrittenRow[]
  readonly notices: Notice[]
  moved(
    move: Move,
    about: FleetContext & {
      readonly before: FleetInstance
      readonly after: FleetInstance
      readonly by: Author | undefined
    },
  ): void
}

/** Collects the effects of moves, to be saved with them. */
export function fleetEffects(): FleetEffects {
  const effects: FleetEffects = {
    feed: [],
    history: [],
    notices: [],
    moved({ event, alert, notice }, { before, after, by, ...about }) {
      const { now } = about
      const place = placeOf(before)
      const how = displayedAs(alert, after, about)
      const body = alertBody(alert, place, how)
      const name = alertEventOf(event, alert, before.alerts)
      effects.feed.push({ kind: 'alert', event: name, deviceId: FLEET, at: now, alert: body })
      effects.history.push(
        writtenRow({
          deviceId: FLEET,
          kind: 'alert',
          // The number keeps the moves of one alert in order. Moves of other alerts differ by their version.
          at: Micros(now * 1_000 + (effects.history.length % 1_000)),
          version: versionOf(SWEPT, alert.id, alert.revision),
          body: alertMoveBody(name, body, { alert, before: before.alerts, by }),
        }),
      )
      if (notice === undefined) return
      const left = noticeOf(alert, place, { event: notice, at: now, state: how.state })
      effects.notices.push({ key: noticeKey(left), bytes: Uint8Array.from(Buffer.from(encodeNotice(left))) })
    },
  }
  return effects
}

function displayedAs(alert: Alert, instance: FleetInstance, about: FleetContext) {
  const { now } = about
  if (alert.resolvedAt !== undefined) return { state: 'resolved' as const, suppressedBy: [] }
  const isSnoozed = alert.snoozedUntil !== undefined && now < alert.snoozedUntil
  const muted = fleetMutedBy(instance, about)(alert.severity)
  const state: AlertState = phaseIn(instance, about) === 'recovering' ? 'recovering' : 'firing'
  return { state, suppressedBy: isSnoozed ? [...muted, 'snooze'] : muted }
}

function phaseIn({ alerts, since, ruleId }: FleetInstance, { rule, now }: FleetContext) {
  if (rule === undefined) return openOf(alerts, ruleId) === undefined ? 'inactive' : 'firing'
  const roots = rule.roots.length
  const clearSince = rule.clear === undefined ? undefined : (since[roots] ?? 0)
  return phaseOf(alerts, rule, { since: since.slice(0, roots), clearSince }, now * 1_000)
}

/** The alert with its current value and count, which change without a save. */
function current(alert: Alert, { count }: FleetInstance, { rule, sights = [] }: FleetContext): Alert {
  if (alert.resolvedAt !== undefined) return alert
  const trueNow = sights.findIndex(({ truth }) => truth === TRUTH.yes)
  const own = leafOfAlert(rule?.leaves ?? [], alert, trueNow)
  const value = sights[Math.max(0, own === -1 ? trueNow : own)]?.value ?? alert.value
  return { ...alert, count: Math.max(count, alert.count), value }
}
