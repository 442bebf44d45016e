// The devices that a list over all devices covers: those the caller may see, narrowed by a filter or to one device.
import type { Engine } from '../../engine/index.ts'
import { LIMITS } from '../../engine/limits.ts'
import type { FleetHistoryQuery, FleetPlace, HistoryRow } from '../../engine/ports/history.ts'
import { type DeviceId, parseDeviceId } from '../../schemas/ids.ts'
import { isInScope } from './scope.ts'

export interface FleetSelection {
  readonly deviceId: DeviceId | undefined
  readonly group: string | undefined
  /** The caller's subtrees. Undefined means all devices. */
  readonly within: readonly string[] | undefined
  /** Undefined if the list covers all devices, or too many to name. In the latter case each row found has to be checked. */
  readonly deviceIds: readonly DeviceId[] | undefined
  isSelected(deviceId: DeviceId): boolean
}

interface SelectionQuery {
  readonly device_id?: string | undefined
  readonly group?: string | undefined
  readonly type?: string | undefined
  readonly tag?: string | undefined
}

/** Undefined if no device is selected. A device outside the caller's groups looks like one that does not exist. */
export function selectFleet(
  engine: Pick<Engine, 'devices'>,
  { device_id: text, group, type, tag }: SelectionQuery,
  within: readonly string[] | undefined,
): FleetSelection | undefined {
  const subtree = group === undefined ? undefined : [group]
  const isSelected = (id: DeviceId) => {
    const device = engine.devices.summary(id)
    if (device === undefined || !isInScope(device.group, within) || !isInScope(device.group, subtree))
      return false
    return (type === undefined || type === device.type) && (tag === undefined || device.tags.includes(tag))
  }
  if (text !== undefined) {
    const deviceId = parseDeviceId(text)
    if (deviceId === undefined || !isSelected(deviceId)) return undefined
    return {
      deviceId,
      group,
      within,
      deviceIds: [deviceId],
      isSelected: (id) => id === deviceId && isSelected(id),
    }
  }
  const all = { deviceId: undefined, group, within, deviceIds: undefined, isSelected }
  if ([group, type, tag, within].every((each) => each === undefined))
    return { ...all, isSelected: () => true }
  const filter = { group, type, tags: tag === undefined ? undefined : [tag], within }
  const { total } = engine.devices.list(filter, { offset: 0, limit: 1 })
  if (total === 0) return undefined
  return total > LIMITS.groupDevicesMax ? all : { ...all, deviceIds: engine.devices.matching(filter) }
}

/** Rows per read, and reads per page, when some rows have to be left out. */
const READ_AT_ONCE = 1_000
const ROUNDS_MAX = 5

interface SelectedRows {
  readonly rows: readonly HistoryRow[]
  /** Where the next page starts. */
  readonly next: FleetPlace | undefined
}

/** Rows of the selected devices. If the devices are too many to name, rows of others are read too and dropped, so there may
 *  be fewer rows than requested even if more follow. */
export async function readSelected(
  engine: Pick<Engine, 'fleetHistory'>,
  { deviceIds, isSelected }: FleetSelection,
  query: Omit<FleetHistoryQuery, 'deviceIds'>,
): Promise<SelectedRows> {
  const { limit } = query
  const rows: HistoryRow[] = []
  let { before } = query
  for (let round = 1, batchSize = limit + 1; ; round++) {
    const found = await engine.fleetHistory({ ...query, deviceIds, before, limit: batchSize })
    rows.push(...found.filter(({ deviceId }) => isSelected(deviceId)))
    if (rows.length > limit) return { rows: rows.slice(0, limit), next: rows[limit - 1] }
    before = found.length < batchSize ? undefined : found.at(-1)
    if (before === undefined || round === ROUNDS_MAX) return { rows, next: before }
    batchSize = READ_AT_ONCE
  }
}
