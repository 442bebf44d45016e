// Applies a device's message by its topic, or parks it and says what is wrong with it.
import { Buffer } from 'node:buffer'
import { toMillis } from '../../../schemas/ids.ts'
import { parseSuffix, type Uplink } from '../../../schemas/topics.ts'
import type { LogLevel } from '../../../schemas/vocabulary.ts'
import { FLAG_REPLAY, FLAG_WILL } from '../../domain/bundle.ts'
import { toAck } from '../../domain/command/ack-message.ts'
import { strayTopic } from '../../domain/dead-letter/stray-topic.ts'
import { faultNamesOf } from '../../domain/device/faults.ts'
import type { Device } from '../../domain/device/record.ts'
import { readStatus } from '../../domain/device/status-message.ts'
import { readTokenRequest } from '../../domain/device/token-request.ts'
import { readLogLines } from '../../domain/history/log-lines.ts'
import { type Diagnostics, readDiagnostics } from '../../domain/telemetry/diagnostics.ts'
import { toFeedData } from '../../domain/telemetry/feed-data.ts'
import { Latest } from '../../domain/telemetry/latest.ts'
import { report, type StoredReport } from '../../domain/telemetry/report.ts'
import { unreachable } from '../../domain/unreachable.ts'
import { isWanted } from '../feed.ts'
import type { Actor } from './actor.ts'
import type { Batch } from './batch.ts'
import { acknowledge, applyAck, applyForged, applyReport, applyShadowGet } from './control-uplinks.ts'
import { type Incoming, placeOf, timeOf } from './incoming.ts'
import { applyDescription, applyOtaStatus } from './ota-uplinks.ts'
import { cutAgain } from './sessions.ts'
import { statusSessionOf } from './status-session.ts'

const RECOVERY_MS = 10_000
const HOUR_SEC = 3_600
interface NamedTelemetry {
  /** The source in `telemetry/{name}`. */
  readonly name: string | undefined
  readonly incoming: Incoming
}

const TELEMETRY: Uplink = { kind: 'telemetry', name: undefined }
const TELEMETRY_BYTES = Buffer.from('telemetry')

export function applyMessage(actor: Actor, incoming: Incoming, batch: Batch): void {
  const device = batch.decisions.deviceOf(actor)
  // Compared by time, not by order of work: a replay must decide the same although the record is newer by then. Compared in
  // milliseconds, because the record keeps no finer time.
  if (device.status === 'decommissioned' && timeOf(incoming) > device.statusSince) {
    batch.counts.ignored++
    cutAgain(actor, incoming, batch)
    return
  }
  // A replayed message is about an earlier time.
  if ((incoming.item.flags & (FLAG_WILL | FLAG_REPLAY)) !== 0) batch.open.isNoSignOfLife = true
  const uplink = toUplink(incoming.item.suffix)
  switch (uplink.kind) {
    case 'telemetry':
      applyTelemetry(actor, { name: uplink.name, incoming }, batch)
      return
    case 'status':
      applyStatus(actor, incoming, batch)
      return
    case 'log':
      applyLog(actor, incoming, batch)
      return
    case 'reported':
      applyReport(actor, incoming, batch)
      return
    case 'shadow_get':
      applyShadowGet(actor, incoming, batch)
      return
    case 'ack':
      applyAck(actor, incoming, batch)
      return
    case 'cloud_only':
      applyForged(actor, incoming, batch)
      parkStray(incoming, batch)
      return
    case 'sub':
      applyStray(device, incoming, batch)
      return
    case 'ota_status':
      applyOtaStatus(actor, incoming, batch)
      return
    case 'token_get':
      applyTokenGet(incoming, batch)
      return
    case 'other':
      batch.counts.refused++
      parkStray(incoming, batch)
      return
    default:
      unreachable(uplink)
  }
}

