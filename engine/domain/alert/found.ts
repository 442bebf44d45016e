// Alerts that were found, counted and put in order, by one shard or by several.
import { toIso } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { ALERT_SEVERITIES, type AlertSeverity } from '../../../schemas/vocabulary.ts'
import type { Alerts } from './alerts-part.ts'
import type { AlertCounts, AlertMatches, AlertsQuery, SeverityCounts } from './query.ts'
import { isWithin } from './target.ts'

const NO_COUNTS: SeverityCounts = Object.freeze({ info: 0, warning: 0, critical: 0 })
export const NOTHING_COUNTED: AlertCounts = {
  byState: { pending: NO_COUNTS, firing: NO_COUNTS, recovering: NO_COUNTS },
  byGroup: {},
  byRule: {},
  overloaded: 0,
  overflowing: 0,
}

export function inOrder(
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

export function joinedAlerts(answers: readonly AlertMatches[], query: AlertsQuery): AlertMatches {
  return {
    total: answers.reduce((sum, { total }) => sum + total, 0),
    alerts: inOrder(
      answers.flatMap(({ alerts }) => alerts),
      query,
    ),
  }
}

export function joinedCounts(answers: readonly AlertCounts[]): AlertCounts {
  return answers.reduce(
    (sum, counts) => ({
      byState: {
        pending: added(sum.byState.pending, counts.byState.pending),
        firing: added(sum.byState.firing, counts.byState.firing),
        recovering: added(sum.byState.recovering, counts.byState.recovering),
      },
      byGroup: merged(sum.byGroup, counts.byGroup, added),
      byRule: merged(sum.byRule, counts.byRule, (a, b) => ({
        firing: a.firing + b.firing,
        pending: a.pending + b.pending,
      })),
      overloaded: sum.overloaded + counts.overloaded,
      overflowing: sum.overflowing + counts.overflowing,
    }),
    NOTHING_COUNTED,
  )
}

export function counted(counts: SeverityCounts | undefined, severity: AlertSeverity): SeverityCounts {
  const before = counts ?? NO_COUNTS
  return { ...before, [severity]: before[severity] + 1 }
}

/** How many alerts of a device are open, by severity. */
export function openCounts({ open }: Alerts): SeverityCounts {
  return open.reduce((counts, { severity }) => counted(counts, severity), NO_COUNTS)
}

/** Whether what is in this group may be seen, and is asked for. */
export function isInGroups(
  is: string | undefined,
  { group, within }: Pick<AlertsQuery, 'group' | 'within'>,
): boolean {
  if (group !== undefined && !isWithin(is, group)) return false
  return within === undefined || within.some((subtree) => isWithin(is, subtree))
}

/** All of the query but groups and devices. */
export function fitsQuery(body: JsonObject, query: AlertsQuery): boolean {
  const { states, severities, alertId, ruleId, type, acknowledged, flapping, snoozed, from, to } = query
  const isAs = (wanted: unknown, is: unknown) => wanted === undefined || wanted === is
  const fired = body['fired_at']
  return (
    states.some((state) => state === body['state']) &&
    (severities === undefined || severities.some((severity) => severity === body['severity'])) &&
    isAs(alertId, body['alert_id']) &&
    isAs(ruleId, body['rule_id']) &&
    isAs(type, body['type']) &&
    isAs(query.groupKey, body['group_key']) &&
    isAs(acknowledged, body['acknowledged']) &&
    isAs(flapping, body['flapping']) &&
    isAs(snoozed, typeof body['snoozed_until'] === 'string') &&
    (from === undefined || (typeof fired === 'string' && fired >= toIso(from))) &&
    (to === undefined || (typeof fired === 'string' && fired < toIso(to)))
  )
}

function severityOf(alert: JsonObject): number {
  return ALERT_SEVERITIES.findIndex((severity) => severity === alert['severity'])
}

function added(a: SeverityCounts, b: SeverityCounts): SeverityCounts {
  return { info: a.info + b.info, warning: a.warning + b.warning, critical: a.critical + b.critical }
}

function merged<T>(
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
