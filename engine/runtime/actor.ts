// One device in a shard's memory: its settled record and its vitals. Vitals are mutated in place; they are
// volatile facts that a replay of the log brings back (R7).
import { Packr } from 'msgpackr'
import { type DeviceId, Micros, Millis, toMillis } from '../../schemas/ids.ts'
import { type Device, type Session, toRecord } from '../domain/device/record.ts'
import { Latest } from '../domain/telemetry/latest.ts'
import type { DeviceView, Snapshot } from '../ports/engine.ts'

export interface Actor {
  device: Device
  readonly slot: number
  /** Milliseconds; 0 is never. */
  heardAt: number
  telemetryAt: number
  /** When an `error` ends: some time after the diagnostics turned good; infinity while they are bad or unknown. */
  recoverAt: number
  session: Session | undefined
  connectionSince: Millis | undefined
  connectionReason: string | undefined
  /** The session id that the device itself last announced in its `status`. */
  statusSessionId: string | undefined
  latest: Latest | undefined
  /** Vitals changed since they were last handed out. */
  isDirty: boolean
}

export function newActor(device: Device, slot: number): Actor {
  return {
    device,
    slot,
    heardAt: device.seenAt ?? 0,
    telemetryAt: 0,
    recoverAt: Number.POSITIVE_INFINITY,
    session: undefined,
    connectionSince: undefined,
    connectionReason: undefined,
    statusSessionId: undefined,
    latest: undefined,
    isDirty: false,
  }
}

// Persisted: plain arrays, no shared structures that a later reader would lack.
const packr = new Packr({ useRecords: false })

type PackedVitals = readonly [
  heardAt: number,
  telemetryAt: number,
  session: readonly [number: number, ip: string, since: number, listens: boolean] | null,
  connectionSince: number | null,
  connectionReason: string | null,
  statusSessionId: string | null,
  latest: Uint8Array | null,
  recoverAt: number,
]

export function encodeVitals(actor: Actor): Uint8Array {
  const { session } = actor
  const packed: PackedVitals = [
    actor.heardAt,
    actor.telemetryAt,
    session === undefined ? null : [session.number, session.ip, session.since, session.listens],
    actor.connectionSince ?? null,
    actor.connectionReason ?? null,
    actor.statusSessionId ?? null,
    actor.latest?.encode() ?? null,
    actor.recoverAt,
  ]
  return packr.pack(packed)
}

/** Restores what `encodeVitals` wrote. Sessions of an earlier run of the broker are over. */
export function restoreVitals(actor: Actor, bytes: Uint8Array, bootAt: Micros): void {
  // Written by encodeVitals, in this format or the data directory is refused.
  const packed = packr.unpack(bytes) as PackedVitals
  const [heardAt, telemetryAt, session, since, reason, statusSessionId, latest, recoverAt] = packed
  actor.heardAt = Math.max(actor.heardAt, heardAt)
  actor.telemetryAt = telemetryAt
  actor.connectionSince = since === null ? undefined : Millis(since)
  actor.connectionReason = reason ?? undefined
  actor.statusSessionId = statusSessionId ?? undefined
  actor.latest = latest === null ? undefined : Latest.decode(latest)
  actor.recoverAt = recoverAt
  if (session === null) return
  const [number, ip, connectedAt, listens] = session
  if (number >= bootAt) actor.session = { number: Micros(number), ip, since: Millis(connectedAt), listens }
  else {
    actor.connectionSince = toMillis(bootAt)
    actor.connectionReason = 'restart'
  }
}

/** The session that commands go to. */
export function listeningSession({ session }: Actor): Micros | undefined {
  return session?.listens === true ? session.number : undefined
}

export function toView(actor: Actor, device: Device = actor.device): DeviceView {
  return {
    device: toRecord(device),
    connected: actor.session !== undefined,
    connectedSince: actor.connectionSince,
    connectionReason: actor.connectionReason,
    sessionId:
      actor.session === undefined ? undefined : (actor.statusSessionId ?? `s${actor.session.number}`),
    ip: actor.session?.ip,
    lastSeenAt: actor.heardAt === 0 ? undefined : Millis(actor.heardAt),
    lastTelemetryAt: actor.telemetryAt === 0 ? undefined : Millis(actor.telemetryAt),
  }
}

export function toSnapshot(actor: Actor): Snapshot {
  const at = actor.latest?.timestamp
  return { data: actor.latest?.toData() ?? {}, timestamp: at === undefined ? undefined : toMillis(at) }
}

export type Actors = Map<DeviceId, Actor>
