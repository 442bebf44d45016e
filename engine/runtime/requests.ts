// Requests of the REST API as they come out of the log: decided by the device's actor, answered by a reply.
import { Packr } from 'msgpackr'
import { type DeviceId, type Micros, toMillis } from '../../schemas/ids.ts'
import type { Frame } from '../domain/bundle.ts'
import type { DeviceRequest, Outcome } from '../domain/device/events.ts'
import { register, transition } from '../domain/device/transition.ts'
import { LIMITS } from '../limits.ts'
import { newActor, toView } from './actor.ts'
import type { Reply } from './protocol.ts'
import type { Batch } from './shard.ts'

/** What a request frame's payload holds. */
export interface RequestPayload {
  readonly requestId: string
  readonly deviceId: DeviceId
  readonly by: string
  readonly request: DeviceRequest
}

const packr = new Packr({ useRecords: false })

export function packRequest(payload: RequestPayload): Uint8Array {
  return packr.pack(payload)
}

export function applyRequest(frame: Frame, batch: Batch): void {
  // Written by packRequest.
  const wish = packr.unpack(frame.payload) as RequestPayload
  const now = toMillis(frame.receivedAt as Micros)
  const actor = batch.actors.get(wish.deviceId)
  const before = batch.open.devices.get(wish.deviceId) ?? actor?.device
  // A shard holds its devices in memory: the bound is the fleet's, kept on each shard.
  const isFull = before === undefined && batch.actors.size + batch.open.devices.size >= LIMITS.devicesMax
  const outcome = isFull ? undefined : decide(wish, before, now)
  if (outcome === undefined) {
    const code = isFull ? 'DEPENDENCY_UNAVAILABLE' : 'NOT_FOUND'
    batch.open.replies.push({ requestId: wish.requestId, kind: 'refused', code, detail: {} })
    return
  }
  if (outcome.device !== before && !isRefused(outcome))
    batch.open.devices.set(outcome.device.id, outcome.device)
  const view = toView(actor ?? newActor(outcome.device, 0), outcome.device)
  const refusal = batch.open.perform(outcome.effects, { view, before }, now)
  const reply: Reply =
    refusal?.kind === 'refuse'
      ? { requestId: wish.requestId, kind: 'refused', code: refusal.code, detail: refusal.detail }
      : { requestId: wish.requestId, kind: 'done', view }
  batch.open.replies.push(reply)
}

function decide(
  wish: RequestPayload,
  before: Parameters<typeof transition>[0] | undefined,
  now: ReturnType<typeof toMillis>,
): Outcome | undefined {
  if (before !== undefined)
    return transition(before, { kind: 'requested', request: wish.request, by: wish.by }, now)
  if (wish.request.kind !== 'register') return undefined
  return register(wish.deviceId, wish.request, wish.by, now)
}

function isRefused(outcome: Outcome): boolean {
  return outcome.effects.some((effect) => effect.kind === 'refuse')
}
