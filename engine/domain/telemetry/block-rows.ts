// Encodes rows that were read from a block as a new block.
import { type DeviceId, Micros } from '../../../schemas/ids.ts'
import { StringBytes } from './dictionary.ts'
import type { BlockRow } from './native-reader.ts'
import { bytesOf, encodeBlock } from './native-writer.ts'
import { Rows } from './rows.ts'

/** `from` must not be empty. The same rows always give the same bytes. */
export function encodeRows(
  kind: 'points' | 'texts',
  from: readonly BlockRow<number | string>[],
): { readonly bytes: Uint8Array; readonly rows: number } {
  const rows = new Rows()
  const texts = new StringBytes()
  for (const row of from) {
    for (const metric of row.metrics) rows.add(rows.metrics.indexOf(metric))
    if (kind === 'texts') for (const text of row.values) texts.add(String(text))
    // `Rows` wrote both from a valid device id and a receive time in microseconds.
    const about = { deviceId: row.deviceId as DeviceId, receivedAt: Micros(row.received * 1_000_000) }
    rows.close({ ...about, version: row.version, name: undefined }, row.at)
  }
  const values =
    kind === 'texts' ? texts.view : bytesOf(Float64Array.from(from.flatMap((row) => row.values.map(Number))))
  return { bytes: encodeBlock(rows, kind, values), rows: rows.items }
}
