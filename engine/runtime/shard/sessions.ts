// MQTT sessions as recorded in the log: who is connected, since when, and why a device is not.

import { Micros, type Millis } from '../../../schemas/ids.ts'
import type { Item } from '../../domain/bundle.ts'
import { countConnect, flapsUntil } from '../../domain/device/flapping.ts'
import type { OwnSession } from '../../domain/ota/job-sessions.ts'
import { newPackr } from '../../domain/packing.ts'
import type { DeviceSession, EndCause } from '../../ports/broker.ts'
import { type Actor, isReachable, isVoid, toView } from './actor.ts'
import type { Batch } from './batch.ts'
import { type Incoming, timeOf } from './incoming.ts'

/** Payload of an `opened`, `listening` or `closed` item. */
export interface SessionPayload {
  readonly number: number
  readonly ip: string
  readonly cause: EndCause | undefined
  /** When the token was issued. Set if the broker that admitted the device does not know which tokens were revoked. */
  readonly issuedAt?: Millis | undefined
  /** The topics that the session is subscribed to from now on. If missing, only commands. */
  readonly takes?: TakenTopics | undefined
}

/** The optional topics that the device has subscribed to. */
export interface TakenTopics {
  readonly commands: boolean
  readonly ota: boolean
}

const packr = newPackr()

/** Reasons for the end of a connection that say nothing about the device. */
const ENDED_BY_SERVICE: ReadonlySet<EndCause> = new Set(['shutdown', 'expired', 'revoked'])

export function packSession(payload: SessionPayload): Uint8Array {
  return packr.pack(payload)
}

export function sessionPayload({ number, ip, issuedAt }: DeviceSession, cause?: EndCause): Uint8Array {
  return packSession(issuedAt === undefined ? { number, ip, cause } : { number, ip, cause, issuedAt })
}

/** Whether a session is subscribed to other topics than before. In the beginning it is subscribed to none. */
export function hasChanged(takes: TakenTopics, before: TakenTopics | undefined): boolean {
  return takes.commands !== (before?.commands ?? false) || takes.ota !== (before?.ota ?? false)
}

export function listeningPayload({ number, ip }: DeviceSession, takes: TakenTopics): Uint8Array {
  return packSession({ number, ip, cause: undefined, takes })
}

export function readSession(payload: Uint8Array): SessionPayload {
  // Written by packSession.
  return packr.unpack(payload) as SessionPayload
}

/** Returns whether the connection that counts for the device has changed. */
export function sessionOpened(actor: Actor, incoming: Incoming, batch: Batch): boolean {
  const { number, ip, issuedAt } = readSession(incoming.item.payload)
  const slot = slotOf(incoming.item)
  cutAgain(actor, incoming, batch)
  // A new connection of its gateway is no sign of life of the device.
  if (slot === 'relay') batch.open.isNoSignOfLife = true
  // Counts sessions of an earlier run, too, because a restart of the service must not end a device's flapping.
  else actor.connects = countConnect(actor.connects, Micros(number))
  const isOver = number < batch.shard.bootAt
  const isOld = (actor[slot]?.number ?? 0) >= number
  if (isOver || isOld) return false
  const since = timeOf(incoming)
  const own = slot === 'relay' ? undefined : actor.session === undefined ? 'resumed' : 'lost'
  actor[slot] = { number: Micros(number), ip, since, listens: false, takesOta: false, issuedAt }
  if (issuedAt !== undefined && slot === 'session') endIfRevoked(actor, incoming, batch)
  const isMoved = slot === 'session' || actor.session === undefined
  if (incoming.isNew) otaSessionMoved(actor, own, since, batch)
  if (isMoved) note(actor, since, slot === 'session' ? 'connect' : 'gateway')
  batch.reschedule(actor)
  const { shadow } = batch.decisions.deviceOf(actor)
  // Messages of an earlier session may be lost, and the retained one may have an older version.
  if (incoming.isNew && shadow.version > 0)
    batch.decisions.decide(actor, { kind: 'shadow_wanted', part: 'desired' }, since)
  return isMoved
}

