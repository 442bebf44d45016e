// The latest telemetry of one device: for each field the value with the newest event time. If two values have the same
// time, the later message (with the greater version) wins. So merging is a maximum: the order of messages does not matter,
// and a message that is seen again changes nothing (R11).
//
// L1. A field may have values in several places, and a newer one does not remove the others. `#fields` picks the newest
//     when asked. So merging a message of a known shape only copies its numbers and texts.
//
// A null is kept like a value, so that it also hides values of earlier times that arrive later.
import { Buffer } from 'node:buffer'
import { Micros } from '../../../schemas/ids.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { LIMITS } from '../../limits.ts'
import { type Age, isNewer, type LatestField } from './age.ts'
import { type Fields, type FieldValue, isLongText, PATH_SEPARATOR } from './fields.ts'
import { decodeFields, encodeFields, readSummary } from './latest-codec.ts'
import { nest, plain } from './nest.ts'
import { keepNewer, type MetricChoice, type PickedValue } from './picked.ts'
import type { Shape, ShapeField, SlotValues } from './shape.ts'

/** The values of the newest message of one shape. */
export interface Part {
  readonly shape: Shape
  at: number
  version: number
  /** Holds doubles only, so that the arrays of all devices have the same layout in memory. */
  readonly numbers: number[]
  readonly texts: string[] | undefined
  readonly next: Part | undefined
}

/** A field that was merged leaf by leaf. It is changed in place, because every message changes it. */
interface RestField {
  readonly path: string
  value: FieldValue
  at: number
  version: number
}

const SHAPES_MAX = LIMITS.shapesPerDeviceMax

export class Latest {
  #parts: Part | undefined
  /** Fields that were merged leaf by leaf, by path. */
  #rest: Map<string, RestField> | undefined
  /** A loaded snapshot that was not needed yet: its encoded bytes as a latin1 string, which is its smallest form. */
  #sealed: string | undefined
  #metrics = 0

  /** The shapes that this device has sent, for predicting its next message. */
  get parts(): Part | undefined {
    return this.#parts
  }

  /** The number of known fields, including cleared ones. */
  get metrics(): number {
    return this.#metrics
  }

