// The frames of a WebSocket (RFC 6455 §5): from bytes, and to bytes that a client may send.
import { randomBytes } from 'node:crypto'

export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

export interface Frame {
  readonly opcode: number
  readonly body: Buffer
}

/** The service sends far less at once. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024

/** Whole messages: the parts of a fragmented one come as one. */
export async function* decodeFrames(chunks: AsyncIterable<Buffer>): AsyncGenerator<Frame, void, undefined> {
  let held: Buffer = Buffer.alloc(0)
  let parts: Buffer[] = []
  let opcode = 0
  for await (const chunk of chunks) {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    for (let part = readPart(held); part !== undefined; part = readPart(held)) {
      held = held.subarray(part.bytes)
      // Control frames stand between the parts of a message.
      if (part.opcode >= OPCODES.close) {
        yield part
        continue
      }
      if (part.opcode !== OPCODES.continuation) opcode = part.opcode
      parts.push(part.body)
      if (!part.isLast) continue
      yield { opcode, body: parts.length === 1 ? part.body : Buffer.concat(parts) }
      parts = []
    }
  }
}

interface Part extends Frame {
  readonly isLast: boolean
  /** Header included. */
  readonly bytes: number
}

/** Undefined until all of it is there. */
function readPart(bytes: Buffer): Part | undefined {
  if (bytes.length < 2) return undefined
  const short = bytes.readUInt8(1) & 0x7f
  const head = short < 126 ? 2 : short === 126 ? 4 : 10
  if (bytes.length < head) return undefined
  const length =
    short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2))
  if (length > MESSAGE_BYTES_MAX) throw new Error('the service sent a frame that is too large')
  if (bytes.length < head + length) return undefined
  const first = bytes.readUInt8(0)
  return {
    opcode: first & 0x0f,
    isLast: (first & 0x80) !== 0,
    body: bytes.subarray(head, head + length),
    bytes: head + length,
  }
}

/** Masked, as a client's frames have to be. */
export function encodeFrame(opcode: number, body: Buffer): Buffer {
  const head = Buffer.alloc(body.length < 126 ? 2 : body.length < 65_536 ? 4 : 10)
  head.writeUInt8(0x80 | opcode, 0)
  if (head.length === 2) head.writeUInt8(0x80 | body.length, 1)
  else if (head.length === 4) {
    head.writeUInt8(0x80 | 126, 1)
    head.writeUInt16BE(body.length, 2)
  } else {
    head.writeUInt8(0x80 | 127, 1)
    head.writeBigUInt64BE(BigInt(body.length), 2)
  }
  const mask = randomBytes(4)
  const masked = Buffer.from(body)
  for (let i = 0; i < masked.length; i++) masked.writeUInt8(masked.readUInt8(i) ^ mask.readUInt8(i & 3), i)
  return Buffer.concat([head, mask, masked])
}
