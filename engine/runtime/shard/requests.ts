// Requests of the REST API, read from the log: the device's actor decides, and a reply answers.

import { type DeviceId, Millis, toMillis } from '../../../schemas/ids.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { type AuditDraft, auditRow } from '../../domain/audit/entry.ts'
import { numberOfPlace } from '../../domain/audit/number.ts'
import type { DeviceRequest, Outcome } from '../../domain/device/events.ts'
import { register, transition } from '../../domain/device/transition.ts'
import { type DdiAct, ddiSleepSec, ddiTimeoutMs } from '../../domain/ota/ddi.ts'
import { newPackr } from '../../domain/packing.ts'
import type { Author } from '../../domain/shadow/record.ts'
import { checkState } from '../../domain/shadow/state-check.ts'
import { refuseState } from '../../domain/shadow/write.ts'
import { LIMITS } from '../../limits.ts'
import type { EngineRefusal } from '../../ports/engine-refusal.ts'
import { type Actor, newActor, toView } from './actor.ts'
import type { Batch } from './batch.ts'
import { type Incoming, placeOf } from './incoming.ts'
import { withLatestProgress } from './latest-progress.ts'
import { declinesGrant } from './preconditions.ts'
import type { Reply } from './protocol.ts'

export interface RequestPayload {
  readonly requestId: string
  readonly deviceId: DeviceId
  readonly by: Author
  /** The draft of the audit entry. The request's outcome is added to it. */
  readonly entry?: AuditDraft | undefined
  readonly request: DeviceRequest
}

const packr = newPackr()
/** The slot of an actor that exists for one request only. It has no deadlines. */
const NO_SLOT = -1

export function packRequest(payload: RequestPayload): Uint8Array {
  return packr.pack(payload)
}

/** Refuses a request that the log would not return unchanged: msgpackr renames the key `__proto__`. */
export function refuseUnstorable(request: DeviceRequest): EngineRefusal | undefined {
  if (request.kind === 'desire') {
    const errors = checkState(request.patch)
    return errors.length === 0 ? undefined : refuseState(errors)
  }
  if (request.kind !== 'command' || !hasProtoKey(request.wish.data ?? {})) return undefined
  const errors = [{ path: '/data', code: 'WRONG_FORMAT', message: 'holds a key that cannot be kept' }]
  return { kind: 'refused', code: 'VALIDATION_FAILED', detail: { message: 'data cannot be kept', errors } }
}

/** Goes level by level instead of recursing, because the sender decides the depth. */
function hasProtoKey(data: JsonObject): boolean {
  for (let level: readonly Json[] = [data]; level.length > 0; ) {
    const objects = level.filter((value) => typeof value === 'object' && value !== null)
    if (objects.some((object) => Object.hasOwn(object, '__proto__'))) return true
    level = objects.flatMap((object) => Object.values<Json>(object))
  }
  return false
}

/** Returns the device's actor if the device itself made the request, which is a sign of life. */
export function applyRequest(incoming: Incoming, batch: Batch): Actor | undefined {
  const { item } = incoming
  // Written by packRequest.
  const wish = packr.unpack(item.payload) as RequestPayload
  const actor = batch.open.gone.has(wish.deviceId) ? undefined : batch.actors.get(wish.deviceId)
  // A replay compares times. What precedes the farewell in the log has counted, even if it was received later, so the
  // farewell must not get an earlier time than that.
  const heardAt = isFarewell(wish.request) ? (actor?.heardAt ?? 0) : 0
  const now = Millis(Math.max(toMillis(item.receivedAt), heardAt))
  const known = batch.open.devices.get(wish.deviceId) ?? actor?.device
  const before = actor && known ? withLatestProgress(actor, known) : known
  // The limit is for the whole fleet. Each shard checks it for itself, because it holds its devices in memory.
  const isFull = before === undefined && batch.actors.size + batch.open.devices.size >= LIMITS.devicesMax
  const isDeclined = before !== undefined && declinesGrant(actor, before, wish.request)
  const outcome = isFull
    ? undefined
    : isDeclined
      ? { device: before, effects: [] }
      : decide(wish, before, { now, place: placeOf(incoming) })
  if (outcome === undefined) {
    const code = isFull ? 'DEPENDENCY_UNAVAILABLE' : 'NOT_FOUND'
    conclude(batch, { wish, incoming }, { requestId: wish.requestId, kind: 'refused', code, detail: {} })
    return undefined
  }
  const own = wish.request.kind === 'ddi' ? actor : undefined
  // Set first, because the effects below depend on the device being reachable.
  if (own !== undefined && wish.request.kind === 'ddi') own.polling = pollingOf(own, wish.request.act, now)
  const device = outcome.device
  const result = batch.decisions.follow(actor ?? newActor(device, NO_SLOT), before, outcome, now)
  const after = batch.open.devices.get(device.id) ?? device
  const { requestId } = wish
  const reply: Reply =
    result.refusal === undefined
      ? {
          requestId,
          kind: 'done',
          view: toView(actor ?? newActor(after, NO_SLOT), now, after),
          command: result.command,
          shadow: wish.request.kind === 'desire' ? after.shadow : undefined,
        }
      : { requestId, kind: 'refused', code: result.refusal.code, detail: result.refusal.detail }
  conclude(batch, { wish, incoming }, reply)
  return own
}

function isFarewell(request: DeviceRequest): boolean {
  return request.kind === 'decommission' || (request.kind === 'edit' && request.status === 'decommissioned')
}

/** Only the answer to a poll tells the device how long to sleep. */
function pollingOf({ polling, device }: Actor, { kind }: DdiAct, at: Millis): Actor['polling'] {
  const sleepSec = kind === 'poll' ? ddiSleepSec(device.firmware, at) : LIMITS.ddiSleepSec
  const timeoutMs = kind === 'poll' ? ddiTimeoutMs(sleepSec) : (polling?.timeoutMs ?? ddiTimeoutMs(sleepSec))
  return { at, timeoutMs }
}

function conclude(
  { open }: Batch,
  { wish, incoming }: { readonly wish: RequestPayload; readonly incoming: Incoming },
  reply: Reply,
): void {
  open.replies.push(reply)
  const { entry, deviceId } = wish
  if (entry === undefined) return
  const outcome = reply.kind === 'done' ? 'success' : 'refused'
  const code = reply.kind === 'done' ? undefined : reply.code
  const { item, entry: bundle, index } = incoming
  const number = numberOfPlace({ partition: bundle.partition, seq: bundle.seq, index })
  const moment = { at: toMillis(item.receivedAt), number, count: 1 }
  open.audit(auditRow({ ...entry, deviceId, outcome, code }, moment))
}

function decide(
  wish: RequestPayload,
  before: Parameters<typeof transition>[0] | undefined,
  { now, place }: { readonly now: Millis; readonly place: number },
): Outcome | undefined {
  if (before !== undefined)
    return transition(before, { kind: 'requested', request: wish.request, by: wish.by }, now)
  if (wish.request.kind !== 'register') return undefined
  const first = register(wish.deviceId, wish.request, wish.by, now)
  return { ...first, device: { ...first.device, registrationPlace: place } }
}
