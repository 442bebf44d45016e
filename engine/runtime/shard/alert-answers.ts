// What a shard answers about the alerts of its devices, from memory.
import { type Millis, toIso, toMillis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Alert } from '../../domain/alert/alerts-part.ts'
import { alertBody } from '../../domain/alert/body.ts'
import { counted, inOrder, NOTHING_COUNTED } from '../../domain/alert/found.ts'
import { isWithin } from '../../domain/alert/target.ts'
import type { AlertCounts, AlertsFound, AlertsQuery } from '../../ports/alerts.ts'
import type { Actor, Actors } from './actor.ts'
import type { ShardAlerts } from './shard-alerts.ts'

interface About {
  readonly now: Millis
  readonly alerts: ShardAlerts
}

export function alertsFound(actors: Actors, query: AlertsQuery, about: About): AlertsFound {
  const found: JsonObject[] = []
  const { deviceId } = query
  const only = deviceId === undefined ? undefined : actors.get(deviceId)
  const asked = deviceId === undefined ? actors.values() : only === undefined ? [] : [only]
  for (const actor of asked) {
    if (!isSeen(actor, query)) continue
    for (const body of bodiesOf(actor, query, about)) if (fits(body, query)) found.push(body)
  }
  return { total: found.length, alerts: inOrder(found, query) }
}

export function alertCounts(
  actors: Actors,
  within: readonly string[] | undefined,
  { now, alerts }: About,
): AlertCounts {
  const byState = { ...NOTHING_COUNTED.byState }
  const byGroup: Record<string, AlertCounts['byGroup'][string]> = {}
  const byRule = new Map<string, { firing: number; pending: number }>()
  const ruleCounts = (id: string) => {
    const known = byRule.get(id) ?? { firing: 0, pending: 0 }
    byRule.set(id, known)
    return known
  }
  for (const actor of actors.values()) {
    const { device, watch } = actor
    if (!isInside(device.group, within)) continue
    for (const alert of device.alerts.open) {
      const { state } = alerts.shown(actor, alert, device, now)
      if (state !== 'recovering') ruleCounts(alert.ruleId).firing++
      const under = state === 'recovering' ? 'recovering' : 'firing'
      byState[under] = counted(byState[under], alert.severity)
      const group = device.group ?? ''
      byGroup[group] = counted(byGroup[group], alert.severity)
    }
    if (watch === undefined) continue
    for (const rule of alerts.pending(actor, now)) {
      const compiled = watch.fit.rules[rule]
      if (compiled === undefined) continue
      ruleCounts(compiled.id).pending++
      byState.pending = counted(byState.pending, compiled.rule.severity)
    }
  }
  return { byState, byGroup, byRule: Object.fromEntries(byRule), overloaded: alerts.overloaded }
}

function bodiesOf(actor: Actor, { states }: AlertsQuery, { now, alerts }: About): readonly JsonObject[] {
  const { device } = actor
  const shown = (alert: Alert) =>
    alertBody(alerts.current(actor, alert, now), device, alerts.shown(actor, alert, device, now))
  const isResolvedWanted = states.includes('resolved')
  return [
    ...device.alerts.open.map(shown),
    ...(isResolvedWanted ? device.alerts.resolved.map(shown) : []),
    ...(states.includes('pending') ? pendingBodies(actor, { now, alerts }) : []),
  ]
}

/** Instances that count their `for_sec`: they are no alerts yet, so they have no id. */
function pendingBodies(actor: Actor, { now, alerts }: About): readonly JsonObject[] {
  const { device, watch } = actor
  if (watch === undefined) return []
  return alerts.pending(actor, now).flatMap((place) => {
    const compiled = watch.fit.rules[place]
    if (compiled === undefined) return []
    const { rule, roots } = compiled
    const since = roots.map((_, root) => watch.since(place, root))
    const root = since.findIndex((at) => at > 0)
    return [
      {
        alert_id: null,
        rule_id: rule.rule_id,
        rule_name: rule.name,
        scope: 'device',
        device_id: device.id,
        group: device.group ?? null,
        type: 'kind' in rule.condition ? rule.condition.kind : 'all',
        metric:
          watch.fit.metrics[watch.fit.leaves[watch.fit.leavesOf[place]?.[0] ?? 0]?.metric ?? -1] ?? null,
        severity: roots[root]?.severity ?? rule.severity,
        state: 'pending',
        acknowledged: false,
        acknowledged_by: null,
        acknowledged_at: null,
        assignee: null,
        value: null,
        threshold: null,
        message: '',
        description: rule.description,
        labels: rule.labels,
        started_at: toIso(toMillis((since[root] ?? 0) as Parameters<typeof toMillis>[0])),
        fired_at: null,
        resolved_at: null,
        last_value_at: null,
        count: 0,
        reason: null,
        flapping: false,
        suppressed_by: [],
        comments: [],
        revision: 0,
      },
    ]
  })
}

function isSeen({ device }: Actor, { group, within }: AlertsQuery): boolean {
  if (group !== undefined && !isWithin(device.group, group)) return false
  return isInside(device.group, within)
}

function isInside(group: string | undefined, within: readonly string[] | undefined): boolean {
  return within === undefined || within.some((subtree) => isWithin(group, subtree))
}

function fits(body: JsonObject, query: AlertsQuery): boolean {
  const { states, severities, alertId, ruleId, type, acknowledged, flapping, from, to } = query
  const isAs = (wanted: unknown, is: unknown) => wanted === undefined || wanted === is
  const fired = body['fired_at']
  return (
    states.some((state) => state === body['state']) &&
    (severities === undefined || severities.some((severity) => severity === body['severity'])) &&
    isAs(alertId, body['alert_id']) &&
    isAs(ruleId, body['rule_id']) &&
    isAs(type, body['type']) &&
    isAs(acknowledged, body['acknowledged']) &&
    isAs(flapping, body['flapping']) &&
    (from === undefined || (typeof fired === 'string' && fired >= toIso(from))) &&
    (to === undefined || (typeof fired === 'string' && fired < toIso(to)))
  )
}
