// The shape of a payload consists of the bytes that are the same in every message, and the slots between them. Devices
// print the same keys in the same order every time. If a payload has the bytes of a known shape, its keys are known, and
// the values are read from the slots without a parser.
//
// Q1. A match gives exactly what `JSON.parse` would give. A doubtful payload does not match.
import { Buffer } from 'node:buffer'
import { LIMITS } from '../../limits.ts'
import { parseTime, TIME_CHARS_MAX } from './event-time.ts'
import { readNumber } from './number.ts'

export const SLOT = { number: 0, bool: 1, text: 2, timeNumber: 3, timeText: 4 } as const
export type SlotKind = (typeof SLOT)[keyof typeof SLOT]

/** A leaf that every payload of this shape has. `cleared` means null. */
export interface ShapeField {
  readonly path: string
  readonly metric: string
  readonly kind: 'number' | 'bool' | 'text' | 'cleared'
  /** The index among the numbers and bools of the shape, or among its texts. 0 for a cleared field. */
  readonly slot: number
}

export interface ShapeParts {
  readonly name: string | undefined
  readonly literals: Uint8Array
  readonly ends: readonly number[]
  readonly slots: readonly SlotKind[]
  readonly fields: readonly ShapeField[]
}

/** The numbers of metrics in a block. They are valid while `epoch` is that of the block's rows. */
export class MetricNumbers {
  numbers = new Uint32Array(0)
  epoch: object | undefined
}

interface CachedText {
  readonly bytes: Uint8Array
  readonly text: string
}

export class Shape {
  /** The `<name>` of the topic `telemetry/<name>`. */
  readonly name: string | undefined
  /** All bytes before, between and after the slots, joined. */
  readonly literals: Uint8Array
  /** The index in `literals` before which each slot is. */
  readonly ends: Uint32Array
  readonly slots: Uint8Array
  readonly fields: readonly ShapeField[]
  /** The metrics of the numbers and booleans, in order. */
  readonly pointMetrics: readonly string[]
  readonly textMetrics: readonly string[]
  /** The index of each path in `fields`. */
  readonly places: ReadonlyMap<string, number>
  /** The last text of each text slot. Most payloads repeat it, and then the same string is used again. */
  readonly seen: (CachedText | undefined)[] = []
  /** The numbers of `pointMetrics` and `textMetrics` in the current block. */
  readonly pointNumbers = new MetricNumbers()
  readonly textNumbers = new MetricNumbers()

  constructor({ name, literals, ends, slots, fields }: ShapeParts) {
    this.name = name
    this.literals = literals
    this.ends = Uint32Array.from(ends)
    this.slots = Uint8Array.from(slots)
    this.fields = fields
    this.pointMetrics = fields.filter((f) => f.kind === 'number' || f.kind === 'bool').map((f) => f.metric)
    this.textMetrics = fields.filter((f) => f.kind === 'text').map((f) => f.metric)
    this.places = new Map(fields.map((field, place) => [field.path, place]))
  }
}

/** The values that the last match found in the slots. */
export class SlotValues {
  /** The numbers and booleans (as 0 and 1), in order. */
  readonly numbers = new Float64Array(LIMITS.telemetryFieldsMax)
  readonly texts: string[] = []
  /** The timestamp in microseconds, or NaN if the payload has none. */
  time = Number.NaN
  readonly millis = new Float64Array(1)
}

/** True if the payload has this shape. Its values are then in `slotValues`. */
export function matches(shape: Shape, payload: Uint8Array, slotValues: SlotValues): boolean {
  const { literals, ends, slots } = shape
  const { numbers } = slotValues
  slotValues.time = Number.NaN
  let literal = 0
  let at = 0
  let number = 0
  let text = 0
  for (let slot = 0; slot < slots.length; slot++) {
    const end = ends[slot] ?? 0
    while (literal < end) if (payload[at++] !== literals[literal++]) return false
    const kind = slots[slot]
    if (kind === SLOT.number) at = readNumber(payload, at, numbers, number++)
    else if (kind === SLOT.bool) at = readBool(payload, at, numbers, number++)
    else if (kind === SLOT.text) at = readText(payload, at, shape, slotValues.texts, text++)
    else at = readTime(payload, at, kind === SLOT.timeText, slotValues)
    if (at < 0) return false
  }
  if (payload.length - at !== literals.length - literal) return false
  while (literal < literals.length) if (payload[at++] !== literals[literal++]) return false
  return true
}

function readBool(bytes: Uint8Array, at: number, into: Float64Array, place: number): number {
  const isTrue = bytes[at] === 0x74
  const word = isTrue ? TRUE : FALSE
  for (let i = 0; i < word.length; i++) if (bytes[at + i] !== word[i]) return -1
  into[place] = isTrue ? 1 : 0
  return at + word.length
}
const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')

/** Returns the index after the closing quote of a string of printable ASCII without escapes, or -1 for anything else. */
function textEnd(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== 0x22) return -1
  for (let end = at + 1; ; end++) {
    const byte = bytes[end] ?? 0
    if (byte === 0x22) return end + 1
    if (byte < 0x20 || byte > 0x7e || byte === 0x5c) return -1
  }
}

function readText(bytes: Uint8Array, at: number, shape: Shape, texts: string[], place: number): number {
  const end = textEnd(bytes, at)
  const length = end - at - 2
  if (end < 0 || length > LIMITS.shortTextBytesMax) return -1
  const seen = shape.seen[place]
  if (seen !== undefined && seen.bytes.length === length && isSame(seen.bytes, bytes, at + 1)) {
    texts[place] = seen.text
    return end
  }
  const copy = Buffer.from(bytes.subarray(at + 1, end - 1))
  const text = copy.toString('latin1')
  shape.seen[place] = { bytes: copy, text }
  texts[place] = text
  return end
}

function isSame(text: Uint8Array, bytes: Uint8Array, from: number): boolean {
  for (let i = 0; i < text.length; i++) if (text[i] !== bytes[from + i]) return false
  return true
}

function readTime(bytes: Uint8Array, at: number, isText: boolean, slotValues: SlotValues): number {
  if (isText) {
    const end = textEnd(bytes, at)
    if (end < 0 || end - at - 2 > TIME_CHARS_MAX) return -1
    slotValues.time = parseTime(bytes, at + 1, end - 1)
    return Number.isNaN(slotValues.time) ? -1 : end
  }
  const end = readNumber(bytes, at, slotValues.millis, 0)
  slotValues.time = Math.round((slotValues.millis[0] ?? 0) * 1000)
  return Number.isFinite(slotValues.time) ? end : -1
}
