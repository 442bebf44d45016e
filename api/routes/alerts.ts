// /alerts: alerts of devices, and what people do to them.
import { isFleetAlertId } from '../../engine/domain/alert/alert-id.ts'
import { publicState } from '../../engine/domain/alert/channel.ts'
import { LIMITS } from '../../engine/limits.ts'
import type { AlertSort } from '../../engine/ports/alerts.ts'
import { Fault } from '../../engine/ports/fault.ts'
import { FLEET } from '../../engine/ports/feed.ts'
import type { HistoryRow } from '../../engine/ports/history.ts'
import { AlertId, type DeviceId, RuleId, toIso, toMillis } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { getAlert, getAlertSummary, listAlerts } from '../../schemas/operations/alerts.ts'
import type { AlertSeverity, AlertState } from '../../schemas/vocabulary.ts'
import { scopeOf } from '../auth/scope.ts'
import { answer } from '../http/answer.ts'
import { pageAnswer, toWindow } from '../http/paging.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { parseSpan } from '../http/span.ts'
import { invalid } from '../refusal.ts'
import { findAlerts } from './alert-list.ts'
import {
  type AlertLocation,
  alertBodies,
  alertNotFound,
  findAlert,
  fromHistory,
  locateAlert,
} from './alert-lookup.ts'

export function alertRoutes(services: Services): readonly Route[] {
  const { engine, clock } = services
  return [
    route(listAlerts, async ({ query, user, url }) => {
      const range = parseSpan(query, clock.now())
      if (range.kind === 'refused') return range
      const window = toWindow(query)
      const limit = window.offset + window.perPage
      if (limit > LIMITS.alertsListedMax)
        return invalid('/page', {
          in: 'query',
          code: 'OUT_OF_RANGE',
          message: `reaches further than ${LIMITS.alertsListedMax} alerts; use filters`,
        })
      const [sort = 'fired_at', direction = 'desc'] = (query.sort ?? '').split(':')
      // The pattern of the query allows only these words.
      const states = (query.state?.split(',') ?? ['firing', 'recovering']) as AlertState[]
      const found = await findAlerts(engine, {
        states,
        severities: query.severity?.split(',') as AlertSeverity[] | undefined,
        deviceId: query.device_id === undefined ? undefined : (query.device_id as DeviceId),
        group: query.group,
        within: scopeOf(user),
        ruleId: query.rule_id === undefined ? undefined : RuleId(query.rule_id),
        type: query.type,
        acknowledged: query.acknowledged,
        flapping: query.flapping,
        snoozed: query.snoozed,
        groupKey: query.group_key,
        from: range.from,
        to: range.to,
        sort: (sort === '' ? 'fired_at' : sort) as AlertSort,
        descending: direction.toLowerCase() === 'desc',
        limit,
      })
      const page = await alertBodies(services, found.alerts.slice(window.offset))
      return pageAnswer(page, found.total, window, url)
    }),
    route(getAlertSummary, async ({ user }) => {
      const [counts, listed] = await Promise.all([
        engine.alerts.counts(scopeOf(user)),
        engine.channels({ op: 'list' }),
      ])
      const groups = Object.entries(counts.byGroup).sort(([a], [b]) => (a < b ? -1 : 1))
      return answer(200, {
        by_state: counts.byState,
        by_group: groups.map(([group, of]) => ({ group: group === '' ? null : group, counts: of })),
        overloaded: counts.overloaded,
        overflowing: counts.overflowing,
        channels: (listed.kind === 'channels' ? listed.channels : []).map((channel) => ({
          channel_id: channel.id,
          name: channel.name,
          type: channel.target.kind,
          state: publicState(channel),
        })),
      })
    }),
    route(getAlert, async ({ params, user }) => {
      const id = AlertId(params.alert_id)
      const location = locateAlert(services, id, user)
      if (location === undefined) return alertNotFound()
      const alert = await findAlert(services, id, location)
      // Only the alert itself tells who may see an alert about the fleet.
      if (alert === undefined && isFleetAlertId(id) && location.within !== undefined) return alertNotFound()
      const rows = await movesOf(services, id, { location, isKept: alert !== undefined })
      const timeline = rows.map(({ body, at }): JsonObject => ({ ...body, at: toIso(toMillis(at)) }))
      const [last] = rows
      // If the record has dropped the alert, it is shown as it was after its last change.
      const shown = alert ?? (last === undefined ? undefined : fromHistory(last.body, rows))
      if (shown === undefined) return alertNotFound()
      const [body] = await alertBodies(services, [shown])
      return answer(200, { ...body, timeline })
    }),
  ]
}

/** If the history cannot be read, an alert kept in a record is still shown, without its changes. */
async function movesOf(
  { engine }: Services,
  id: AlertId,
  { location, isKept }: { readonly location: AlertLocation; readonly isKept: boolean },
): Promise<readonly HistoryRow[]> {
  try {
    return await engine.alertMoves(location.deviceId ?? FLEET, id)
  } catch (error) {
    if (!isKept || !(error instanceof Fault)) throw error
    return []
  }
}
