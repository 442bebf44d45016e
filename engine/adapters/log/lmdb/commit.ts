// The encoding of one append on disk: a header that describes the log up to this commit, then the bundles.
//
//   format u8 | latestAt f64 | bytesUpTo f64 | ends f64 × partitions | count u16
//   count × (partition u16 | seq f64 | length u32) | bodies
//
// Numbers are little-endian. `ends` and `bytesUpTo` include this commit, so the last commit describes the whole log,
// and a search for a position needs no other index.
import { Micros, Partition } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import type { Bundle, Entry, Positions } from '../../../ports/log.ts'

/** The state of the log after a commit. */
export interface CommitHead {
  /** The greatest `latestAt` so far. */
  readonly latestAt: Micros
  /** Bytes on disk of this and all earlier commits, including trimmed ones. */
  readonly bytesUpTo: number
  readonly ends: Positions
}

export interface Commit extends CommitHead {
  readonly number: number
  readonly entries: readonly Entry[]
  /** Total bytes of all bodies. */
  readonly size: number
}

const FORMAT = 1
const ENDS_AT = 17
const COUNT_AT = ENDS_AT + 8 * LIMITS.partitions
const HEAD_BYTES = COUNT_AT + 2
const ENTRY_BYTES = 14
/** LMDB stores values from this size on in their own pages. */
const PAGE_BYTES = 4096

/** The header of an empty log. */
export const EMPTY_HEAD: CommitHead = {
  latestAt: Micros(0),
  bytesUpTo: 0,
  ends: new Array<number>(LIMITS.partitions).fill(0),
}

/** Encodes the next commit and copies its bodies into one buffer of exactly its size. */
export function encodeCommit(
  before: CommitHead,
  number: number,
  bundles: readonly Bundle[],
  latestAt: Micros,
): { readonly commit: Commit; readonly bytes: Uint8Array } {
  const size = bundles.reduce((sum, { body }) => sum + body.length, 0)
  const bytes = Buffer.allocUnsafeSlow(HEAD_BYTES + ENTRY_BYTES * bundles.length + size)
  const ends = [...before.ends]
  const entries: Entry[] = []
  let at = HEAD_BYTES
  let bodyAt = HEAD_BYTES + ENTRY_BYTES * bundles.length
  for (const { partition, body } of bundles) {
    const seq = (ends[partition] ?? 0) + 1
    ends[partition] = seq
    bytes.writeUInt16LE(partition, at)
    bytes.writeDoubleLE(seq, at + 2)
    bytes.writeUInt32LE(body.length, at + 10)
    bytes.set(body, bodyAt)
    entries.push({ partition, seq, body: view(bytes, bodyAt, body.length) })
    at += ENTRY_BYTES
    bodyAt += body.length
  }
  const head = {
    latestAt: Micros(Math.max(before.latestAt, latestAt)),
    bytesUpTo: before.bytesUpTo + bytesOnDisk(bytes.length),
    ends,
  }
  writeHead(bytes, head, bundles.length)
  return { commit: { ...head, number, entries, size }, bytes }
}

export function decodeHead(bytes: Uint8Array): CommitHead {
  const data = dataOf(bytes)
  const ends: number[] = []
  for (let p = 0; p < LIMITS.partitions; p++) ends.push(data.getFloat64(ENDS_AT + 8 * p, true))
  return { latestAt: Micros(data.getFloat64(1, true)), bytesUpTo: data.getFloat64(9, true), ends }
}

/** The returned bodies are views of `bytes`. */
export function decodeCommit(number: number, bytes: Uint8Array): Commit {
  const data = dataOf(bytes)
  const count = data.getUint16(COUNT_AT, true)
  const entries: Entry[] = []
  const bodiesAt = HEAD_BYTES + ENTRY_BYTES * count
  let bodyAt = bodiesAt
  for (let i = 0; i < count; i++) {
    const at = HEAD_BYTES + ENTRY_BYTES * i
    const length = data.getUint32(at + 10, true)
    entries.push({
      partition: Partition(data.getUint16(at, true)),
      seq: data.getFloat64(at + 2, true),
      body: view(bytes, bodyAt, length),
    })
    bodyAt += length
  }
  return { ...decodeHead(bytes), number, entries, size: bodyAt - bodiesAt }
}

function writeHead(bytes: Buffer, head: CommitHead, count: number): void {
  bytes[0] = FORMAT
  bytes.writeDoubleLE(head.latestAt, 1)
  bytes.writeDoubleLE(head.bytesUpTo, 9)
  for (let p = 0; p < LIMITS.partitions; p++) bytes.writeDoubleLE(head.ends[p] ?? 0, ENDS_AT + 8 * p)
  bytes.writeUInt16LE(count, COUNT_AT)
}

function dataOf(bytes: Uint8Array): DataView {
  if (bytes[0] !== FORMAT) throw new Error(`a log entry of unknown format ${bytes[0]}`)
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function view(bytes: Uint8Array, at: number, length: number): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset + at, length)
}

/** Bytes that a value of this length takes up in the file. */
export function bytesOnDisk(length: number): number {
  return Math.ceil((length + 16) / PAGE_BYTES) * PAGE_BYTES
}
