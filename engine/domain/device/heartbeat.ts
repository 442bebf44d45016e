// How long a device may be silent before it counts as offline. Its own setting wins over its type's, and that over the
// service's.
import type { DeviceTypes } from '../device-type/definition.ts'
import type { DeviceRecord } from './record.ts'

export interface HeartbeatTimeouts {
  readonly heartbeatTimeoutMs: number
  /** Contains only the types that set a timeout. */
  readonly typeHeartbeatMs?: ReadonlyMap<string, number> | undefined
}

export function heartbeatTimeoutOf(
  { type, heartbeatTimeoutSec }: Pick<DeviceRecord, 'type' | 'heartbeatTimeoutSec'>,
  { heartbeatTimeoutMs, typeHeartbeatMs }: HeartbeatTimeouts,
): number {
  if (heartbeatTimeoutSec !== undefined) return heartbeatTimeoutSec * 1_000
  return typeHeartbeatMs?.get(type) ?? heartbeatTimeoutMs
}

/** The timeouts of a service with these types. */
export function heartbeatTimeouts(heartbeatTimeoutMs: number, types: DeviceTypes): HeartbeatTimeouts {
  const typeHeartbeatMs = new Map(
    [...types.values()].flatMap(({ name, heartbeatTimeoutSec: seconds }) =>
      seconds === undefined ? [] : [[name, seconds * 1_000] as const],
    ),
  )
  return { heartbeatTimeoutMs, typeHeartbeatMs }
}
