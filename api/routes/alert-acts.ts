// What people do to alerts: acknowledge, snooze, resolve, assign and comment, one alert at a time or many.

import type { AlertAct } from '../../engine/domain/alert/acts.ts'
import { chunks } from '../../engine/domain/chunks.ts'
import { userAuthor } from '../../engine/domain/shadow/record.ts'
import { FLEET } from '../../engine/ports/feed.ts'
import { ALERT_SNOOZE_SEC_MAX } from '../../schemas/alert.ts'
import { AlertId, type DeviceId, Millis, RuleId, UserId } from '../../schemas/ids.ts'
import { parseInstant } from '../../schemas/instant-text.ts'
import {
  ackAlert,
  assignAlert,
  bulkAlerts,
  commentAlert,
  resolveAlert,
  snoozeAlert,
  unackAlert,
  unsnoozeAlert,
} from '../../schemas/operations/alerts.ts'
import { scopeOf } from '../auth/scope.ts'
import { type Answer, answer } from '../http/answer.ts'
import { type Route, route, type SignedCall } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'
import { alertPlaceOf, foundAlert, noSuchAlert, shownAlerts } from './found-alert.ts'

const BULK_MAX = 500
const AT_ONCE = 50

type Wish = AlertAct | Refusal

export function alertActRoutes(services: Services): readonly Route[] {
  const { engine, clock } = services
  return [
    route(ackAlert, ({ params, body, user, sign }) =>
      actOne(services, params.alert_id, { kind: 'ack', comment: body?.comment }, { user, sign }),
    ),
    route(unackAlert, ({ params, user, sign }) =>
      actOne(services, params.alert_id, { kind: 'unack' }, { user, sign }),
    ),
    route(resolveAlert, ({ params, body, user, sign }) => {
      const wish = { kind: 'resolve', comment: body?.comment, snoozeSec: body?.snooze_sec } as const
      return actOne(services, params.alert_id, wish, { user, sign })
    }),
    route(assignAlert, ({ params, body, user, sign }) => {
      const wish = toAssign(services, body.user_id)
      return actOne(services, params.alert_id, wish, { user, sign })
    }),
    route(commentAlert, ({ params, body, user, sign }) =>
      actOne(services, params.alert_id, { kind: 'comment', text: body.text }, { user, sign }),
    ),
    route(snoozeAlert, ({ params, body, user, sign }) =>
      actOne(services, params.alert_id, toSnooze(body, clock.now()), { user, sign }),
    ),
    route(unsnoozeAlert, ({ params, user, sign }) =>
      actOne(services, params.alert_id, { kind: 'unsnooze' }, { user, sign }),
    ),
    route(bulkAlerts, async ({ body, user, sign }) => {
      const { alert_ids: named, filter } = body
      if ((named === undefined) === (filter === undefined))
        return invalid('/alert_ids', {
          in: 'body',
          code: 'REQUIRED',
          message: 'is required, or filter is, and not both',
        })
      const wish = toWish(services, body, clock.now())
      if (wish.kind === 'refused') return wish
      const ids = named ?? []
      let matched = ids.length
      if (filter !== undefined) {
        const found = await engine.alerts.list({
          states: ['firing', 'recovering'],
          severities: filter.severity,
          // Only looked up, so any text is acceptable.
          deviceId: filter.device_id as DeviceId | undefined,
          group: filter.group,
          within: scopeOf(user),
          ruleId: filter.rule_id === undefined ? undefined : RuleId(filter.rule_id),
          type: filter.type,
          groupKey: filter.group_key,
          acknowledged: filter.acknowledged,
          snoozed: filter.snoozed,
          descending: false,
          limit: BULK_MAX,
        })
        matched = found.total
        ids.push(...found.alerts.map(({ alert_id: id }) => String(id)))
      }
      const results = await actMany(services, ids, wish, { user, sign })
      return answer(200, { matched, done: results.filter(({ done }) => done).length, results })
    }),
  ]
}

async function actOne(
  services: Services,
  id: string,
  wish: Wish,
  call: SignedCall,
): Promise<Answer | Refusal> {
  if (wish.kind === 'refused') return wish
  const refusal = await act(services, id, wish, call)
  const place = alertPlaceOf(services, id, call.user)
  if (refusal !== undefined)
    return refusal.code === 'NOT_FOUND' ? gone(services, AlertId(id), place) : refusal
  const alert = place && (await foundAlert(services, AlertId(id), place))
  if (alert === undefined) return noSuchAlert()
  const [shown] = await shownAlerts(services, [alert])
  return answer(200, shown)
}