/** The ingress has answered the request. Here it is a sign of life, and a dead letter if it cannot be read. */
function applyTokenGet(incoming: Incoming, batch: Batch): void {
  const request = readTokenRequest(incoming.item.payload)
  if (request.kind === 'wanted') batch.counts.stored++
  else {
    batch.counts.refused++
    batch.open.park(incoming, 'MALFORMED_TOKEN_REQUEST', request.detail)
  }
}

/** Parks a message on a topic that nothing handles. It is still a sign of life. */
function parkStray(incoming: Incoming, batch: Batch): void {
  const stray = strayTopic(Buffer.from(incoming.item.suffix).toString('utf8'))
  if (stray !== undefined) batch.open.park(incoming, stray.reason, stray.detail)
}

/** Parks a message for a sub-device that the ingress could not assign to any device (see `Gateways`). */
function applyStray({ type }: Device, incoming: Incoming, batch: Batch): void {
  batch.counts.refused++
  if (type !== 'gateway') batch.open.park(incoming, 'NOT_A_GATEWAY', `the device is of type ${type}`)
  else batch.open.park(incoming, 'BAD_TOPIC', 'a sub-device’s topic is sub/{device_id}/{topic}')
}

function toUplink(suffix: Uint8Array): Uplink {
  // The most frequent topic is recognised without making a string.
  if (suffix.length === TELEMETRY_BYTES.length && isTelemetry(suffix)) return TELEMETRY
  return parseSuffix(Buffer.from(suffix.buffer, suffix.byteOffset, suffix.length).toString('utf8'))
}

function isTelemetry(suffix: Uint8Array): boolean {
  for (let i = 0; i < TELEMETRY_BYTES.length; i++) if (suffix[i] !== TELEMETRY_BYTES[i]) return false
  return true
}

function applyTelemetry(actor: Actor, { name, incoming }: NamedTelemetry, batch: Batch): void {
  actor.latest ??= new Latest()
  const { payload, receivedAt } = incoming.item
  const about = { deviceId: actor.device.id, name, receivedAt, version: placeOf(incoming) }
  const reported = report(payload, about, actor.latest, batch.columns)
  switch (reported.kind) {
    case 'stored':
      actor.telemetryAt = Math.max(actor.telemetryAt, toMillis(reported.at))
      batch.counts.stored++
      batch.counts.points += reported.points
      batch.counts.droppedPoints += reported.dropped
      if (reported.adjusted) batch.counts.adjusted++
      if (incoming.isFirst && reported.diagnostics !== undefined)
        applyDiagnostics(actor, { reported, incoming }, batch)
      if (incoming.isFirst) batch.alerts.telemetry(actor, reported, incoming, batch.decisions)
      if (incoming.isNew) {
        markLateHours(actor, reported, batch)
        if (isWanted(batch.wants.telemetry, actor.device.id)) {
          const data = toFeedData(payload, name)
          if (data !== undefined)
            batch.open.feed.push({
              kind: 'telemetry',
              deviceId: actor.device.id,
              at: toMillis(reported.at),
              data,
              seq: incoming.entry.seq,
            })
        }
      }
      return
    case 'ack':
      acknowledge(actor, { ack: toAck(reported.ack), incoming }, batch)
      return
    case 'refused':
      batch.counts.refused++
      batch.open.park(incoming, reported.reason, reported.detail)
      return
    default:
      unreachable(reported)
  }
}

/** Notes the hours whose rollups are settled already and must be computed again. */
function markLateHours(actor: Actor, { oldest, hours }: StoredReport, batch: Batch): void {
  const horizonSec = Math.floor(batch.horizon / 1000)
  const oldestSec = Math.floor(oldest / 1_000_000)
  if (oldestSec >= horizonSec) return
  for (const hour of hours ?? [oldestSec - (oldestSec % HOUR_SEC)])
    if (hour < horizonSec) batch.open.late(actor.device.id, hour)
}

/** A fault counts at once and ends only after all faults have been reported well for a while. Which faults are well, and
 *  since when all are, are vitals whatever the status, so a replay restores them. */
