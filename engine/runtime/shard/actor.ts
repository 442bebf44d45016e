// One device in a shard's memory: its settled record and its vitals. Vitals are volatile facts that a replay of the log
// restores (R7), so they are mutated in place.

import { type DeviceId, Micros, Millis, toMillis } from '../../../schemas/ids.ts'
import { countOpenAlerts } from '../../domain/alert/alert-results.ts'
import type { Watch } from '../../domain/alert/watch.ts'
import type { WatchMemory } from '../../domain/alert/watch-memory.ts'
import { toMemory } from '../../domain/alert/watch-memory.ts'
import { type Connects, isFlapping } from '../../domain/device/flapping.ts'
import { type Device, type DownlinkRoute, type Session, toRecord } from '../../domain/device/record.ts'
import { activeJob, isUnfinished, runningSha256 } from '../../domain/ota/firmware-jobs.ts'
import { type Firmware, NO_FIRMWARE } from '../../domain/ota/firmware-part.ts'
import { newPackr } from '../../domain/packing.ts'
import { Latest } from '../../domain/telemetry/latest.ts'
import { LIMITS } from '../../limits.ts'
import { COMMAND_SUFFIX, OTA_SUFFIX } from '../../ports/broker.ts'
import type { DeviceView, FirmwareView } from '../../ports/device-view.ts'
import type { Snapshot } from '../../ports/engine.ts'
import type { Origin } from './repeats.ts'

interface RecentLetters {
  /** Whole seconds. */
  readonly second: number
  readonly count: number
}

export interface Actor {
  device: Device
  readonly slot: number
  /** Milliseconds; 0 is never. */
  heardAt: number
  telemetryAt: number
  /** When an `error` ends: a while after all its faults were reported well. Infinity if one is not, or if unknown. */
  recoverAt: number
  /** The faults of the record that were last reported well, by name. */
  wellNames: readonly string[]
  /** Its own connection. */
  session: Session | undefined
  /** Its gateway's connection, which may speak for it. */
  relay: Session | undefined
  /** Recent connects of the device itself, for flapping. */
  connects: Connects | undefined
  connectionSince: Millis | undefined
  connectionReason: string | undefined
  /** The session id that the device itself last announced in its `status`. */
  statusSessionId: string | undefined
  /** The session id announced before `statusSessionId`. */
  formerStatusSessionId: string | undefined
  /** The number of the device's own session in which it announced its current session id. */
  statusAnnouncedIn: Micros | undefined
  latest: Latest | undefined
  /** Connections of an outside broker that brought messages, used to recognise repeats. */
  origins: Origin[] | undefined
  /** When the device last polled by the DDI, and after how much silence it counts as gone. */
  polling: { readonly at: Millis; readonly timeoutMs: number } | undefined
  /** When progress of an update was last told on the feed. */
  progressPublishedAt: Millis | undefined
  /** The latest progress heard of an update. It is in no record before the job moves (U8). */
  latestProgress: { readonly id: string; readonly attempt: number; readonly percent: number } | undefined
  /** The number of the device's own session in which it reported its current boot id. */
  bootReportedIn: Micros | undefined
  /** Dead letters in the latest second that had any, so that a flood of them does not load the store. */
  letters: RecentLetters | undefined
  /** Memory of the rules that are judged for the device. Undefined if there are none. */
  watch: Watch | undefined
  /** The watch as it was saved, until the device's rules are known. */
  watchMemory: WatchMemory | undefined
  /** The latest time as of which its rules were judged, in microseconds; 0 is never. */
  judgedAt: number
  /** Whether vitals changed since they were last handed out. */
  isDirty: boolean
}

export function newActor(device: Device, slot: number): Actor {
  return {
    device,
    slot,
    heardAt: device.seenAt ?? 0,
    telemetryAt: 0,
    recoverAt: Number.POSITIVE_INFINITY,
    wellNames: [],
    session: undefined,
    relay: undefined,
    connects: undefined,
    connectionSince: undefined,
    connectionReason: undefined,
    statusSessionId: undefined,
    formerStatusSessionId: undefined,
    statusAnnouncedIn: undefined,
    latest: undefined,
    origins: undefined,
    polling: undefined,
    progressPublishedAt: undefined,
    latestProgress: undefined,
    bootReportedIn: undefined,
    letters: undefined,
    watch: undefined,
    watchMemory: undefined,
    judgedAt: 0,
    isDirty: false,
  }
}

// Persisted as plain arrays: structures shared between values would be missing for a later reader.
const packr = newPackr()

