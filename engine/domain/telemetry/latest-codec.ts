// Encodes a snapshot, to be saved with a checkpoint. Numbers are little-endian. A group is a run of fields with the same
// age.
//
//   format u8 | fields u32 | newest f64 | groups
//   group: at f64 | version f64 | fields u16 | fields
//   field: kind u8 | path length u16 | path | value (number f64; text and JSON: length u32, UTF-8)
import { Buffer } from 'node:buffer'
import type { LatestField } from './age.ts'
import { type FieldValue, JsonText } from './fields.ts'

const FORMAT = 1
const HEADER_BYTES = 13
const GROUP_BYTES = 18
const KIND = { cleared: 0, number: 1, no: 2, yes: 3, text: 4, json: 5 } as const

export function encodeFields(all: Iterable<LatestField>): Uint8Array {
  const fields = Array.from(all)
  const bytes = Buffer.allocUnsafe(fields.reduce((sum, field) => sum + bytesMax(field), HEADER_BYTES))
  bytes[0] = FORMAT
  bytes.writeUInt32LE(fields.length, 1)
  bytes.writeDoubleLE(
    fields.reduce((newest, { at }) => Math.max(newest, at), 0),
    5,
  )
  let end = HEADER_BYTES
  let group: LatestField | undefined
  let countAt = 0
  let count = 0
  for (const field of fields) {
    if (group === undefined || field.at !== group.at || field.version !== group.version) {
      group = field
      bytes.writeDoubleLE(field.at, end)
      bytes.writeDoubleLE(field.version, end + 8)
      countAt = end + 16
      count = 0
      end += GROUP_BYTES
    }
    end = writeField(bytes, field, end)
    bytes.writeUInt16LE(++count, countAt)
  }
  // The buffer was sized for three bytes per character, so a copy takes much less memory.
  return Uint8Array.prototype.slice.call(bytes, 0, end)
}

/** `text` holds the encoded bytes as latin1. */
export function readSummary(text: string): { readonly count: number; readonly newest: number } {
  const header = Buffer.from(text.slice(0, HEADER_BYTES), 'latin1')
  if (header[0] !== FORMAT || header.length < HEADER_BYTES) throw new Error('not a snapshot of this format')
  return { count: header.readUInt32LE(1), newest: header.readDoubleLE(5) }
}

/** `text` holds the encoded bytes as latin1. */
export function decodeFields(text: string): LatestField[] {
  const bytes = Buffer.from(text, 'latin1')
  const fields: LatestField[] = []
  for (let at = HEADER_BYTES; at < bytes.length; ) {
    const age = { at: bytes.readDoubleLE(at), version: bytes.readDoubleLE(at + 8) }
    const count = bytes.readUInt16LE(at + 16)
    at += GROUP_BYTES
    for (let i = 0; i < count; i++) {
      const kind = bytes.readUInt8(at)
      const valueAt = at + 3 + bytes.readUInt16LE(at + 1)
      const path = bytes.toString('utf8', at + 3, valueAt)
      const { value, end } = readValue(bytes, kind, valueAt)
      fields.push({ path, value, ...age })
      at = end
    }
  }
  return fields
}

function bytesMax({ path, value }: LatestField): number {
  const text = value instanceof JsonText ? value.text : value
  return GROUP_BYTES + 3 + path.length * 3 + (typeof text === 'string' ? 4 + text.length * 3 : 8)
}

function writeField(bytes: Buffer, { path, value }: LatestField, at: number): number {
  bytes[at] = kindOf(value)
  const pathBytes = bytes.write(path, at + 3)
  bytes.writeUInt16LE(pathBytes, at + 1)
  const valueAt = at + 3 + pathBytes
  if (typeof value === 'number') return bytes.writeDoubleLE(value, valueAt)
  const text = value instanceof JsonText ? value.text : value
  if (typeof text !== 'string') return valueAt
  const textBytes = bytes.write(text, valueAt + 4)
  bytes.writeUInt32LE(textBytes, valueAt)
  return valueAt + 4 + textBytes
}

function kindOf(value: FieldValue): number {
  if (value === null) return KIND.cleared
  if (typeof value === 'number') return KIND.number
  if (typeof value === 'boolean') return value ? KIND.yes : KIND.no
  return typeof value === 'string' ? KIND.text : KIND.json
}

function readValue(bytes: Buffer, kind: number, at: number): { value: FieldValue; end: number } {
  if (kind === KIND.number) return { value: bytes.readDoubleLE(at), end: at + 8 }
  if (kind === KIND.text || kind === KIND.json) {
    const end = at + 4 + bytes.readUInt32LE(at)
    const text = bytes.toString('utf8', at + 4, end)
    return { value: kind === KIND.text ? text : new JsonText(text), end }
  }
  return { value: kind === KIND.cleared ? null : kind === KIND.yes, end: at }
}
