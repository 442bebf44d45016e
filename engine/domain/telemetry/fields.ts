// The leaves of one report in document order, before anything durable is changed.
import { Buffer } from 'node:buffer'
import { LIMITS } from '../../limits.ts'

/** An array, kept as its JSON text. */
export class JsonText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** `null` clears the field. */
export type FieldValue = number | boolean | string | null | JsonText

/** Joins the keys of a path. Names with this character are refused, so that paths are unambiguous. */
export const PATH_SEPARATOR = '\0'

/** Parallel arrays with one place per leaf. */
export class Fields {
  /** The keys from the top, joined by `PATH_SEPARATOR`. `{"a.b":1}` and `{"a":{"b":1}}` have two paths and one
   *  metric. */
  readonly paths: string[] = []
  readonly metrics: string[] = []
  readonly values: FieldValue[] = []
  /** True if two leaves may have the same metric because a key holds a dot. */
  mayCollide = false

  get length(): number {
    return this.paths.length
  }

  add(path: string, metric: string, value: FieldValue): void {
    this.paths.push(path)
    this.metrics.push(metric)
    this.values.push(value)
  }

  /** Appends a later report with the same time, which makes one report of the two. */
  append(later: Fields): void {
    for (let i = 0; i < later.length; i++)
      this.add(later.paths[i] ?? '', later.metrics[i] ?? '', later.values[i] ?? null)
    this.mayCollide = true
  }

  /** Keeps the leaves for which `isKept` is true, in order. */
  filter(isKept: (index: number) => boolean): void {
    let kept = 0
    for (let i = 0; i < this.length; i++) {
      if (!isKept(i)) continue
      this.paths[kept] = this.paths[i] ?? ''
      this.metrics[kept] = this.metrics[i] ?? ''
      this.values[kept] = this.values[i] ?? null
      kept++
    }
    this.paths.length = kept
    this.metrics.length = kept
    this.values.length = kept
  }
}

/** True if the text takes more bytes than this as UTF-8. Counts them only if it has to. */
export function isLongerThan(text: string, bytesMax: number): boolean {
  return text.length * 3 > bytesMax && (text.length > bytesMax || Buffer.byteLength(text) > bytesMax)
}

/** A device has few such values, and they make up most of its snapshot. */
export function isLongText(value: FieldValue): boolean {
  const text = value instanceof JsonText ? value.text : value
  return typeof text === 'string' && isLongerThan(text, LIMITS.shortTextBytesMax)
}

/** The leaves that stay when each metric may have one point and one text: the last of each, in document order. */
export function lastOfEach(fields: Fields): ReadonlySet<number> {
  const points = new Map<string, number>()
  const texts = new Map<string, number>()
  for (let i = 0; i < fields.length; i++) {
    const value = fields.values[i] ?? null
    if (value === null) continue
    const isPoint = typeof value === 'number' || typeof value === 'boolean'
    ;(isPoint ? points : texts).set(fields.metrics[i] ?? '', i)
  }
  return new Set([...points.values(), ...texts.values()])
}
