// Builds blocks of telemetry in advance with the engine's own encoder, to measure floors and fill tables.
import { Columns } from '../../engine/domain/telemetry/columns.ts'
import { Fields } from '../../engine/domain/telemetry/fields.ts'
import type { Block } from '../../engine/ports/telemetry.ts'
import { Micros, parseDeviceId } from '../../schemas/ids.ts'

export interface Report {
  readonly deviceId: string
  /** Event time and receive time, in microseconds. */
  readonly at: number
  readonly receivedAt: number
  readonly version: number
  /** One value per metric. */
  readonly values: readonly number[]
}

export class BlockMaker {
  readonly #columns = new Columns()
  readonly #metrics: readonly string[]

  constructor(metrics: readonly string[]) {
    this.#metrics = metrics
  }

  add({ deviceId: id, at, receivedAt, version, values }: Report): void {
    const deviceId = parseDeviceId(id)
    if (deviceId === undefined) throw new Error(`not a device id: ${id}`)
    const fields = new Fields()
    for (const [k, metric] of this.#metrics.entries()) fields.add(metric, metric, values[k] ?? 0)
    this.#columns.addFields(
      fields,
      { deviceId, name: undefined, receivedAt: Micros(receivedAt), version },
      Micros(at),
    )
  }

  /** Number of messages collected for the next block. */
  get rows(): number {
    return this.#columns.rows
  }

  take(): Block {
    const { points } = this.#columns.take()
    if (points === undefined) throw new Error('an empty block')
    return { kind: 'points', ...points }
  }
}
