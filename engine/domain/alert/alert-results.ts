// Filters, sorts, counts and merges alerts, for one shard or for several.
import { toIso } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { ALERT_SEVERITIES, type AlertSeverity } from '../../../schemas/vocabulary.ts'
import type { Alerts } from './alerts-part.ts'
import type { AlertCounts, AlertMatches, AlertsQuery, SeverityCounts } from './query.ts'
import { isWithin } from './target.ts'

const NO_COUNTS: SeverityCounts = Object.freeze({ info: 0, warning: 0, critical: 0 })
export const NO_ALERT_COUNTS: AlertCounts = {
  byState: { pending: NO_COUNTS, firing: NO_COUNTS, recovering: NO_COUNTS },
  byGroup: {},
  byRule: {},
  overloaded: 0,
  overflowing: 0,
}

export function sortAlerts(
  alerts: readonly JsonObject[],
  { sort = 'fired_at', descending = true, limit }: Pick<AlertsQuery, 'sort' | 'descending' | 'limit'>,
): readonly JsonObject[] {
  const keyOf = (alert: JsonObject) =>
    sort === 'severity' ? `${severityOf(alert)} ${alert['fired_at']}` : `${alert[sort] ?? ''}`
  const sign = descending ? -1 : 1
  return alerts
    .map((alert) => ({ alert, key: `${keyOf(alert)} ${alert['alert_id']}` }))
    .sort((a, b) => (a.key < b.key ? -sign : a.key > b.key ? sign : 0))
    .slice(0, limit)
    .map(({ alert }) => alert)
}

export function mergeMatches(answers: readonly AlertMatches[], query: AlertsQuery): AlertMatches {
  return {
    total: answers.reduce((sum, { total }) => sum + total, 0),
    alerts: sortAlerts(
      answers.flatMap(({ alerts }) => alerts),
      query,
    ),
  }
}

export function mergeAlertCounts(answers: readonly AlertCounts[]): AlertCounts {
  return answers.reduce(
    (sum, counts) => ({
      byState: {
        pending: addCounts(sum.byState.pending, counts.byState.pending),
        firing: addCounts(sum.byState.firing, counts.byState.firing),
        recovering: addCounts(sum.byState.recovering, counts.byState.recovering),
      },
      byGroup: mergeRecords(sum.byGroup, counts.byGroup, addCounts),
      byRule: mergeRecords(sum.byRule, counts.byRule, (a, b) => ({
        firing: a.firing + b.firing,
        pending: a.pending + b.pending,
      })),
      overloaded: sum.overloaded + counts.overloaded,
      overflowing: sum.overflowing + counts.overflowing,
    }),
    NO_ALERT_COUNTS,
  )
}

export function countSeverity(counts: SeverityCounts | undefined, severity: AlertSeverity): SeverityCounts {
  const before = counts ?? NO_COUNTS
  return { ...before, [severity]: before[severity] + 1 }
}

/** How many alerts of a device are open, by severity. */
export function countOpenAlerts({ open }: Alerts): SeverityCounts {
  return open.reduce((counts, { severity }) => countSeverity(counts, severity), NO_COUNTS)
}

/** Whether what is in this group may be seen, and is asked for. */
export function isInGroups(
  own: string | undefined,
  { group, within }: Pick<AlertsQuery, 'group' | 'within'>,
): boolean {
  if (group !== undefined && !isWithin(own, group)) return false
  return within === undefined || within.some((subtree) => isWithin(own, subtree))
}

/** All of the query but groups and devices. */
export function matchesQuery(body: JsonObject, query: AlertsQuery): boolean {
  const { states, severities, alertId, ruleId, type, acknowledged, flapping, snoozed, from, to } = query
  const matches = (wanted: unknown, actual: unknown) => wanted === undefined || wanted === actual
  const firedAt = body['fired_at']
  return (
    states.some((state) => state === body['state']) &&
    (severities === undefined || severities.some((severity) => severity === body['severity'])) &&
    matches(alertId, body['alert_id']) &&
    matches(ruleId, body['rule_id']) &&
    matches(type, body['type']) &&
    matches(query.groupKey, body['group_key']) &&
    matches(acknowledged, body['acknowledged']) &&
    matches(flapping, body['flapping']) &&
    matches(snoozed, typeof body['snoozed_until'] === 'string') &&
    (from === undefined || (typeof firedAt === 'string' && firedAt >= toIso(from))) &&
    (to === undefined || (typeof firedAt === 'string' && firedAt < toIso(to)))
  )
}

function severityOf(alert: JsonObject): number {
  return ALERT_SEVERITIES.findIndex((severity) => severity === alert['severity'])
}

function addCounts(a: SeverityCounts, b: SeverityCounts): SeverityCounts {
  return { info: a.info + b.info, warning: a.warning + b.warning, critical: a.critical + b.critical }
}

function mergeRecords<T>(
  a: Readonly<Record<string, T>>,
  b: Readonly<Record<string, T>>,
  add: (one: T, other: T) => T,
): Readonly<Record<string, T>> {
  const all = new Map(Object.entries(a))
  for (const [name, value] of Object.entries(b)) {
    const known = all.get(name)
    all.set(name, known === undefined ? value : add(known, value))
  }
  return Object.fromEntries(all)
}
