// Collects the points and texts of many messages, and encodes them as blocks with one row per message (see
// `native-writer.ts`). Each shard has one.
import type { Micros } from '../../../schemas/ids.ts'
import { StringBytes } from './dictionary.ts'
import { type Fields, JsonText, lastOfEach } from './fields.ts'
import { bytesOf, encodeBlock } from './native-writer.ts'
import type { About } from './payload.ts'
import { Rows, type RowsSavepoint } from './rows.ts'
import type { MetricNumbers, Shape, SlotValues } from './shape.ts'
import { Shapes } from './shapes.ts'

export interface ColumnsSavepoint {
  readonly points: RowsSavepoint
  readonly texts: RowsSavepoint
  readonly textBytes: number
}

export interface EncodedBlock {
  /** ClickHouse's Native format, in a buffer of its own. */
  readonly bytes: Uint8Array
  /** The number of points, or of texts. Each becomes a row of the table. */
  readonly rows: number
}

export interface EncodedBlocks {
  readonly points: EncodedBlock | undefined
  readonly texts: EncodedBlock | undefined
}

export interface AddedCounts {
  readonly points: number
  readonly texts: number
}

export class Columns {
  /** The shapes that this shard knows. They are here because they cache the numbers of metrics in the current block. */
  readonly shapes = new Shapes()
  readonly #points = new Rows()
  #values = new Float64Array(8192)
  readonly #texts = new Rows()
  readonly #textBytes = new StringBytes()

  /** The number of collected rows, of points and texts together. */
  get rows(): number {
    return this.#points.rows + this.#texts.rows
  }

  /** The number of collected points. */
  get points(): number {
    return this.#points.items
  }

  savepoint(): ColumnsSavepoint {
    return {
      points: this.#points.savepoint(),
      texts: this.#texts.savepoint(),
      textBytes: this.#textBytes.length,
    }
  }

  /** Removes everything added since the savepoint, so that a dropped proposal leaves no trace (R4). A savepoint is invalid
   *  after `take`. */
  truncate(savepoint: ColumnsSavepoint): void {
    this.#points.truncate(savepoint.points)
    this.#texts.truncate(savepoint.texts)
    this.#textBytes.truncate(savepoint.textBytes)
  }

  /** Adds a message that matched this shape. */
  addShaped(shape: Shape, slotValues: SlotValues, about: About, at: Micros): void {
    if (shape.pointMetrics.length > 0) {
      const first = this.#points.items
      this.#points.addAll(numbersOf(this.#points, shape.pointMetrics, shape.pointNumbers))
      const { items } = this.#points
      if (items > this.#values.length) this.#growValues(items)
      const values = this.#values
      for (let i = first; i < items; i++) values[i] = slotValues.numbers[i - first] ?? 0
      this.#points.close(about, at)
    }
    if (shape.textMetrics.length > 0) {
      this.#texts.addAll(numbersOf(this.#texts, shape.textMetrics, shape.textNumbers))
      for (let i = 0; i < shape.textMetrics.length; i++) this.#textBytes.add(slotValues.texts[i] ?? '')
      this.#texts.close(about, at)
    }
  }

  /** Adds a report leaf by leaf. If two leaves have the same metric, the later one counts. */
  addFields(fields: Fields, about: About, at: Micros): AddedCounts {
    const points = this.#points.items
    const texts = this.#texts.items
    const last = fields.mayCollide ? lastOfEach(fields) : undefined
    for (let i = 0; i < fields.length; i++) {
      const metric = fields.metrics[i] ?? ''
      const value = fields.values[i] ?? null
      if (value === null || last?.has(i) === false) continue
      if (typeof value === 'number') this.#addPoint(metric, value)
      else if (typeof value === 'boolean') this.#addPoint(metric, value ? 1 : 0)
      else this.#addText(metric, value instanceof JsonText ? value.text : value)
    }
    const added = { points: this.#points.items - points, texts: this.#texts.items - texts }
    if (added.points > 0) this.#points.close(about, at)
    if (added.texts > 0) this.#texts.close(about, at)
    return added
  }

  /** Encodes the collected rows and removes them. */
  take(): EncodedBlocks {
    const points = this.#points
    const texts = this.#texts
    const taken = {
      points: block(points, 'points', bytesOf(this.#values.subarray(0, points.items))),
      texts: block(texts, 'texts', this.#textBytes.view),
    }
    points.clear()
    texts.clear()
    this.#textBytes.truncate(0)
    return taken
  }

  #addPoint(metric: string, value: number): void {
    const item = this.#points.items
    this.#points.add(this.#points.metrics.indexOf(metric))
    if (item >= this.#values.length) this.#growValues(item + 1)
    this.#values[item] = value
  }

  #addText(metric: string, text: string): void {
    this.#texts.add(this.#texts.metrics.indexOf(metric))
    this.#textBytes.add(text)
  }

  #growValues(needed: number): void {
    const grown = new Float64Array(Math.max(needed, this.#values.length * 2))
    grown.set(this.#values)
    this.#values = grown
  }
}

function block(rows: Rows, kind: 'points' | 'texts', values: Uint8Array): EncodedBlock | undefined {
  return rows.rows === 0 ? undefined : { bytes: encodeBlock(rows, kind, values), rows: rows.items }
}

function numbersOf(rows: Rows, metrics: readonly string[], cache: MetricNumbers): Uint32Array {
  if (cache.epoch !== rows.epoch) {
    cache.numbers = Uint32Array.from(metrics, (metric) => rows.metrics.indexOf(metric))
    cache.epoch = rows.epoch
  }
  return cache.numbers
}
