// MQTT sessions as the log tells of them: who is connected, since when, and why not.
import { Packr } from 'msgpackr'
import { Micros, type Millis, toMillis } from '../../schemas/ids.ts'
import type { Frame } from '../domain/bundle.ts'
import type { EndCause } from '../ports/broker.ts'
import { type Actor, toView } from './actor.ts'
import type { Batch, Place } from './shard.ts'

/** What the payload of an `opened`, `listening` or `closed` frame holds. */
export interface SessionPayload {
  readonly number: number
  readonly ip: string
  readonly cause: EndCause | undefined
}

const packr = new Packr({ useRecords: false })

export function packSession(payload: SessionPayload): Uint8Array {
  return packr.pack(payload)
}

export function sessionOpened(actor: Actor, frame: Frame, place: Place, batch: Batch): void {
  // Written by packSession.
  const { number, ip } = packr.unpack(frame.payload) as SessionPayload
  const isOver = number < batch.shard.bootAt
  const isOld = actor.session !== undefined && actor.session.number >= number
  if (isOver || isOld) return
  const since = toMillis(Micros(frame.receivedAt))
  actor.session = { number: Micros(number), ip, since, listens: false }
  note(actor, { at: since, reason: 'connect' }, place, batch)
  batch.reschedule(actor)
  const { shadow } = batch.decisions.deviceOf(actor)
  // What it was sent in an earlier session may be lost, and what is retained may be of an older version.
  if (place.isNew && shadow.version > 0)
    batch.decisions.decide(actor, { kind: 'shadow_wanted', what: 'desired' }, since)
}

export function sessionClosed(actor: Actor, frame: Frame, place: Place, batch: Batch): void {
  // The end of a connection is no sign of life.
  batch.open.wasSilent = true
  // Written by packSession.
  const { number, cause } = packr.unpack(frame.payload) as SessionPayload
  if (actor.session?.number !== number) return
  actor.session = undefined
  batch.reschedule(actor)
  note(actor, { at: toMillis(Micros(frame.receivedAt)), reason: cause ?? 'lost' }, place, batch)
}

/** The session takes commands from now on: what waits is sent. */
export function sessionListens(actor: Actor, frame: Frame, place: Place, batch: Batch): void {
  batch.open.wasSilent = true
  // Written by packSession.
  const { number } = packr.unpack(frame.payload) as SessionPayload
  if (actor.session?.number !== number) return
  actor.session = { ...actor.session, listens: true }
  batch.reschedule(actor)
  if (place.isNew) batch.decisions.send(actor, toMillis(Micros(frame.receivedAt)))
}

function note(
  actor: Actor,
  { at, reason }: { at: Millis; reason: string },
  place: Place,
  batch: Batch,
): void {
  actor.connectionSince = at
  actor.connectionReason = reason
  if (!place.isNew) return
  const device = batch.decisions.deviceOf(actor)
  batch.open.feed.push({ kind: 'device', event: 'device.connectivity', at, view: toView(actor, device) })
}
