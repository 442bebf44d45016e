// Rows of the table `devices` in ClickHouse: what a query there needs in order to choose devices.
import { type DeviceId, Micros, type Millis } from '../../../schemas/ids.ts'
import type { DeviceStatus } from '../../../schemas/vocabulary.ts'
import { HistoryColumns } from '../history/columns.ts'
import type { EncodedBlock } from '../telemetry/columns.ts'

export interface DescribedDevice {
  readonly id: DeviceId
  readonly name: string
  readonly type: string
  readonly status: DeviceStatus
  readonly group: string | undefined
  readonly tags: readonly string[]
}

/** What the row of the device says, as a text that is equal if it is. A decommissioned device is there no more. */
export function descriptionOf({ name, type, status, group = '', tags }: DescribedDevice): string {
  return status === 'decommissioned'
    ? JSON.stringify({ gone: 1 })
    : JSON.stringify({ name, type, group, tags })
}

/** The block has the columns of the history. Of two rows of a device the one that was made later counts. */
export function encodeDevices(
  described: ReadonlyMap<DeviceId, string>,
  madeAt: Millis,
): EncodedBlock | undefined {
  const columns = new HistoryColumns()
  const at = Micros(madeAt * 1_000)
  for (const [deviceId, body] of described)
    columns.add({ deviceId, kind: 'status', at, version: madeAt, body }, at)
  return columns.take()
}
