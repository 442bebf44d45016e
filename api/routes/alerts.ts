// /alerts: alerts of devices, and what people do to them.
import type { AlertAct } from '../../engine/domain/alert/acts.ts'
import { deviceOfAlert } from '../../engine/domain/alert/decide.ts'
import { LIMITS } from '../../engine/limits.ts'
import type { AlertSort, AlertsQuery } from '../../engine/ports/alerts.ts'
import { AlertId, type DeviceId, RuleId, toIso, toMillis } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import {
  ackAlert,
  assignAlert,
  commentAlert,
  getAlert,
  getAlertSummary,
  listAlerts,
  resolveAlert,
  unackAlert,
} from '../../schemas/operations/alerts.ts'
import { ALERT_STATES, type AlertSeverity, type AlertState } from '../../schemas/vocabulary.ts'
import { scopeOf } from '../auth/scope.ts'
import { visibleId } from '../auth/visible-device.ts'
import { alertBodyOf } from '../bodies/alert-body.ts'
import { type Answer, answer } from '../http/answer.ts'
import { pageAnswer, toWindow } from '../http/paging.ts'
import { type Route, route, type SignedCall } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { parseSpan } from '../http/span.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'

const TIMELINE_MAX = 200

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
      const found = await engine.alerts.list({
        // Words of their lists, by the pattern of the query.
        states: (query.state?.split(',') ?? ['firing', 'recovering']) as AlertState[],
        severities: query.severity?.split(',') as AlertSeverity[] | undefined,
        deviceId: query.device_id === undefined ? undefined : (query.device_id as DeviceId),
        group: query.group,
        within: scopeOf(user),
        ruleId: query.rule_id === undefined ? undefined : RuleId(query.rule_id),
        type: query.type,
        acknowledged: query.acknowledged,
        flapping: query.flapping,
        from: range.from,
        to: range.to,
        sort: (sort === '' ? 'fired_at' : sort) as AlertSort,
        descending: direction.toLowerCase() === 'desc',
        limit,
      })
      const page = found.alerts.slice(window.offset).map((alert) => alertBodyOf(alert, services))
      return pageAnswer(page, found.total, window, url)
    }),
    route(getAlertSummary, async ({ user }) => {
      const { byState, byGroup, overloaded } = await engine.alerts.counts(scopeOf(user))
      const groups = Object.entries(byGroup).sort(([a], [b]) => (a < b ? -1 : 1))
      return answer(200, {
        by_state: byState,
        by_group: groups.map(([group, counts]) => ({ group: group === '' ? null : group, counts })),
        overloaded,
      })
    }),
    route(getAlert, async ({ params, user }) => {
      const deviceId = visibleId(engine, deviceOfAlert(params.alert_id) ?? '', user)
      if (deviceId === undefined) return noSuchAlert()
      const [alert, rows] = await Promise.all([
        found(services, AlertId(params.alert_id), deviceId),
        engine.history({ deviceId, kinds: ['alert'], limit: TIMELINE_MAX }),
      ])
      const timeline = rows
        .filter(({ body }) => body['alert_id'] === params.alert_id)
        .map(({ body, at }): JsonObject => ({ ...body, at: toIso(toMillis(at)) }))
      const [last] = timeline
      // One that the record does not keep any more is as its last move says.
      const shown = alert ?? (last === undefined ? undefined : fromHistory(last))
      if (shown === undefined) return noSuchAlert()
      return answer(200, { ...alertBodyOf(shown, services), timeline })
    }),
    route(ackAlert, ({ params, body, user, sign }) =>
      act(services, { id: params.alert_id, wish: { kind: 'ack', comment: body?.comment }, user, sign }),
    ),
    route(unackAlert, ({ params, user, sign }) =>
      act(services, { id: params.alert_id, wish: { kind: 'unack' }, user, sign }),
    ),
    route(resolveAlert, ({ params, body, user, sign }) => {
      const wish = { kind: 'resolve', comment: body?.comment, snoozeSec: body?.snooze_sec } as const
      return act(services, { id: params.alert_id, wish, user, sign })
    }),
    route(assignAlert, ({ params, body, user, sign }) => {
      const wish = { kind: 'assign', userId: body.user_id ?? undefined } as const
      return act(services, { id: params.alert_id, wish, user, sign })
    }),
    route(commentAlert, ({ params, body, user, sign }) =>
      act(services, { id: params.alert_id, wish: { kind: 'comment', text: body.text }, user, sign }),
    ),
  ]
}

async function act(
  services: Services,
  { id, wish, user, sign }: SignedCall & { readonly id: string; readonly wish: AlertAct },
): Promise<Answer | Refusal> {
  const { engine } = services
  const deviceId = visibleId(engine, deviceOfAlert(id) ?? '', user)
  if (deviceId === undefined) return noSuchAlert()
  const request = { kind: 'alert', id: AlertId(id), act: wish } as const
  const submitted = await engine.submit(deviceId, request, sign({ target: `alerts/${id}` }))
  if (submitted.kind === 'refused') return submitted
  const alert = await found(services, AlertId(id), deviceId)
  return alert === undefined ? noSuchAlert() : answer(200, alertBodyOf(alert, services))
}

async function found(
  { engine }: Services,
  alertId: AlertId,
  deviceId: DeviceId,
): Promise<JsonObject | undefined> {
  const query: AlertsQuery = { states: ALERT_STATES, alertId, deviceId, limit: 1 }
  return (await engine.alerts.list(query)).alerts[0]
}

function fromHistory({ event: _, actor: __, ...body }: JsonObject): JsonObject {
  return { ...body, comments: [] }
}

const noSuchAlert = () => refused('NOT_FOUND', { message: 'no such alert' })
