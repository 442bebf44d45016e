// The effects of an alert's move: a feed event, a row of the device's timeline and a notice for the notifier, all in the
// save that keeps the move.
import { Buffer } from 'node:buffer'
import { Micros, type Millis } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Alert, Alerts } from '../../domain/alert/alerts-part.ts'
import { alertBody, type DisplayedState, noticeOf } from '../../domain/alert/body.ts'
import { encodeNotice, noticeKey } from '../../domain/alert/notice.ts'
import type { Effect } from '../../domain/device/events.ts'
import type { Device } from '../../domain/device/record.ts'
import type { HistoryRow } from '../../domain/history/row.ts'
import type { Author } from '../../domain/shadow/record.ts'
import type { AlertEvent, FeedEvent } from '../../ports/feed.ts'
import type { Notice as SavedNotice } from '../../ports/notices.ts'
import { type RowPlace, versionOf } from './history-rows.ts'

interface AlertEffectSink {
  readonly feed: FeedEvent[]
  addTimelineRow(row: HistoryRow, event: AlertEvent): void
  notify(notice: SavedNotice): void
}

type AlertMoveEffect = Extract<Effect, { kind: 'alert_moved' }>

export function performAlertMove(
  { move: { event, alert, notice }, by }: AlertMoveEffect,
  {
    open,
    device,
    before,
    now,
    place,
    shown,
  }: {
    readonly open: AlertEffectSink
    readonly device: Device
    readonly before: Device | undefined
    readonly now: Millis
    readonly place: RowPlace
    readonly shown: (alert: Alert) => DisplayedState
  },
): void {
  const { id: deviceId } = device
  const how = shown(alert)
  const name = alertEventOf(event, alert, before?.alerts)
  const body = alertBody(alert, device, how)
  open.feed.push({ kind: 'alert', event: name, deviceId, at: now, alert: body })
  open.addTimelineRow(
    {
      deviceId,
      kind: 'alert',
      // Two alerts may move to the same revision at the same moment.
      at: Micros(place.at + place.row),
      version: versionOf(place, alert.id, alert.revision),
      body: alertMoveBody(name, body, { alert, before: before?.alerts, by }),
    },
    name,
  )
  if (notice === undefined) return
  const left = noticeOf(alert, device, { event: notice, at: now, state: how.state })
  // A copy of exact size: a view would take the packer's whole buffer across to the host.
  open.notify({ key: noticeKey(left), bytes: Uint8Array.from(Buffer.from(encodeNotice(left))) })
}

/** `before`: the alerts before the move. */
export function alertEventOf(
  event: AlertMoveEffect['move']['event'],
  alert: Alert,
  before: Alerts | undefined,
): AlertEvent {
  switch (event) {
    case 'fired':
      return 'alert.fired'
    case 'severity':
      return 'alert.severity'
    case 'resolved':
      return 'alert.resolved'
    default:
      return alertBefore(alert, before)?.acknowledgedAt === undefined && alert.acknowledgedAt !== undefined
        ? 'alert.acknowledged'
        : 'alert.updated'
  }
}

/** The move as the history keeps it: with the comment that it added, but without those from before. */
export function alertMoveBody(
  event: AlertEvent,
  { comments: _, ...told }: JsonObject,
  {
    alert,
    before,
    by,
  }: { readonly alert: Alert; readonly before: Alerts | undefined; readonly by: Author | undefined },
): JsonObject {
  const known = alertBefore(alert, before)?.comments.length ?? 0
  const [added] = alert.comments.slice(known)
  const comment = added === undefined ? {} : { comment: added.text }
  return { event, ...told, ...comment, actor: by === undefined ? null : { type: by.kind, id: by.id } }
}

/** A resolved alert can still be commented. */
function alertBefore({ id }: Alert, before: Alerts | undefined): Alert | undefined {
  return [...(before?.open ?? []), ...(before?.resolved ?? [])].find((each) => each.id === id)
}
