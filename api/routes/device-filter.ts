// Selects the devices that match a query, among those that the caller may see.
import type { Static } from 'typebox'
import type { DeviceFilter } from '../../engine/ports/store.ts'
import type { DeviceExportQuery } from '../../schemas/device.ts'
import { parseDeviceId } from '../../schemas/ids.ts'
import { DEVICE_STATUSES, type DeviceStatus } from '../../schemas/vocabulary.ts'
import type { Caller } from '../auth/caller.ts'
import { scopeOf } from '../auth/scope.ts'
import type { Services } from '../http/services.ts'
import { invalid, type Refusal } from '../refusal.ts'
import { unknownType } from './device-checks.ts'

interface FilterQuery extends Omit<Static<typeof DeviceExportQuery>, 'format' | 'status'> {
  readonly status?: DeviceStatus | readonly string[]
}

export function toFilter(
  services: Pick<Services, 'deviceTypes' | 'engine'>,
  query: FilterQuery,
  user: Caller,
): { readonly kind: 'filter'; readonly filter: DeviceFilter } | Refusal {
  const { type } = query
  const within = scopeOf(user)
  if (type !== undefined && !isKnownType(services, type, within)) return unknownType(services, 'query')
  const status = query.status === undefined ? undefined : statusesOf([query.status].flat())
  if (status !== undefined && 'kind' in status) return status
  const filter = {
    status,
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

function statusesOf(texts: readonly string[]): readonly DeviceStatus[] | Refusal {
  const words = texts.flatMap((text) => text.split(',')).map((word) => word.trim())
  const known = words.flatMap((word) => DEVICE_STATUSES.find((status) => status === word) ?? [])
  if (known.length === words.length) return known
  const message = `must be some of ${DEVICE_STATUSES.join(', ')}`
  return invalid('/status', { code: 'NOT_ALLOWED', message, in: 'query' })
}

/** A type that was removed from the file remains known as long as it has devices. */
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
