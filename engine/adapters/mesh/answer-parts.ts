// Splits an answer into parts that fit into NATS messages. Each part has its kind and its position in the answer.
import { Buffer } from 'node:buffer'
import { unreachable } from '../../domain/unreachable.ts'
import { LIMITS } from '../../limits.ts'
import type { Outcome } from './responder.ts'

const KINDS = ['more', 'answered', 'failed', 'closing', 'busy', 'absent'] as const
type Kind = (typeof KINDS)[number]

/** Bytes of the kind and of the position of the first byte. */
const HEAD_BYTES = 5

export function partsOf(outcome: Outcome): readonly Uint8Array[] {
  switch (outcome.kind) {
    case 'answered':
      return answerParts(outcome.answer)
    case 'failed':
      return [partOf('failed', 0, Buffer.from(outcome.message))]
    case 'absent':
    case 'closing':
    case 'busy':
      return [partOf(outcome.kind, 0, Buffer.alloc(0))]
    default:
      return unreachable(outcome)
  }
}

function answerParts(answer: Uint8Array): readonly Uint8Array[] {
  const parts: Uint8Array[] = []
  let offset = 0
  for (; answer.length - offset > LIMITS.meshPartBytes; offset += LIMITS.meshPartBytes)
    parts.push(partOf('more', offset, answer.subarray(offset, offset + LIMITS.meshPartBytes)))
  parts.push(partOf('answered', offset, answer.subarray(offset)))
  return parts
}

function partOf(kind: Kind, offset: number, bytes: Uint8Array): Uint8Array {
  const part = Buffer.allocUnsafe(HEAD_BYTES + bytes.length)
  part.writeUInt8(KINDS.indexOf(kind), 0)
  part.writeUInt32BE(offset, 1)
  part.set(bytes, HEAD_BYTES)
  return part
}

export class PartialAnswer {
  readonly #parts: Uint8Array[] = []
  #bytes = 0

  /** Returns the outcome with the last part, and undefined before. Returns `torn` if a part is missing or malformed. */
  add(part: Uint8Array): Outcome | 'torn' | undefined {
    if (part.length < HEAD_BYTES) return 'torn'
    const view = new DataView(part.buffer, part.byteOffset)
    const kind = KINDS[view.getUint8(0)]
    const bytes = part.subarray(HEAD_BYTES)
    if (kind === undefined || view.getUint32(1) !== this.#bytes) return 'torn'
    switch (kind) {
      case 'failed':
        return { kind, message: Buffer.from(bytes).toString() }
      case 'absent':
      case 'closing':
      case 'busy':
        return { kind }
      case 'more':
      case 'answered':
        return this.#join(kind, bytes)
      default:
        return unreachable(kind)
    }
  }

  #join(kind: 'more' | 'answered', bytes: Uint8Array): Outcome | undefined {
    this.#parts.push(bytes)
    this.#bytes += bytes.length
    if (kind === 'more') return undefined
    const [only] = this.#parts
    const answer = this.#parts.length === 1 && only !== undefined ? only : Buffer.concat(this.#parts)
    return { kind: 'answered', answer }
  }
}
