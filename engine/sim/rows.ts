// What ClickHouse would answer: every point by (device, metric, timestamp), the greatest version winning. Kept beside
// the adapter under test, from the same blocks, to check it and everything before it.
import { readBlock } from '../domain/telemetry/native-reader.ts'
import type { Block } from '../ports/telemetry.ts'

export interface Row {
  readonly at: number
  readonly value: number
  readonly version: number
}

export class Rows {
  readonly #series = new Map<string, Map<number, Row>>()

  add(block: Block): void {
    if (block.kind === 'history') return
    const read = readBlock(block.bytes)
    if (read.kind !== 'points') return
    for (const { deviceId, at, version, metrics, values } of read.rows)
      metrics.forEach((metric, i) => {
        this.#put(`${deviceId} ${metric}`, { at, version, value: values[i] ?? Number.NaN })
      })
  }

  /** In order of time. */
  of(deviceId: string, metric: string): readonly Row[] {
    const rows = this.#series.get(`${deviceId} ${metric}`)?.values() ?? []
    return [...rows].sort((a, b) => a.at - b.at)
  }

  #put(series: string, row: Row): void {
    const rows = this.#series.get(series) ?? new Map<number, Row>()
    this.#series.set(series, rows)
    const before = rows.get(row.at)
    if (before === undefined || before.version <= row.version) rows.set(row.at, row)
  }
}
