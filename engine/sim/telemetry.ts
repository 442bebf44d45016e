// Stands in for ClickHouse, with raw points and hours that are computed from them. A computed hour shows late points only
// after it was computed again, so a broken promise about late points becomes visible (R11).
import { Micros, Millis } from '../../schemas/ids.ts'
import { MemoryTelemetry } from '../adapters/telemetry/testing/memory.ts'
import { toSeries } from '../adapters/telemetry/testing/memory-series.ts'
import { endOf } from '../domain/telemetry/late-hours.ts'
import type { LateHour } from '../ports/store.ts'
import type { Block, Series, SeriesQuery } from '../ports/telemetry.ts'
import type { Row, Rows } from './rows.ts'

const HOUR_SEC = 3_600
const HOUR_MICROS = HOUR_SEC * 1_000_000

export class SimTelemetry extends MemoryTelemetry {
  readonly #raw: Rows
  #computedUpTo = Millis(0)
  /** Computed rows by device, metric and hour. */
  readonly #computed = new Map<string, readonly Row[]>()

  constructor(raw: Rows) {
    super()
    this.#raw = raw
  }

  override async insert(block: Block): Promise<void> {
    await super.insert(block)
    this.#raw.add(block)
  }

  override horizon(): Millis {
    return this.#computedUpTo
  }

  /** Computes hours from the current points. The result becomes visible when the returned function is called. */
  compute(upTo: Millis, late: readonly LateHour[]): () => void {
    const [from, to] = [this.#computedUpTo / 1000, Math.max(upTo, this.#computedUpTo) / 1000]
    const isLate = (id: string, hour: number) =>
      late.some((mark) => mark.deviceId === id && hour >= mark.hour && hour < endOf(mark))
    const computed: [string, readonly Row[]][] = []
    for (const { deviceId, metric } of this.#raw.series())
      for (const [hour, rows] of byHour(this.#raw.of(deviceId, metric)))
        if ((hour >= from && hour < to) || (hour < from && isLate(deviceId, hour)))
          computed.push([keyOf(deviceId, metric, hour), rows])
    return () => {
      for (const [key, rows] of computed) this.#computed.set(key, rows)
      this.#computedUpTo = Millis(to * 1000)
    }
  }

  override async series(query: SeriesQuery): Promise<readonly Series[]> {
    const { from, to, lateHours } = query
    return toSeries(query, (deviceId, metric) => {
      const rows: Row[] = []
      for (const [hour, raw] of byHour(this.#raw.of(deviceId, metric))) {
        const isRaw = hour * 1000 >= this.#computedUpTo || lateHours.includes(hour)
        rows.push(...(isRaw ? raw : (this.#computed.get(keyOf(deviceId, metric, hour)) ?? [])))
      }
      return rows
        .filter(({ at }) => at >= from * 1000 && at < to * 1000)
        .map(({ at, value }) => ({ at: Micros(at), value }))
    })
  }
}

/** Groups rows by hour. */
function byHour(rows: readonly Row[]): ReadonlyMap<number, readonly Row[]> {
  const hours = new Map<number, Row[]>()
  for (const row of rows) {
    const hour = Math.floor(row.at / HOUR_MICROS) * HOUR_SEC
    const known = hours.get(hour)
    if (known === undefined) hours.set(hour, [row])
    else known.push(row)
  }
  return hours
}

function keyOf(deviceId: string, metric: string, hour: number): string {
  return `${deviceId} ${metric} ${hour}`
}
