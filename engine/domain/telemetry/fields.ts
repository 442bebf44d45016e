// The leaves of one parsed report, in document order.
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

/** Separates the keys of a path. Names that contain this character are refused, so paths are unambiguous. */
export const PATH_SEPARATOR = '\0'

/** Parallel arrays with one element per leaf. */
export class Fields {
  /** The keys from the top, joined by `PATH_SEPARATOR`. `{"a.b":1}` and `{"a":{"b":1}}` have different paths but the
   *  same metric. */
  readonly paths: string[] = []
  readonly metrics: string[] = []
  readonly values: FieldValue[] = []
  /** True if two leaves may have the same metric, because a key contains a dot or two reports were joined. */
  mayCollide = false

  get length(): number {
    return this.paths.length
  }

  add(path: string, metric: string, value: FieldValue): void {
    this.paths.push(path)
    this.metrics.push(metric)
    this.values.push(value)
  }

  /** Appends the leaves of a later report with the same time. */
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

/** True if the text needs more bytes than this as UTF-8. The bytes are counted only if the length does not decide it. */
export function isLongerThan(text: string, bytesMax: number): boolean {
  return text.length * 3 > bytesMax && (text.length > bytesMax || Buffer.byteLength(text) > bytesMax)
}

/** True for a long text or array. A device may have few of these, because they make up most of its snapshot. */
export function isLongText(value: FieldValue): boolean {
  const text = value instanceof JsonText ? value.text : value
  return typeof text === 'string' && isLongerThan(text, LIMITS.shortTextBytesMax)
}

/** Each metric may have one point and one text. Returns the indexes of the leaves to keep: the last of each. */
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
