// Reads back blocks that `columns.ts` wrote, for the memory adapter and for tests.
import { Micros } from '../../../../schemas/ids.ts'
import { Reader } from '../../telemetry/native-reader.ts'
import { HISTORY_COLUMNS } from '../columns.ts'
import type { WrittenRow } from '../row.ts'

/** Throws if the bytes are not such a block. */
export function readHistoryBlock(bytes: Uint8Array): readonly WrittenRow[] {
  const reader = new Reader(bytes)
  const count = reader.start()
  reader.column(HISTORY_COLUMNS.device)
  reader.version()
  const devices = reader.lowCardinality(count)
  reader.column(HISTORY_COLUMNS.kind)
  reader.version()
  const kinds = reader.lowCardinality(count)
  reader.column(HISTORY_COLUMNS.at)
  const times = reader.list(count, () => reader.uint64())
  reader.column(HISTORY_COLUMNS.version)
  const versions = reader.list(count, () => reader.uint64())
  reader.column(HISTORY_COLUMNS.received)
  reader.list(count, () => reader.uint32())
  reader.column(HISTORY_COLUMNS.body)
  const bodies = reader.list(count, () => reader.string())
  reader.end()
  return devices.map((deviceId, i) => ({
    // `columns.ts` wrote both from rows.
    deviceId: deviceId as WrittenRow['deviceId'],
    kind: kinds[i] as WrittenRow['kind'],
    at: Micros(times[i] ?? 0),
    version: versions[i] ?? 0,
    body: bodies[i] ?? '',
  }))
}
