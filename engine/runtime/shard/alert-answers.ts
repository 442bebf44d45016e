// Answers questions about the alerts of a shard's devices, from memory.
import type { Millis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { isInGroups, matchesQuery, sortAlerts } from '../../domain/alert/alert-results.ts'
import type { Alert } from '../../domain/alert/alerts-part.ts'
import { alertBody } from '../../domain/alert/body.ts'
import type { AlertCounts, AlertMatches, AlertsQuery } from '../../ports/alerts.ts'
import type { Actor, Actors } from './actor.ts'
import { pendingBodiesOf } from './alert-pending.ts'
import { pendingRules } from './alert-phases.ts'
import { displayedState, withCurrentValues } from './displayed-alert.ts'
import type { ShardAlerts } from './shard-alerts.ts'

interface AlertContext {
  readonly now: Millis
  readonly alerts: ShardAlerts
}

export function findAlerts(actors: Actors, query: AlertsQuery, about: AlertContext): AlertMatches {
  const found: JsonObject[] = []
  const { deviceId } = query
  const only = deviceId === undefined ? undefined : actors.get(deviceId)
  // Few actors have open alerts, and these are known. Resolved alerts need a look at all actors.
  const all = query.states.includes('resolved') ? actors.values() : about.alerts.counts.actors()
  const asked = deviceId === undefined ? all : only === undefined ? [] : [only]
  for (const actor of asked) {
    if (!isInGroups(actor.device.group, query)) continue
    for (const body of bodiesOf(actor, query, about)) if (matchesQuery(body, query)) found.push(body)
  }
  return { total: found.length, alerts: sortAlerts(found, query) }
}

export function alertCounts(within: readonly string[] | undefined, alerts: ShardAlerts): AlertCounts {
  const { overloaded, overflowing, counts } = alerts
  return {
    ...counts.counts(within),
    overloaded: countWithin(within, overloaded),
    overflowing: countWithin(within, overflowing),
  }
}

function countWithin(within: readonly string[] | undefined, actors: ReadonlySet<Actor>): number {
  if (within === undefined) return actors.size
  let count = 0
  for (const { device } of actors) if (isInGroups(device.group, { within })) count++
  return count
}

function bodiesOf(
  actor: Actor,
  { states }: AlertsQuery,
  { now, alerts }: AlertContext,
): readonly JsonObject[] {
  const { device } = actor
  const shown = (alert: Alert) => {
    const occasion = alerts.occasionAt(actor, device, now)
    return alertBody(
      withCurrentValues(actor, alert, occasion),
      device,
      displayedState(actor, alert, { device, occasion }),
    )
  }
  const isResolvedWanted = states.includes('resolved')
  return [
    ...device.alerts.open.map(shown),
    ...(isResolvedWanted ? device.alerts.resolved.map(shown) : []),
    ...(states.includes('pending') ? pendingBodies(actor, { now }) : []),
  ]
}

/** Pending instances, which count their `for_sec`. They are no alerts yet, so they have no id. */
function pendingBodies(actor: Actor, { now }: Pick<AlertContext, 'now'>): readonly JsonObject[] {
  const { device, watch } = actor
  if (watch === undefined) return []
  return pendingRules(actor, now).flatMap((rule) => pendingBodiesOf(watch, rule, device))
}