/** Cuts a decommissioned device again. A broker outside was not told if the owner died before it could do so (R5). */
export function cutAgain(actor: Actor, incoming: Incoming, batch: Batch): void {
  const device = batch.decisions.deviceOf(actor)
  if (device.status !== 'decommissioned' || !incoming.isNew || slotOf(incoming.item) === 'relay') return
  const now = timeOf(incoming)
  batch.decisions.follow(actor, device, { device, effects: [{ kind: 'cut' }] }, now)
}

/** Ends a session whose token was revoked. The broker reports the end as an event of its own. If the owner died before
 *  it told the broker, the next owner does (R5). A gateway's token says nothing about its sub-devices. */
function endIfRevoked(actor: Actor, incoming: Incoming, batch: Batch): void {
  const device = batch.decisions.deviceOf(actor)
  if (!isVoid(actor.session, device) || device.status === 'decommissioned') return
  if (incoming.isNew)
    batch.decisions.follow(actor, device, { device, effects: [{ kind: 'end_sessions' }] }, timeOf(incoming))
  else batch.resend(actor)
}

/** Returns whether the connection that counts for the device has changed. */
export function sessionClosed(actor: Actor, incoming: Incoming, batch: Batch): boolean {
  // The end of a connection is no sign of life.
  batch.open.isNoSignOfLife = true
  const { number, cause } = readSession(incoming.item.payload)
  const slot = slotOf(incoming.item)
  // The number of an assumed session is a time at which it existed. It means the session that had begun by then.
  if (actor[slot] === undefined || actor[slot].number > number) return false
  actor[slot] = undefined
  batch.reschedule(actor)
  const at = timeOf(incoming)
  const why = cause ?? 'lost'
  const isLost = slot === 'session' && !ENDED_BY_SERVICE.has(why)
  if (incoming.isNew) otaSessionMoved(actor, isLost ? 'lost' : undefined, at, batch)
  // The device stays connected as long as it has one of the two connections.
  if (slot === 'session') note(actor, at, actor.relay === undefined ? why : 'gateway')
  else if (actor.session === undefined) note(actor, at, `gateway ${why}`)
  return slot === 'session' || actor.session === undefined
}

/** The session is subscribed to commands or messages about firmware from now on, so what waits is sent. */
export function sessionListens(actor: Actor, incoming: Incoming, batch: Batch): void {
  batch.open.isNoSignOfLife = true
  const { number, takes = { commands: true, ota: false } } = readSession(incoming.item.payload)
  const slot = slotOf(incoming.item)
  const session = actor[slot]
  if (session === undefined || session.number > number) return
  actor[slot] = { ...session, listens: takes.commands, takesOta: takes.ota }
  batch.reschedule(actor)
  if (incoming.isNew) batch.decisions.send(actor, timeOf(incoming))
}

/** Tells the device's firmware jobs, if there are any, that its connection has changed. */
function otaSessionMoved(actor: Actor, own: OwnSession | undefined, now: Millis, batch: Batch): void {
  if (batch.decisions.deviceOf(actor).firmware.jobs.length === 0) return
  batch.decisions.decide(actor, { kind: 'ota_session', own, isReachable: isReachable(actor, now) }, now)
}

/** When the actor stops flapping, if that is after `since`; else never (R6). */
export function calmsAt({ connects }: Actor, since: number): number {
  const at = connects === undefined ? 0 : flapsUntil(connects)
  return at > since ? at : Number.POSITIVE_INFINITY
}

/** Tells the feed that the device's connection or flapping changed. No other event does. */
export function publishConnection(actor: Actor, now: Millis, batch: Batch): void {
  const view = toView(actor, now, batch.decisions.deviceOf(actor))
  batch.open.feed.push({ kind: 'device', event: 'device.connectivity', at: now, view })
}

/** The connection that an item is about: the device's own, or its gateway's. */
function slotOf({ via }: Item): 'session' | 'relay' {
  return via.length === 0 ? 'session' : 'relay'
}

function note(actor: Actor, at: Millis, reason: string): void {
  actor.connectionSince = at
  actor.connectionReason = reason
}
