// GET /devices/export: every device that the caller may see, as a file for POST /devices/bulk.

import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { chunks } from '../../engine/domain/chunks.ts'
import type { DeviceRecord } from '../../engine/domain/device/record.ts'
import type { Directory } from '../../engine/ports/store.ts'
import { BULK_TYPES } from '../../schemas/bulk.ts'
import { type DeviceId, toIso } from '../../schemas/ids.ts'
import { exportDevices } from '../../schemas/operations/bulk.ts'
import { CSV_HEADER, toCsv } from '../bulk/csv-devices.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { wantedFormat } from '../http/wanted-format.ts'
import { API_LIMITS } from '../limits.ts'
import { toFilter } from './device-filter.ts'

/** Number of records read and written at a time, which bounds memory and delays. */
const DEVICES_AT_ONCE = 200

export function deviceExportRoutes(services: Services): readonly Route[] {
  const { work, engine } = services
  const { devices } = engine
  return [
    route(exportDevices, ({ query, user, header }) => {
      const wanted = toFilter(services, query, user)
      if (wanted.kind === 'refused') return wanted
      const ids = devices.matching(wanted.filter)
      const tooMuch = work.charge(user.id, ids.length / API_LIMITS.devicesPerWork)
      if (tooMuch !== undefined) return tooMuch
      const format = query.format ?? wantedFormat(header('accept'), BULK_TYPES) ?? 'ndjson'
      const lines = linesOf(devices, ids, format)
      return {
        kind: 'file',
        type: `${BULK_TYPES[format]}; charset=utf-8`,
        name: `devices.${format}`,
        bytes: Readable.from(lines, { objectMode: false }),
      }
    }),
  ]
}

/** Yields the devices that exist now, each in its state at the time it is written. */
async function* linesOf(
  directory: Directory,
  ids: readonly DeviceId[],
  format: 'ndjson' | 'csv',
): AsyncGenerator<Buffer> {
  const toLine = format === 'csv' ? toCsv : toJson
  if (format === 'csv') yield Buffer.from(CSV_HEADER)
  for (const some of chunks(ids, DEVICES_AT_ONCE)) {
    const devices = some.flatMap((id) => directory.get(id) ?? [])
    yield Buffer.from(devices.map(toLine).join(''))
    // A fast reader must not starve other requests.
    await setImmediate()
  }
}

function toJson(device: DeviceRecord): string {
  const line = {
    device_id: device.id,
    name: device.name,
    type: device.type,
    description: device.description ?? null,
    group: device.group ?? null,
    tags: device.tags,
    metadata: device.metadata,
    parent_id: device.parentId ?? null,
    heartbeat_timeout_sec: device.heartbeatTimeoutSec ?? null,
    status: device.status,
    firmware_version: device.firmwareVersion ?? null,
    created_at: toIso(device.createdAt),
    updated_at: toIso(device.updatedAt),
  }
  return `${JSON.stringify(line)}\n`
}