  /** The newest event time. */
  get timestamp(): Micros | undefined {
    if (this.#sealed !== undefined) return Micros(readSummary(this.#sealed).newest)
    let newest = Number.NEGATIVE_INFINITY
    for (let part = this.#parts; part !== undefined; part = part.next) newest = Math.max(newest, part.at)
    for (const field of this.#rest?.values() ?? []) newest = Math.max(newest, field.at)
    return newest === Number.NEGATIVE_INFINITY ? undefined : Micros(newest)
  }

  /** Merges the first message of a shape. Returns false if the device would have too many metrics or shapes. Then nothing
   *  has changed, and the message must be merged leaf by leaf. */
  add(shape: Shape, slotValues: SlotValues, age: Age): boolean {
    const rest = this.#open()
    let shapes = 1
    for (let part = this.#parts; part !== undefined; part = part.next) shapes++
    if (shapes > SHAPES_MAX) return false
    const fresh = shape.fields.reduce((count, { path }) => (this.#isKnown(path) ? count : count + 1), 0)
    if (this.#metrics + fresh > LIMITS.metricsPerDeviceMax) return false
    this.#metrics += fresh
    const part: Part = {
      shape,
      at: age.at,
      version: age.version,
      numbers: new Array<number>(shape.pointMetrics.length).fill(0.5),
      texts: shape.textMetrics.length > 0 ? new Array<string>(shape.textMetrics.length).fill('') : undefined,
      next: this.#parts,
    }
    update(part, slotValues, age)
    this.#parts = part
    for (const { path } of shape.fields) {
      const field = rest.get(path)
      if (field !== undefined && isNewer(part, field)) rest.delete(path)
    }
    this.#rest = rest.size > 0 ? rest : undefined
    return true
  }

  /** Merges leaf by leaf. Leaves that would exceed the limit of metrics or long texts are removed from `fields`; returns
   *  their number. */
  merge(fields: Fields, age: Age): number {
    const rest = this.#open()
    this.#rest = rest
    const before = fields.length
    fields.filter((i) => {
      const path = fields.paths[i] ?? ''
      const known = rest.get(path)
      const value = fields.values[i] ?? null
      const isLongAnew = isLongText(value) && !isLongText(known?.value ?? null)
      if (isLongAnew && longTextsOf(rest) >= LIMITS.longTextsPerDeviceMax) return false
      if (known === undefined && !this.#isKnown(path)) {
        if (this.#metrics >= LIMITS.metricsPerDeviceMax) return false
        this.#metrics++
      }
      if (known === undefined) rest.set(path, { path, value, at: age.at, version: age.version })
      else if (isNewer(age, known)) {
        known.value = value
        known.at = age.at
        known.version = age.version
      }
      return true
    })
    return before - fields.length
  }

  /** Returns nested objects as the device reported them. A key that contains a dot stays one key. */
  toData(): JsonObject {
    return nest(this.#fields())
  }

  /** Returns the newest value of each metric, sorted by name. A cleared metric is null. */
  toMetrics(): readonly { readonly metric: string; readonly value: Json; readonly at: Micros }[] {
    const newest = new Map<string, LatestField>()
    for (const field of this.#fields()) {
      const metric = field.path.replaceAll(PATH_SEPARATOR, '.')
      const known = newest.get(metric)
      if (known === undefined || isNewer(field, known)) newest.set(metric, field)
    }
    return [...newest]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([metric, { value, at }]) => ({ metric, value: plain(value) ?? null, at: Micros(at) }))
  }

  /** Returns the newest values of the chosen metrics, in the order of the choice. */
  pick(choice: MetricChoice): readonly (PickedValue | undefined)[] {
    const newest = new Array<LatestField | undefined>(choice.metrics.length).fill(undefined)
    for (const field of this.#sealed === undefined
      ? (this.#rest?.values() ?? [])
      : decodeFields(this.#sealed)) {
      const at = choice.choiceOf(field.path.replaceAll(PATH_SEPARATOR, '.'))
      if (at !== undefined) keepNewer(newest, at, field)
    }
    for (let part = this.#parts; part !== undefined; part = part.next)
      for (const { choice: index, field } of choice.picksOf(part.shape))
        keepNewer(newest, index, fieldOf(part, field))
    return newest.map((field) => field && { value: plain(field.value) ?? null, at: field.at })
  }

  encode(): Uint8Array {
    return this.#sealed === undefined ? encodeFields(this.#fields()) : Buffer.from(this.#sealed, 'latin1')
  }

  static decode(bytes: Uint8Array): Latest {
    const latest = new Latest()
    const sealed = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
    latest.#metrics = readSummary(sealed).count
    if (latest.#metrics > 0) latest.#sealed = sealed
    return latest
  }

  /** Returns the newest value of each field, including cleared ones. */
  #fields(): Iterable<LatestField> {
    const newest = new Map<string, LatestField>(
      this.#sealed === undefined ? this.#rest : opened(this.#sealed),
    )
    for (let part = this.#parts; part !== undefined; part = part.next)
      for (const shapeField of part.shape.fields) {
        const field = fieldOf(part, shapeField)
        const known = newest.get(field.path)
        if (known === undefined || isNewer(field, known)) newest.set(field.path, field)
      }
    return newest.values()
  }

  #isKnown(path: string): boolean {
    for (let part = this.#parts; part !== undefined; part = part.next)
      if (part.shape.places.has(path)) return true
    return this.#rest?.has(path) ?? false
  }

  #open(): Map<string, RestField> {
    if (this.#sealed === undefined) return this.#rest ?? new Map()
    this.#rest = opened(this.#sealed)
    this.#sealed = undefined
    return this.#rest
  }
}

/** Merges a message of a shape that this device has sent before. Nothing else has to be changed (L1). */
export function update(part: Part, slotValues: SlotValues, age: Age): void {
  if (!isNewer(age, part)) return
  part.at = age.at
  part.version = age.version
  const { numbers, texts } = part
  for (let i = 0; i < numbers.length; i++) numbers[i] = slotValues.numbers[i] ?? 0
  if (texts !== undefined) for (let i = 0; i < texts.length; i++) texts[i] = slotValues.texts[i] ?? ''
}

function longTextsOf(rest: ReadonlyMap<string, RestField>): number {
  let count = 0
  for (const { value } of rest.values()) if (isLongText(value)) count++
  return count
}

function opened(sealed: string): Map<string, RestField> {
  return new Map(decodeFields(sealed).map((field) => [field.path, field]))
}

function fieldOf({ numbers, texts, at, version }: Part, { path, kind, slot }: ShapeField): LatestField {
  if (kind === 'cleared') return { path, value: null, at, version }
  if (kind === 'text') return { path, value: texts?.[slot] ?? '', at, version }
  const value = numbers[slot] ?? 0
  return { path, value: kind === 'bool' ? value === 1 : value, at, version }
}
