// What the routes of one device share: who may see it, and how it is answered.
import type { DeviceView, Engine } from '../../engine/index.ts'
import { type DeviceId, parseDeviceId } from '../../schemas/ids.ts'
import type { Caller } from '../auth/caller.ts'
import { isInScope, scopeOf } from '../auth/scope.ts'
import { deviceBody, deviceEtag } from '../bodies/device-body.ts'
import { type Answer, answer, refused } from '../http/answer.ts'
import { quoted } from '../http/etag.ts'
import type { Services } from '../http/services.ts'

/** The device, unless it is outside the user's groups: that looks the same as absent. */
export async function visible(engine: Engine, text: string, user: Caller): Promise<DeviceView | undefined> {
  const deviceId = parseDeviceId(text)
  const view = deviceId === undefined ? undefined : await engine.view(deviceId)
  return view !== undefined && isInScope(view.device.group, scopeOf(user)) ? view : undefined
}

/** From memory: no question to the shard for a device the user may not see. */
export function visibleId(engine: Engine, text: string, user: Caller): DeviceId | undefined {
  const deviceId = parseDeviceId(text)
  const summary = deviceId === undefined ? undefined : engine.store.summary(deviceId)
  return summary !== undefined && isInScope(summary.group, scopeOf(user)) ? deviceId : undefined
}

export function deviceAnswer(services: Services, view: DeviceView): Answer {
  return answer(200, deviceBody(view, services), { etag: quoted(deviceEtag(view)) })
}

export const noSuchDevice = () => refused('NOT_FOUND', { message: 'no such device' })