function applyDiagnostics(
  actor: Actor,
  { reported, incoming }: { readonly reported: StoredReport; readonly incoming: Incoming },
  batch: Batch,
): void {
  const now = timeOf(incoming)
  const diagnostics = readDiagnostics(reported.diagnostics)
  if (diagnostics === undefined) return
  const { faults } = diagnostics
  const isFaulty = faults.length > 0
  if (isFaulty) actor.recoverAt = Number.POSITIVE_INFINITY
  if (isFaulty && incoming.isNew) batch.decisions.decide(actor, { kind: 'diagnosed', faults }, now)
  const open = faultNamesOf(batch.decisions.deviceOf(actor))
  actor.wellNames = healthyAmong(open, actor.wellNames, diagnostics)
  const isAllWell = !isFaulty && actor.wellNames.length === open.length
  if (isAllWell && actor.recoverAt === Number.POSITIVE_INFINITY) {
    actor.recoverAt = now + RECOVERY_MS
    batch.reschedule(actor)
  }
}

const NO_NAMES: readonly string[] = []

/** The names of the record's faults that were last reported well. */
function healthyAmong(
  open: readonly string[],
  before: readonly string[],
  { faults, well }: Diagnostics,
): readonly string[] {
  if (open.length === 0) return NO_NAMES
  const names = new Set([...before, ...well])
  for (const { name } of faults) names.delete(name)
  return open.filter((name) => names.has(name))
}

function applyLog(actor: Actor, incoming: Incoming, batch: Batch): void {
  const { payload, receivedAt } = incoming.item
  const log = readLogLines(payload, receivedAt)
  if (log.kind === 'refused') {
    batch.counts.refused++
    batch.open.park(incoming, log.reason, log.detail)
    return
  }
  batch.counts.stored++
  if (log.adjusted) batch.counts.adjusted++
  const { id: deviceId } = actor.device
  const version = placeOf(incoming)
  const isPublished = incoming.isNew && isWanted(batch.wants.log, deviceId)
  for (const [line, { at, body }] of log.entries.entries()) {
    const row = { deviceId, kind: 'log', at, version, body } as const
    batch.history.add(row, receivedAt)
    if (isPublished)
      batch.open.feed.push({ kind: 'log', event: 'device.log', deviceId, at: toMillis(at), row })
    if (actor.watch !== undefined && incoming.isFirst) applyLogRules(actor, { body, line }, incoming, batch)
  }
}

function applyLogRules(
  actor: Actor,
  { body, line }: { readonly body: string; readonly line: number },
  incoming: Incoming,
  batch: Batch,
): void {
  if (actor.watch === undefined || actor.watch.fit.eventLeaves.length === 0) return
  // Written by readLogLines.
  const { level, message } = JSON.parse(body) as { readonly level: LogLevel; readonly message: string }
  batch.alerts.triggered(actor, { kind: 'log', level, message, line }, incoming, batch.decisions)
}

function applyStatus(actor: Actor, incoming: Incoming, batch: Batch): void {
  const said = readStatus(incoming.item.payload)
  if (said.kind === 'refused') {
    batch.counts.refused++
    batch.open.park(incoming, 'MALFORMED_STATUS', said.detail)
    return
  }
  if (said.kind === 'cleared' || !incoming.isFirst) return
  const now = timeOf(incoming)
  batch.counts.stored++
  if (said.status === 'online') {
    const session = statusSessionOf(actor, said.sessionId)
    if (incoming.isNew && session !== 'earlier')
      applyDescription(actor, { ...said, mayBeOld: session === 'unclear' }, incoming, batch)
    return
  }
  batch.open.isNoSignOfLife = true
  // A farewell or a late last will of another session than the device's latest says nothing about the device.
  const isOfOtherSession =
    said.sessionId !== undefined &&
    actor.statusSessionId !== undefined &&
    said.sessionId !== actor.statusSessionId
  if (isOfOtherSession || !incoming.isNew) return
  batch.decisions.decide(actor, { kind: 'left', reason: said.reason ?? 'left', seenAt: now }, now)
}
