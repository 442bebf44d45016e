// Selects the devices of a query among those that the caller may see.
import type { Static } from 'typebox'
import type { DeviceFilter } from '../../engine/ports/store.ts'
import type { DeviceExportQuery } from '../../schemas/device.ts'
import { parseDeviceId } from '../../schemas/ids.ts'
import type { Caller } from '../auth/caller.ts'
import { scopeOf } from '../auth/scope.ts'
import type { Services } from '../http/services.ts'
import type { Refusal } from '../refusal.ts'
import { unknownType } from './device-checks.ts'

export function toFilter(
  services: Pick<Services, 'deviceTypes' | 'engine'>,
  query: Omit<Static<typeof DeviceExportQuery>, 'format'>,
  user: Caller,
): { readonly kind: 'filter'; readonly filter: DeviceFilter } | Refusal {
  const { type } = query
  const within = scopeOf(user)
  if (type !== undefined && !isKnownType(services, type, within)) return unknownType(services, 'query')
  const filter = {
    status: query.status,
    type,
    group: query.group,
    groupExact: query.group_exact,
    tags: query.tag,
    parentId: query.parent_id === undefined ? undefined : parseDeviceId(query.parent_id),
    firmwareVersion: query.firmware_version,
    q: query.q,
    within,
  }
  return { kind: 'filter', filter }
}

/** A type that has left the file is known as long as there are devices of it. */
function isKnownType(
  { deviceTypes, engine }: Pick<Services, 'deviceTypes' | 'engine'>,
  type: string,
  within: DeviceFilter['within'],
): boolean {
  return (
    deviceTypes.names.includes(type) ||
    engine.devices.list({ type, within }, { offset: 0, limit: 1 }).total > 0
  )
}
