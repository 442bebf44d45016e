import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeFrames, encodeFrame, OPCODES } from './socket-frames.ts'

/** As a server sends them: not masked. */
function serverFrame(opcode: number, body: Buffer, isLast = true): Buffer {
  const head = Buffer.alloc(body.length < 126 ? 2 : body.length < 65_536 ? 4 : 10)
  head[0] = (isLast ? 0x80 : 0) | opcode
  head[1] = body.length < 126 ? body.length : body.length < 65_536 ? 126 : 127
  if (head.length === 4) head.writeUInt16BE(body.length, 2)
  if (head.length === 10) head.writeBigUInt64BE(BigInt(body.length), 2)
  return Buffer.concat([head, body])
}

async function decoded(chunks: readonly Buffer[]) {
  async function* given() {
    yield* chunks
  }
  const frames: (readonly [number, string])[] = []
  for await (const { opcode, body } of decodeFrames(given())) frames.push([opcode, body.toString()])
  return frames
}

test('however the bytes are cut, the frames are the same', async () => {
  const texts = fc.array(fc.string({ maxLength: 300 }), { maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(
      texts,
      fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1 }),
      async (all, cuts) => {
        const bytes = Buffer.concat(all.map((text) => serverFrame(OPCODES.text, Buffer.from(text))))
        const chunks: Buffer[] = []
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const size = cuts[i % cuts.length] ?? 1
          chunks.push(bytes.subarray(at, at + size))
          at += size
        }
        expect(await decoded(chunks)).toEqual(all.map((text) => [OPCODES.text, text]))
      },
    ),
    { numRuns: 100 },
  )
})

test.each([125, 126, 65_535, 65_536])('a frame of %d bytes comes whole', async (length) => {
  const body = Buffer.alloc(length, 'x')
  expect(await decoded([serverFrame(OPCODES.text, body)])).toEqual([[OPCODES.text, body.toString()]])
})

test('the parts of a message come as one, with what stands between them', async () => {
  const chunks = [
    serverFrame(OPCODES.text, Buffer.from('a'), false),
    serverFrame(OPCODES.ping, Buffer.from('p')),
    serverFrame(OPCODES.continuation, Buffer.from('b'), false),
    serverFrame(OPCODES.continuation, Buffer.from('c')),
  ]
  expect(await decoded(chunks)).toEqual([
    [OPCODES.ping, 'p'],
    [OPCODES.text, 'abc'],
  ])
})

test('a frame that would fill the memory is refused before it comes', async () => {
  const head = Buffer.alloc(10)
  head[0] = 0x81
  head[1] = 127
  head.writeBigUInt64BE(2n ** 40n, 2)
  await expect(decoded([head])).rejects.toThrow('too large')
})

test.each([0, 125, 126, 65_535, 65_536])('a client’s frame of %d bytes is masked', (length) => {
  const body = Buffer.alloc(length, 'x')
  const frame = encodeFrame(OPCODES.text, body)
  expect((frame[1] ?? 0) & 0x80).toBe(0x80)
  const payload = frame.subarray(frame.length - length)
  const mask = frame.subarray(frame.length - length - 4, frame.length - length)
  expect(Buffer.from(payload.map((byte, i) => byte ^ (mask[i & 3] ?? 0))).equals(body)).toBe(true)
})
