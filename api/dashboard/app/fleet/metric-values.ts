// The latest values of a few metrics, by device. Numbers of all devices become columns, which sorting and filtering read.
import type { Json } from '../../../../schemas/json.ts'
import type { FleetColumns } from './columns.ts'
import type { MetricColumns } from './filter-rows.ts'

/** Values as the service sends them: a place in each list is one device. */
export interface SentValues {
  readonly device_id: readonly string[]
  readonly values?: Readonly<Record<string, readonly unknown[]>>
}

export class MetricValues {
  readonly #values = new Map<string, Map<string, Json>>()
  /** What came live while an answer is under way, as metric and id: it is newer. Undefined while none is. */
  #heard: Set<string> | undefined

  /** What came live. */
  take(sent: SentValues): void {
    this.#take(sent, (key) => {
      this.#heard?.add(key)
      return true
    })
  }

  /** An answer is asked for. */
  beginAnswer(): void {
    this.#heard = new Set()
  }

  takeAnswer(sent: SentValues): void {
    this.#take(sent, (key) => this.#heard?.has(key) !== true)
    this.#heard = undefined
  }

  #take({ device_id: ids, values = {} }: SentValues, isNews: (key: string) => boolean): void {
    for (const [metric, sent] of Object.entries(values)) {
      const known = this.#values.get(metric) ?? new Map<string, Json>()
      this.#values.set(metric, known)
      ids.forEach((id, i) => {
        // What the service sends is JSON.
        const value = sent[i] as Json | undefined
        if (value !== undefined && isNews(`${metric}\n${id}`)) known.set(id, value)
      })
    }
  }

  of(metric: string, deviceId: string): Json | undefined {
    return this.#values.get(metric)?.get(deviceId)
  }

  /** NaN where a device has no number. */
  columnsOf(metrics: readonly string[], { ids, isAlive, rowsCount }: FleetColumns): MetricColumns {
    const columns = metrics.map((metric) => {
      const known = this.#values.get(metric)
      const column = new Float64Array(rowsCount).fill(Number.NaN)
      for (let row = 0; row < rowsCount; row++) {
        const value = isAlive[row] === 1 ? known?.get(ids[row] ?? '') : undefined
        if (typeof value === 'number') column[row] = value
        else if (typeof value === 'boolean') column[row] = value ? 1 : 0
      }
      return [metric, column] as const
    })
    return Object.fromEntries(columns)
  }
}
