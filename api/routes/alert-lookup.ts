// An alert by its id: where to look for it, whether the caller may see it, and how it is shown.
import { deviceOfAlert, isFleetAlertId } from '../../engine/domain/alert/alert-id.ts'
import type { HistoryRow } from '../../engine/ports/history.ts'
import { AlertId, type DeviceId, toIso, toMillis } from '../../schemas/ids.ts'
import { isObject, type JsonObject } from '../../schemas/json.ts'
import { ALERT_STATES } from '../../schemas/vocabulary.ts'
import type { Caller } from '../auth/caller.ts'
import { scopeOf } from '../auth/scope.ts'
import { visibleDeviceId } from '../auth/visible-device.ts'
import { alertBodyOf } from '../bodies/alert-body.ts'
import type { Services } from '../http/services.ts'
import { refused } from '../refusal.ts'

export interface AlertLocation {
  /** Undefined if the alert is about the fleet. */
  readonly deviceId: DeviceId | undefined
  /** The group subtrees that the caller may see, for an alert about the fleet. */
  readonly within: readonly string[] | undefined
}

/** Undefined if the caller may not see the alert, whether it exists or not. */
export function locateAlert({ engine }: Services, id: string, user: Caller): AlertLocation | undefined {
  if (isFleetAlertId(id)) return { deviceId: undefined, within: scopeOf(user) }
  const deviceId = visibleDeviceId(engine, deviceOfAlert(id) ?? '', user)
  return deviceId === undefined ? undefined : { deviceId, within: undefined }
}

/** The alert as the engine shows it. Undefined if it is not kept in memory. */
export async function findAlert(
  { engine }: Services,
  alertId: AlertId,
  { deviceId, within }: AlertLocation,
): Promise<JsonObject | undefined> {
  const query = { states: ALERT_STATES, alertId, deviceId, within, limit: 1 }
  return (await engine.alerts.list(query)).alerts[0]
}

/** The alerts with their links, and with the channels that were notified. */
export async function alertBodies(
  services: Services,
  alerts: readonly JsonObject[],
): Promise<readonly JsonObject[]> {
  // Pending instances have no id, and nobody was notified of them.
  const ids = alerts.flatMap(({ alert_id: id }) => (typeof id === 'string' ? [AlertId(id)] : []))
  const channelNotices =
    ids.length === 0 ? undefined : await services.engine.channels({ op: 'notified', alertIds: ids })
  const byId = new Map(
    ids.map((id, i) => [
      id as string,
      channelNotices?.kind === 'notified' ? (channelNotices.alerts[i] ?? []) : [],
    ]),
  )
  return alerts.map((alert) => {
    const notified = (byId.get(String(alert['alert_id'])) ?? []).map(({ channelId, event, at, state }) => ({
      channel_id: channelId,
      event,
      at: toIso(at),
      state,
    }))
    return alertBodyOf({ ...alert, notified }, services)
  })
}

export const alertNotFound = () => refused('NOT_FOUND', { message: 'no such alert' })

/** The alert as it was after this change, with the comments of `moves`, of which the newest is the first. */
export function fromHistory(
  { event: _, actor: __, comment: ___, ...body }: JsonObject,
  moves: readonly HistoryRow[] = [],
): JsonObject {
  const comments = moves
    .toReversed()
    .flatMap(({ at, body: { comment, actor } }) =>
      typeof comment === 'string' && isObject(actor)
        ? [{ at: toIso(toMillis(at)), by: String(actor['id']), text: comment }]
        : [],
    )
  return { ...body, comments }
}
