// A device outside the groups of its caller looks the same as one that does not exist.
import type { DeviceView, Engine } from '../../engine/index.ts'
import { type DeviceId, parseDeviceId } from '../../schemas/ids.ts'
import { refused } from '../refusal.ts'
import type { Caller } from './caller.ts'
import { isInScope, scopeOf } from './scope.ts'

export async function visibleDevice(
  engine: Engine,
  text: string,
  user: Caller,
): Promise<DeviceView | undefined> {
  const deviceId = parseDeviceId(text)
  const view = deviceId === undefined ? undefined : await engine.view(deviceId)
  return view !== undefined && isInScope(view.device.group, scopeOf(user)) ? view : undefined
}

/** Looks only in memory, so that no shard is asked about a device that the caller may not see. */
export function visibleDeviceId(engine: Engine, text: string, user: Caller): DeviceId | undefined {
  const deviceId = parseDeviceId(text)
  const summary = deviceId === undefined ? undefined : engine.devices.summary(deviceId)
  return summary !== undefined && isInScope(summary.group, scopeOf(user)) ? deviceId : undefined
}

export const deviceNotFound = () => refused('NOT_FOUND', { message: 'no such device' })