type PackedSession = readonly [
  number: number,
  ip: string,
  since: number,
  listens: boolean,
  /** Missing in vitals written before firmware existed. */
  takesOta?: boolean,
  /** Missing in vitals written before sessions kept it. */
  issuedAt?: number | null,
]

type PackedVitals = readonly [
  heardAt: number,
  telemetryAt: number,
  session: PackedSession | null,
  connectionSince: number | null,
  connectionReason: string | null,
  statusSessionId: string | null,
  latest: Uint8Array | null,
  recoverAt: number,
  /** Missing in vitals written before gateways existed. */
  relay?: PackedSession | null,
  connects?: readonly [lastAt: number, countedUntil: number] | null,
  origins?: Origin[] | null,
  wellNames?: readonly string[],
  watch?: WatchMemory | null,
  polling?: readonly [at: number, timeoutMs: number] | null,
  formerStatusSessionId?: string | null,
]

export function encodeVitals(actor: Actor): Uint8Array {
  const { connects } = actor
  const packed: PackedVitals = [
    actor.heardAt,
    actor.telemetryAt,
    packSession(actor.session),
    actor.connectionSince ?? null,
    actor.connectionReason ?? null,
    actor.statusSessionId ?? null,
    actor.latest?.encode() ?? null,
    actor.recoverAt,
    packSession(actor.relay),
    connects === undefined ? null : [connects.lastAt, connects.countedUntil],
    actor.origins ?? null,
    actor.wellNames,
    (actor.watch === undefined ? actor.watchMemory : toMemory(actor.watch)) ?? null,
    actor.polling === undefined ? null : [actor.polling.at, actor.polling.timeoutMs],
    actor.formerStatusSessionId ?? null,
  ]
  return packr.pack(packed)
}

/** Restores what `encodeVitals` wrote. Sessions from an earlier run of the broker have ended. */
export function restoreVitals(actor: Actor, bytes: Uint8Array, bootAt: Micros): void {
  // Written by `encodeVitals`. A data directory with another format is refused.
  const packed = packr.unpack(bytes) as PackedVitals
  const [heardAt, telemetryAt, session, since, reason, statusSessionId, latest, recoverAt] = packed
  const {
    8: relay = null,
    9: connects = null,
    10: origins = null,
    11: wellNames = [],
    12: watch = null,
    13: polling = null,
    14: formerStatusSessionId = null,
  } = packed
  actor.heardAt = Math.max(actor.heardAt, heardAt)
  actor.telemetryAt = telemetryAt
  actor.connectionSince = since === null ? undefined : Millis(since)
  actor.connectionReason = reason ?? undefined
  actor.statusSessionId = statusSessionId ?? undefined
  actor.formerStatusSessionId = formerStatusSessionId ?? undefined
  actor.latest = latest === null ? undefined : Latest.decode(latest)
  actor.recoverAt = recoverAt
  actor.wellNames = wellNames
  actor.watchMemory = watch ?? undefined
  actor.origins = origins ?? undefined
  actor.polling = polling === null ? undefined : { at: Millis(polling[0]), timeoutMs: polling[1] }
  actor.session = liveSession(session, bootAt)
  actor.relay = liveSession(relay, bootAt)
  if (connects !== null) actor.connects = { lastAt: Micros(connects[0]), countedUntil: Millis(connects[1]) }
  const wasConnected = session !== null || relay !== null
  if (!wasConnected || connectionOf(actor) !== undefined) return
  actor.connectionSince = toMillis(bootAt)
  actor.connectionReason = 'restart'
}

function packSession(session: Session | undefined): PackedSession | null {
  if (session === undefined) return null
  const { number, ip, since, listens, takesOta, issuedAt } = session
  return [number, ip, since, listens, takesOta, issuedAt ?? null]
}

function liveSession(packed: PackedSession | null, bootAt: Micros): Session | undefined {
  if (packed === null || packed[0] < bootAt) return undefined
  const [number, ip, since, listens, takesOta = false, issuedAt = null] = packed
  return {
    ...{ number: Micros(number), ip, since: Millis(since), listens, takesOta },
    issuedAt: issuedAt === null ? undefined : Millis(issuedAt),
  }
}

/** Returns the device's own connection, or else its gateway's. */
function connectionOf({ session, relay }: Actor): Session | undefined {
  return session ?? relay
}

/** Whether the session's token was revoked. Without a time of issue, the session's start decides. */
export function isVoid(session: Session | undefined, { tokensValidFrom }: Device): boolean {
  return session !== undefined && (session.issuedAt ?? toMillis(session.number)) < tokensValidFrom
}