/** Handles an alert that only the history knows: it is resolved, and nothing changes. */
async function gone(
  { engine }: Services,
  id: AlertId,
  place: ReturnType<typeof alertPlaceOf>,
): Promise<Refusal> {
  // Only the alert itself tells who may see an alert about the fleet.
  if (place === undefined || (place.deviceId === undefined && place.within !== undefined))
    return noSuchAlert()
  const moves = await engine.alertMoves(place.deviceId ?? FLEET, id)
  if (moves.length === 0) return noSuchAlert()
  return refused('INVALID_STATE_TRANSITION', {
    message: 'the alert was resolved so long ago that it only stands in the history',
    from: 'resolved',
    allowed: [],
  })
}

interface Result {
  readonly alert_id: string
  readonly done: boolean
  readonly code?: string
}

async function actMany(
  services: Services,
  ids: readonly string[],
  wish: AlertAct,
  call: SignedCall,
): Promise<readonly Result[]> {
  const results: Result[] = []
  for (const some of chunks(ids, AT_ONCE)) {
    const refusals = await Promise.all(some.map((id) => act(services, id, wish, call)))
    some.forEach((id, i) => {
      const refusal = refusals[i]
      results.push({
        alert_id: id,
        done: refusal === undefined,
        ...(refusal === undefined ? {} : { code: refusal.code }),
      })
    })
  }
  return results
}

/** Returns undefined on success. */
async function act(
  services: Services,
  id: string,
  wish: AlertAct,
  { user, sign }: SignedCall,
): Promise<Refusal | undefined> {
  const { engine } = services
  const place = alertPlaceOf(services, id, user)
  if (place === undefined) return noSuchAlert()
  const { deviceId } = place
  if (deviceId !== undefined) {
    const request = { kind: 'alert', id: AlertId(id), act: wish } as const
    const submitted = await engine.submit(deviceId, request, sign({ target: `alerts/${id}` }))
    return submitted.kind === 'refused' ? submitted : undefined
  }
  if ((await foundAlert(services, AlertId(id), place)) === undefined) return noSuchAlert()
  const acted = await engine.alerts.actOnFleet(AlertId(id), wish, userAuthor(user.id))
  return acted.kind === 'refused' ? acted : undefined
}

interface Span {
  readonly until?: string | undefined
  readonly for_sec?: number | undefined
}

function toSnooze({ until, for_sec: forSec }: Span, now: Millis): Wish {
  if ((until === undefined) === (forSec === undefined))
    return invalid('/until', {
      in: 'body',
      code: 'REQUIRED',
      message: 'is required, or for_sec is, and not both',
    })
  const end = until === undefined ? now + (forSec ?? 0) * 1_000 : parseInstant(until, now)
  if (end === undefined || end <= now || end > now + ALERT_SNOOZE_SEC_MAX * 1_000)
    return invalid('/until', {
      in: 'body',
      code: 'OUT_OF_RANGE',
      message: 'must be in the future, and at most 366 days from now',
    })
  return { kind: 'snooze', until: Millis(end) }
}

interface BulkWish extends Span {
  readonly action: 'ack' | 'snooze' | 'resolve' | 'assign'
  readonly comment?: string | undefined
  readonly snooze_sec?: number | undefined
  readonly user_id?: string | null | undefined
}

function toAssign({ users }: Services, userId: string | null): Wish {
  if (userId === null) return { kind: 'assign', userId: undefined }
  if (users.get(UserId(userId)) !== undefined) return { kind: 'assign', userId }
  return invalid('/user_id', {
    in: 'body',
    code: 'UNKNOWN',
    message: 'must be the id of a user, or null for nobody',
  })
}

function toWish(
  services: Services,
  { action, comment, snooze_sec: snoozeSec, user_id: userId, ...span }: BulkWish,
  now: Millis,
): Wish {
  if (action === 'ack') return { kind: 'ack', comment }
  if (action === 'resolve') return { kind: 'resolve', comment, snoozeSec }
  if (action === 'snooze') return toSnooze(span, now)
  if (userId === undefined)
    return invalid('/user_id', {
      in: 'body',
      code: 'REQUIRED',
      message: 'is required; null assigns to nobody',
    })
  return toAssign(services, userId)
}
