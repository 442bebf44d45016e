// The events of a device's shadow, as outcomes of its actor.
import type { Millis } from '../../../schemas/ids.ts'
import { acceptedMessage, desiredMessage, documentMessage, rejectedMessage } from '../shadow/messages.ts'
import type { Author } from '../shadow/record.ts'
import { type ShadowOutcome, setDesired, setReported } from '../shadow/write.ts'
import type { DeviceEvent, DeviceRequest, Effect, Outcome } from './events.ts'
import type { Device } from './record.ts'

export function applyDesired(
  device: Device,
  request: Extract<DeviceRequest, { kind: 'desire' }>,
  { by, now }: { readonly by: Author; readonly now: Millis },
): Outcome {
  const { patch, mode, expectedVersion, requestId } = request
  const options = { mode, expectedVersion, requestId, now, by }
  return toOutcome(device, setDesired(device.shadow, patch, options), now)
}

export function applyReported(
  device: Device,
  event: Extract<DeviceEvent, { kind: 'reported' }>,
  now: Millis,
): Outcome {
  const { patch, expectedVersion, clientToken, messageId } = event
  const by = { kind: 'device', id: device.id } as const
  const outcome = setReported(device.shadow, patch, { now, by, expectedVersion, requestId: messageId })
  if (outcome.kind === 'refused') {
    const about = { deviceId: device.id, now, clientToken, messageId }
    return { device, effects: [{ kind: 'publish', message: rejectedMessage(outcome, about) }] }
  }
  const { device: after, effects } = toOutcome(device, outcome, now)
  const message = acceptedMessage(outcome.shadow, { now, clientToken })
  return { device: after, effects: [...effects, { kind: 'publish', message }] }
}

/** Sends the shadow after `shadow/get`, a device's message on `shadow/desired`, or the start of a session. */
export function sendShadow(
  device: Device,
  { part: what, clientToken }: Extract<DeviceEvent, { kind: 'shadow_wanted' }>,
  now: Millis,
): Outcome {
  const { shadow, id } = device
  const message =
    what === 'document' ? documentMessage(id, shadow, { now, clientToken }) : desiredMessage(shadow, now)
  return { device, effects: [{ kind: 'publish', message }] }
}

function toOutcome(device: Device, outcome: ShadowOutcome, now: Millis): Outcome {
  if (outcome.kind === 'unchanged') return { device, effects: [] }
  if (outcome.kind === 'refused')
    return { device, effects: [{ kind: 'refuse', code: outcome.code, detail: outcome.detail }] }
  const { shadow, change, deltaChanged: deltaMoved } = outcome
  const effects: Effect[] = [{ kind: 'shadow_changed', change }]
  if (deltaMoved) effects.push({ kind: 'publish', message: desiredMessage(shadow, now) })
  return { device: { ...device, shadow }, effects }
}
