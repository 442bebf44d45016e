// Alerts that are resolved, computed from all rows of the history.
import type { JsonObject } from '../../../../schemas/json.ts'
import { isInGroups, matchesQuery, sortAlerts } from '../../../domain/alert/alert-results.ts'
import { byAge } from '../../../domain/history/row.ts'
import { FLEET } from '../../../ports/feed.ts'
import type { HistoryRow, PastAlerts, PastAlertsQuery } from '../../../ports/history.ts'

export function pastAlerts(all: readonly HistoryRow[], query: PastAlertsQuery): PastAlerts {
  const last = new Map<unknown, JsonObject>()
  const deviceIds = query.within === undefined ? undefined : query.deviceIds
  for (const { kind, deviceId, body } of [...all].sort(byAge)) {
    const { group, alert_id: id } = body
    const isMeant = kind === 'alert' && (query.deviceId === undefined || query.deviceId === deviceId)
    const isVisible = deviceId === FLEET ? undefined : deviceIds?.includes(deviceId)
    const within = isVisible === undefined ? query.within : isVisible ? undefined : []
    const isSeen = isInGroups(typeof group === 'string' ? group : undefined, { group: query.group, within })
    const fits = isMeant && isSeen && matchesQuery(body, { ...query, states: ['resolved'] })
    if (fits && !last.has(id)) last.set(id, body)
  }
  return {
    total: last.size,
    known: query.known.filter((id) => last.has(id)).length,
    alerts: sortAlerts([...last.values()], query),
  }
}
