// MQTT sessions as the log tells of them: who is connected, since when, and why not.
import { Packr } from 'msgpackr'
import { Micros, type Millis, toMillis } from '../../schemas/ids.ts'
import type { Frame } from '../domain/bundle.ts'
import type { DeviceSession, EndCause } from '../ports/broker.ts'
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

export function sessionPayload({ number, ip }: DeviceSession, cause?: EndCause): Uint8Array {
  return packSession({ number, ip, cause })
}

export function sessionOpened(actor: Actor, frame: Frame, place: Place, batch: Batch): void {
  // Written by packSession.
  const { number, ip } = packr.unpack(frame.payload) as SessionPayload
  const slot = slotOf(frame)
  // That its gateway has connected is no sign of life of the device.
  if (slot === 'relay') batch.open.wasSilent = true
  const isOver = number < batch.shard.bootAt
  const isOld = (actor[slot]?.number ?? 0) >= number
  if (isOver || isOld) return
  const since = toMillis(Micros(frame.receivedAt))
  actor[slot] = { number: Micros(number), ip, since, listens: false }
  if (slot === 'session') note(actor, { at: since, reason: 'connect' }, place, batch)
  else if (actor.session === undefined) note(actor, { at: since, reason: 'gateway' }, place, batch)
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
  const slot = slotOf(frame)
  if (actor[slot]?.number !== number) return
  actor[slot] = undefined
  batch.reschedule(actor)
  const at = toMillis(Micros(frame.receivedAt))
  const why = cause ?? 'lost'
  // While there is the other one, the device is connected.
  if (slot === 'relay' && actor.session === undefined)
    note(actor, { at, reason: `gateway ${why}` }, place, batch)
  if (slot === 'session')
    note(actor, { at, reason: actor.relay === undefined ? why : 'gateway' }, place, batch)
}

/** The session takes commands from now on: what waits is sent. */
export function sessionListens(actor: Actor, frame: Frame, place: Place, batch: Batch): void {
  batch.open.wasSilent = true
  // Written by packSession.
  const { number } = packr.unpack(frame.payload) as SessionPayload
  const slot = slotOf(frame)
  const session = actor[slot]
  if (session?.number !== number) return
  actor[slot] = { ...session, listens: true }
  batch.reschedule(actor)
  if (place.isNew) batch.decisions.send(actor, toMillis(Micros(frame.receivedAt)))
}

/** Which of a device's connections it is about: its own, or its gateway's. */
function slotOf({ via }: Frame): 'session' | 'relay' {
  return via.length === 0 ? 'session' : 'relay'
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
