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
import { alertBodies, alertNotFound, findAlert, locateAlert } from './alert-lookup.ts'

const BULK_MAX = 500
const AT_ONCE = 50

type ParsedAct = AlertAct | Refusal

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
      const requested = { kind: 'resolve', comment: body?.comment, snoozeSec: body?.snooze_sec } as const
      return actOne(services, params.alert_id, requested, { user, sign })
    }),
    route(assignAlert, ({ params, body, user, sign }) => {
      const requested = toAssign(services, body.user_id)
      return actOne(services, params.alert_id, requested, { user, sign })
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
      const requested = toAct(services, body, clock.now())
      if (requested.kind === 'refused') return requested
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
      const results = await actMany(services, ids, requested, { user, sign })
      return answer(200, { matched, done: results.filter(({ done }) => done).length, results })
    }),
  ]
}

async function actOne(
  services: Services,
  id: string,
  requested: ParsedAct,
  call: SignedCall,
): Promise<Answer | Refusal> {
  if (requested.kind === 'refused') return requested
  const refusal = await act(services, id, requested, call)
  const location = locateAlert(services, id, call.user)
  if (refusal !== undefined)
    return refusal.code === 'NOT_FOUND' ? pastAlertRefusal(services, AlertId(id), location) : refusal
  const alert = location && (await findAlert(services, AlertId(id), location))
  if (alert === undefined) return alertNotFound()
  const [shown] = await alertBodies(services, [alert])
  return answer(200, shown)
}

/** Handles an alert that only the history knows: it is resolved, and nothing changes. */
async function pastAlertRefusal(
  { engine }: Services,
  id: AlertId,
  location: ReturnType<typeof locateAlert>,
): Promise<Refusal> {
  // Only the alert itself tells who may see an alert about the fleet.
  if (location === undefined || (location.deviceId === undefined && location.within !== undefined))
    return alertNotFound()
  const moves = await engine.alertMoves(location.deviceId ?? FLEET, id)
  if (moves.length === 0) return alertNotFound()
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
  requested: AlertAct,
  call: SignedCall,
): Promise<readonly Result[]> {
  const results: Result[] = []
  for (const some of chunks(ids, AT_ONCE)) {
    const refusals = await Promise.all(some.map((id) => act(services, id, requested, call)))
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
  requested: AlertAct,
  { user, sign }: SignedCall,
): Promise<Refusal | undefined> {
  const { engine } = services
  const location = locateAlert(services, id, user)
  if (location === undefined) return alertNotFound()
  const { deviceId } = location
  if (deviceId !== undefined) {
    const request = { kind: 'alert', id: AlertId(id), act: requested } as const
    const submitted = await engine.submit(deviceId, request, sign({ target: `alerts/${id}` }))
    return submitted.kind === 'refused' ? submitted : undefined
  }
  if ((await findAlert(services, AlertId(id), location)) === undefined) return alertNotFound()
  const acted = await engine.alerts.actOnFleet(AlertId(id), requested, userAuthor(user.id))
  return acted.kind === 'refused' ? acted : undefined
}

interface Span {
  readonly until?: string | undefined
  readonly for_sec?: number | undefined
}

function toSnooze({ until, for_sec: forSec }: Span, now: Millis): ParsedAct {
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

interface BulkAct extends Span {
  readonly action: 'ack' | 'snooze' | 'resolve' | 'assign'
  readonly comment?: string | undefined
  readonly snooze_sec?: number | undefined
  readonly user_id?: string | null | undefined
}

function toAssign({ users }: Services, userId: string | null): ParsedAct {
  if (userId === null) return { kind: 'assign', userId: undefined }
  if (users.get(UserId(userId)) !== undefined) return { kind: 'assign', userId }
  return invalid('/user_id', {
    in: 'body',
    code: 'NOT_ALLOWED',
    message: 'must be the id of a user, or null for nobody',
  })
}

function toAct(
  services: Services,
  { action, comment, snooze_sec: snoozeSec, user_id: userId, ...span }: BulkAct,
  now: Millis,
): ParsedAct {
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