export function isConnected(actor: Actor): boolean {
  return connectionOf(actor) !== undefined
}

/** Whether the device may have one more dead letter at this time. */
export function mayPark({ letters }: Actor, at: Millis): boolean {
  const second = Math.floor(at / 1000)
  return letters?.second !== second || letters.count < LIMITS.deadLettersPerDevicePerSecMax
}

export function countLetter(actor: Actor, at: Millis): void {
  const second = Math.floor(at / 1000)
  const count = actor.letters?.second === second ? actor.letters.count : 0
  actor.letters = { second, count: count + 1 }
}

/** How commands reach the device. Undefined while no session is subscribed to them. */
export function wayOf(actor: Actor): DownlinkRoute | undefined {
  const connection = connectionOf(actor)
  if (connection?.listens !== true) return undefined
  const via = actor.session === undefined ? actor.device.parentId : undefined
  return { session: connection.number, via }
}

/** How messages about firmware reach the device. Undefined while no session is subscribed to them. */
export function otaWayOf(actor: Actor): DownlinkRoute | undefined {
  const connection = connectionOf(actor)
  if (connection?.takesOta !== true) return undefined
  return { session: connection.number, via: actor.session === undefined ? actor.device.parentId : undefined }
}

/** Whether the device polls by the DDI and did so recently. */
export function isPolling({ polling }: Actor, now: number): boolean {
  return polling !== undefined && now < polling.at + polling.timeoutMs
}

/** Whether the device has no connection and does not poll by the DDI. */
export function isAway(actor: Actor, now: number): boolean {
  return !isConnected(actor) && !isPolling(actor, now)
}

/** Whether a job can reach the device, by a message or by a poll. */
export function isReachable(actor: Actor, now: number): boolean {
  return otaWayOf(actor) !== undefined || isPolling(actor, now)
}

/** Whether the device can take a place now. A device that polls takes one only when it asks, so no place idles. */
export function takesJobs(actor: Actor, now: number): boolean {
  const { polling } = actor
  return otaWayOf(actor) !== undefined || (polling !== undefined && now < polling.at + LIMITS.ddiTakesMs)
}

export function toView(actor: Actor, now: Millis, device: Device = actor.device): DeviceView {
  const connection = connectionOf(actor)
  return {
    device: toRecord(device),
    connected: connection !== undefined,
    connectedSince: actor.connectionSince,
    connectionReason: actor.connectionReason,
    sessionId: connection === undefined ? undefined : (actor.statusSessionId ?? `s${connection.number}`),
    ip: connection?.ip,
    subscriptions: subscriptionsOf(connection),
    flapping: isFlapping(actor.connects, now),
    lastSeenAt: actor.heardAt === 0 ? undefined : Millis(actor.heardAt),
    lastTelemetryAt: actor.telemetryAt === 0 ? undefined : Millis(actor.telemetryAt),
    firmware: toFirmwareView(device.firmware, now),
    alerts: device.alerts.open.length === 0 ? undefined : countOpenAlerts(device.alerts),
  }
}

const SUBSCRIPTIONS = {
  none: [],
  command: [COMMAND_SUFFIX],
  ota: [OTA_SUFFIX],
  both: [COMMAND_SUFFIX, OTA_SUFFIX],
} as const

function subscriptionsOf(connection: Session | undefined): readonly string[] {
  if (connection?.listens === true) return connection.takesOta ? SUBSCRIPTIONS.both : SUBSCRIPTIONS.command
  return connection?.takesOta === true ? SUBSCRIPTIONS.ota : SUBSCRIPTIONS.none
}

function toFirmwareView(firmware: Firmware, now: Millis): FirmwareView | undefined {
  if (firmware === NO_FIRMWARE) return undefined
  const { firmwareId, since, previousVersion, jobs } = firmware
  // If no job is active, the scheduled one is shown.
  const job = [activeJob(firmware, now), ...jobs].find((each) => each !== undefined && isUnfinished(each))
  const update = job && {
    deploymentId: job.plan.deploymentId,
    status: job.status,
    progress: job.progress,
  }
  return { firmwareId, sha256: runningSha256(firmware), since, previousVersion, update }
}

/** `seq`: the position up to which the device's partition was read. */
export function toSnapshot(actor: Actor, seq: number): Snapshot {
  const at = actor.latest?.timestamp
  return { data: actor.latest?.toData() ?? {}, timestamp: at === undefined ? undefined : toMillis(at), seq }
}

export type Actors = Map<DeviceId, Actor>
