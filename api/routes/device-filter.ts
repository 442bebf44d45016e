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
  services: Pick<Services, 'deviceTypes'>,
  query: Omit<Static<typeof DeviceExportQuery>, 'format'>,
  user: Caller,
): { readonly kind: 'filter'; readonly filter: DeviceFilter } | Refusal {
  const { type } = query
  if (type !== undefined && !services.deviceTypes.names.includes(type)) return unknownType(services, 'query')
  const filter = {
    status: query.status,
    type,
    group: query.group,
    groupExact: query.group_exact,
    tags: query.tag,
    parentId: query.parent_id === undefined ? undefined : parseDeviceId(query.parent_id),
    q: query.q,
    within: scopeOf(user),
  }
  return { kind: 'filter', filter }
}
