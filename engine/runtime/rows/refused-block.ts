// What happens to a block that ClickHouse refuses: it is halved until the refused part is a single message. That becomes a
// dead letter, and everything else is stored.
//
// B1. Each cut costs two inserts, so cuts are limited. If nothing at all is accepted, the rows are not to blame, and it
//     ends sooner. Parts that are not cut any further are given up. The log has their messages for its retention time.
import { Buffer } from 'node:buffer'
import { type DeviceId, Micros } from '../../../schemas/ids.ts'
import { topicOf } from '../../../schemas/topics.ts'
import { partitionOf } from '../../domain/partition.ts'
import { encodeRows } from '../../domain/telemetry/block-rows.ts'
import { type BlockRow, type ReadBlock, readBlock } from '../../domain/telemetry/native-reader.ts'
import { LIMITS } from '../../limits.ts'
import type { Fault } from '../../ports/fault.ts'
import type { DeadLetter } from '../../ports/store.ts'
import type { Block } from '../../ports/telemetry.ts'
import { positionOf } from '../shard/incoming.ts'

type Row = BlockRow<number | string>

interface RefusedPart {
  readonly block: Block
  readonly rows: readonly Row[]
  readonly fault: Fault
}

export interface Separation {
  /** Messages that are refused on their own. */
  readonly letters: readonly DeadLetter[]
  /** Parts that were not cut any further (B1). */
  readonly givenUp: readonly Pick<RefusedPart, 'block' | 'fault'>[]
}

/** `insert` resolves with a fault if the part is refused. */
export async function separate(
  block: Block,
  fault: Fault,
  insert: (part: Block) => Promise<Fault | undefined>,
): Promise<Separation> {
  const { kind } = block
  // Rows of other tables come from the store, and their writer looks for the refused ones itself.
  const read = kind === 'points' || kind === 'texts' ? readRows(block) : undefined
  if (read === undefined) return { letters: [], givenUp: [{ block, fault }] }
  const letters = new Map<string, DeadLetter>()
  const givenUp: RefusedPart[] = []
  const refused: RefusedPart[] = [{ block, rows: read.rows, fault }]
  let cuts = 0
  let isAnyStored = false
  for (let part = refused.pop(); part !== undefined; part = refused.pop()) {
    const [first] = part.rows
    if (part.rows.length === 1 && first !== undefined) {
      const letter = letterOf(first, part.fault)
      letters.set(letter.id, letter)
      continue
    }
    if (cuts >= (isAnyStored ? LIMITS.refusedCutsMax : LIMITS.refusedCutsInVainMax)) {
      givenUp.push(part)
      continue
    }
    cuts++
    const half = Math.ceil(part.rows.length / 2)
    for (const rows of [part.rows.slice(0, half), part.rows.slice(half)]) {
      const cut = { kind, ...encodeRows(read.kind, rows) }
      const refusal = await insert(cut)
      if (refusal === undefined) isAnyStored = true
      else refused.push({ block: cut, rows, fault: refusal })
    }
  }
  return { letters: [...letters.values()], givenUp }
}

/** Undefined if the bytes are not a valid block. Then ClickHouse is right to refuse all of it. */
function readRows({ bytes }: Block): ReadBlock | undefined {
  try {
    return readBlock(bytes)
  } catch {
    return undefined
  }
}

/** Rebuilds the message from its values, so that it can be replayed. The log has it as it was sent. */
function letterOf(row: Row, { message }: Fault): DeadLetter {
  // Written by the shard from a valid device id.
  const deviceId = row.deviceId as DeviceId
  const { seq, index } = positionOf(row.version)
  const values = Object.fromEntries(row.metrics.map((metric, i) => [metric, row.values[i]]))
  const payload = Buffer.from(JSON.stringify({ timestamp: toText(row.at), ...values }))
  return {
    id: `dl_${partitionOf(deviceId)}_${seq}_${index}`,
    deviceId,
    topic: topicOf(deviceId, 'telemetry'),
    reason: 'TELEMETRY_REFUSED',
    detail: message.slice(0, LIMITS.refusedDetailCharsMax),
    payload: Uint8Array.from(payload.subarray(0, LIMITS.deadLetterPayloadBytesMax)),
    payloadBytes: payload.length,
    receivedAt: Micros(row.received * 1_000_000),
  }
}

function toText(at: Micros): string {
  const micros = String(at % 1_000).padStart(3, '0')
  return new Date(Math.floor(at / 1_000)).toISOString().replace('Z', `${micros}Z`)
}
