// The points in ClickHouse, by device, metric and timestamp. If two have the same key, the greater version wins.
import { readBlock } from '../domain/telemetry/native-reader.ts'
import type { Block } from '../ports/telemetry.ts'

export interface Row {
  readonly at: number
  readonly value: number
  readonly version: number
}

export class Rows {
  readonly #series = new Map<string, Map<string, Map<number, Row>>>()

  add(block: Block): void {
    if (block.kind !== 'points' && block.kind !== 'texts') return
    const read = readBlock(block.bytes)
    if (read.kind !== 'points') return
    for (const { deviceId, at, version, metrics, values } of read.rows)
      metrics.forEach((metric, i) => {
        this.#put(this.#rows(deviceId, metric), { at, version, value: values[i] ?? Number.NaN })
      })
  }

  /** Returns the rows in order of time. */
  of(deviceId: string, metric: string): readonly Row[] {
    const rows = this.#series.get(deviceId)?.get(metric)?.values() ?? []
    return [...rows].sort((a, b) => a.at - b.at)
  }

  has(deviceId: string, metric: string, at: number): boolean {
    return this.#series.get(deviceId)?.get(metric)?.has(at) ?? false
  }

  *series(): Generator<{ readonly deviceId: string; readonly metric: string }> {
    for (const [deviceId, metrics] of this.#series)
      for (const metric of metrics.keys()) yield { deviceId, metric }
  }

  #rows(deviceId: string, metric: string): Map<number, Row> {
    const metrics = this.#series.get(deviceId) ?? new Map<string, Map<number, Row>>()
    this.#series.set(deviceId, metrics)
    const rows = metrics.get(metric) ?? new Map<number, Row>()
    metrics.set(metric, rows)
    return rows
  }

  #put(rows: Map<number, Row>, row: Row): void {
    const before = rows.get(row.at)
    if (before === undefined || before.version <= row.version) rows.set(row.at, row)
  }
}
