// What people do to a device's alerts, as outcomes of its actor.
import type { Millis } from '../../../schemas/ids.ts'
import { applyAct } from '../alert/acts.ts'
import type { Author } from '../shadow/record.ts'
import type { DeviceRequest, Outcome } from './events.ts'
import type { Device } from './record.ts'

export function actOnAlert(
  device: Device,
  { id, act: action }: Extract<DeviceRequest, { kind: 'alert' }>,
  { by, now }: { readonly by: Author; readonly now: Millis },
): Outcome {
  const outcome = applyAct(device.alerts, id, action, { by: by.id, now })
  if (outcome.kind === 'refused')
    return { device, effects: [{ kind: 'refuse', code: outcome.code, detail: outcome.detail }] }
  const { alerts, move } = outcome
  if (move === undefined) return { device, effects: [] }
  return { device: { ...device, alerts }, effects: [{ kind: 'alert_moved', move, by }] }
}
