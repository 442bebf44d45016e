// Learns the shape of a payload that was just parsed. The shape is kept only if walking the bytes finds the same leaves in
// the same order as the parser (shape Q1). Payloads with repeated keys, keys that JavaScript objects reorder, arrays, acks
// or diagnostics get no shape and are always parsed.
import { Buffer } from 'node:buffer'
import { type Fields, type FieldValue, isLongText, PATH_SEPARATOR } from './fields.ts'
import { Shape, type ShapeField, SLOT, type SlotKind } from './shape.ts'

const QUOTE = 0x22
/** Top-level keys that can make the payload another kind of message. */
const TELLING = ['request_id', 'diagnostics']

/** Returns the shape of `payload`, whose parsed fields are `fields`, or undefined if it cannot have one. */
export function learn(payload: Uint8Array, name: string | undefined, fields: Fields): Shape | undefined {
  if (name === 'diagnostics' || fields.length === 0 || new Set(fields.metrics).size !== fields.length)
    return undefined
  const walk = walkLeaves(Buffer.from(payload.buffer, payload.byteOffset, payload.length), name)
  if (walk === undefined || walk.fields.length !== fields.length) return undefined
  const isSame = walk.fields.every(
    (field, i) => field.path === fields.paths[i] && field.kind === kindOf(fields.values[i] ?? null),
  )
  if (!isSame) return undefined
  let [numbers, texts] = [0, 0]
  const shapeFields = walk.fields.map((field, i) => {
    const slot = field.kind === 'cleared' ? 0 : field.kind === 'text' ? texts++ : numbers++
    return { ...field, metric: fields.metrics[i] ?? '', slot }
  })
  return new Shape({ name, ...walk, literals: Buffer.concat(walk.literals), fields: shapeFields })
}

interface Walk {
  readonly literals: Uint8Array[]
  readonly ends: number[]
  readonly slots: SlotKind[]
  readonly fields: Omit<ShapeField, 'metric' | 'slot'>[]
}

/** Walks the leaves of valid JSON in the order of its bytes. Returns undefined if the payload cannot have a shape. */
function walkLeaves(bytes: Buffer, name: string | undefined): Walk | undefined {
  const walk: Walk = { literals: [], ends: [], slots: [], fields: [] }
  const keys: string[] = name === undefined ? [] : [name]
  const top = keys.length
  let literal = 0
  let length = 0
  let times = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === 0x7d) keys.pop()
    if (byte === 0x5b) return undefined
    if (byte !== QUOTE) continue
    const keyEnd = stringEnd(bytes, at)
    const key: string = JSON.parse(bytes.toString('utf8', at, keyEnd))
    at = valueStart(bytes, keyEnd)
    const isTop = keys.length === top
    if (isTop && TELLING.includes(key)) return undefined
    if (bytes[at] === 0x7b) {
      keys.push(key)
      continue
    }
    const end = valueEnd(bytes, at)
    const isTime = isTop && key === 'timestamp'
    const slot = isTime ? timeSlot(bytes[at]) : leafSlot(bytes[at])
    if (slot === undefined || (isTime && ++times > 1)) return undefined
    if (slot !== 'cleared') {
      length += at - literal
      walk.literals.push(bytes.subarray(literal, at))
      walk.ends.push(length)
      walk.slots.push(SLOT[slot])
      literal = end
    }
    if (!isTime) walk.fields.push({ path: [...keys, key].join(PATH_SEPARATOR), kind: fieldKind(slot) })
    at = end - 1
  }
  walk.literals.push(bytes.subarray(literal))
  return walk
}

type SlotName = keyof typeof SLOT | 'cleared'

function leafSlot(first: number | undefined): SlotName | undefined {
  if (first === QUOTE) return 'text'
  if (first === 0x74 || first === 0x66) return 'bool'
  if (first === 0x6e) return 'cleared'
  return first === 0x5b ? undefined : 'number'
}

function timeSlot(first: number | undefined): SlotName | undefined {
  const slot = leafSlot(first)
  if (slot === 'text') return 'timeText'
  if (slot === 'number') return 'timeNumber'
  return slot === 'cleared' ? 'cleared' : undefined
}

function fieldKind(slot: SlotName): ShapeField['kind'] {
  return slot === 'timeNumber' || slot === 'timeText' ? 'number' : slot
}

function kindOf(value: FieldValue): ShapeField['kind'] | undefined {
  if (value === null) return 'cleared'
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'bool'
  // A shape never matches a long text.
  return typeof value === 'string' && !isLongText(value) ? 'text' : undefined
}

/** Returns the index after the closing quote of the string that starts at `at`. */
function stringEnd(bytes: Uint8Array, at: number): number {
  let end = at + 1
  while (end < bytes.length && bytes[end] !== QUOTE) end += bytes[end] === 0x5c ? 2 : 1
  return end + 1
}

/** Returns the index of the value that follows a key, after white space and the colon. */
function valueStart(bytes: Uint8Array, keyEnd: number): number {
  let at = keyEnd
  while (isSpace(bytes[at]) || bytes[at] === 0x3a) at++
  return at
}

function valueEnd(bytes: Uint8Array, at: number): number {
  if (bytes[at] === QUOTE) return stringEnd(bytes, at)
  let end = at
  while (end < bytes.length && !isSpace(bytes[end]) && bytes[end] !== 0x2c && bytes[end] !== 0x7d) end++
  return end
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
