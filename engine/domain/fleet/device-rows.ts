// Encodes rows of the table `devices` in ClickHouse, by which queries select devices.
import { type DeviceId, Micros, type Millis } from '../../../schemas/ids.ts'
import type { DeviceRecord } from '../device/record.ts'
import { HistoryColumns } from '../history/columns.ts'
import type { EncodedBlock } from '../telemetry/columns.ts'

export type DeviceDescription = Pick<DeviceRecord, 'id' | 'name' | 'type' | 'status' | 'group' | 'tags'>

/** Returns the body of the device's row. Equal texts mean that the row has not changed. A decommissioned device is marked
 *  as gone. */
export function toRowBody({ name, type, status, group = '', tags }: DeviceDescription): string {
  return status === 'decommissioned'
    ? JSON.stringify({ gone: 1 })
    : JSON.stringify({ name, type, group, tags })
}

/** The block has the columns of the history. If a device has several rows, the one with the latest `madeAt` counts. */
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
