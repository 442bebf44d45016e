// Alerts folded into groups: one row tells of all alerts of a rule, a group of devices, a device, or a storm.

export const GROUPINGS = ['none', 'storm', 'rule', 'group', 'device'] as const
export type Grouping = (typeof GROUPINGS)[number]

interface Groupable {
  readonly alert_id: string | null
  readonly rule_id: string
  readonly rule_name: string
  readonly device_id: string | null
  readonly group: string | null
  readonly group_key: string
  readonly severity: 'critical' | 'warning' | 'info'
  readonly fired_at: string | null
  readonly started_at: string
}

export interface AlertGroup<Alert> {
  readonly key: string
  readonly alerts: readonly Alert[]
  readonly ids: readonly string[]
  readonly severity: Groupable['severity']
  readonly deviceCount: number
  readonly ruleNames: readonly string[]
  /** When the first of them fired. */
  readonly firstAt: string
}

const RANK = { critical: 0, warning: 1, info: 2 } as const

/** Worst first, and of equal ones that which began first. */
export function groupAlerts<Alert extends Groupable>(
  alerts: readonly Alert[],
  by: Exclude<Grouping, 'none'>,
): readonly AlertGroup<Alert>[] {
  const found = new Map<string, Alert[]>()
  for (const alert of alerts) {
    const key = keyOf(alert, by)
    const others = found.get(key)
    if (others === undefined) found.set(key, [alert])
    else others.push(alert)
  }
  return [...found]
    .map(([key, members]) => groupOf(key, members))
    .sort((a, b) => RANK[a.severity] - RANK[b.severity] || (a.firstAt < b.firstAt ? -1 : 1))
}

/** Fewer alerts of one storm stand in rows of their own. */
const STORM_MIN = 5

export interface InboxRow<Alert> {
  /** The first one of a storm. */
  readonly alert: Alert
  readonly storm: AlertGroup<Alert> | undefined
}

/** Keeps the order of the alerts; a storm is one row, where its first alert stands. */
export function foldStorms<Alert extends Groupable>(alerts: readonly Alert[]): readonly InboxRow<Alert>[] {
  const storms = new Map(
    groupAlerts(alerts, 'storm')
      .filter((group) => group.alerts.length >= STORM_MIN)
      .map((group) => [group.key, group]),
  )
  return alerts.flatMap((alert) => {
    const storm = storms.get(alert.group_key)
    return storm === undefined || storm.alerts[0] === alert ? [{ alert, storm }] : []
  })
}

function keyOf({ rule_id, group, device_id, group_key }: Groupable, by: Exclude<Grouping, 'none'>): string {
  switch (by) {
    case 'storm':
      return group_key
    case 'rule':
      return rule_id
    case 'group':
      return group ?? ''
    case 'device':
      return device_id ?? ''
  }
}

function groupOf<Alert extends Groupable>(key: string, alerts: readonly Alert[]): AlertGroup<Alert> {
  const [worst = 'info'] = alerts.map(({ severity }) => severity).sort((a, b) => RANK[a] - RANK[b])
  const [firstAt = ''] = alerts.map(({ fired_at, started_at }) => fired_at ?? started_at).sort()
  return {
    key,
    alerts,
    ids: alerts.flatMap(({ alert_id }) => alert_id ?? []),
    severity: worst,
    deviceCount: new Set(alerts.flatMap(({ device_id }) => device_id ?? [])).size,
    ruleNames: [...new Set(alerts.map(({ rule_name }) => rule_name))],
    firstAt,
  }
}
