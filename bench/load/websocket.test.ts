import { expect, test } from 'vitest'
import { encodeFrame, parseFrames } from './websocket.ts'

test('frames with every size of length field are read, and an incomplete one waits', () => {
  const serverFrame = (payload: Buffer): Buffer => {
    const masked = encodeFrame(1, payload, Buffer.alloc(4))
    const head = masked.length - payload.length - 4
    masked[1] = (masked[1] ?? 0) & 0x7f
    return Buffer.concat([masked.subarray(0, head), masked.subarray(head + 4)])
  }
  const payloads = [0, 5, 125, 126, 65_535, 65_536].map((length) => Buffer.alloc(length, 'x'))
  const bytes = Buffer.concat(payloads.map(serverFrame))
  const whole = parseFrames(bytes)
  expect(whole.frames.map(({ payload }) => payload.length)).toEqual([0, 5, 125, 126, 65_535, 65_536])
  expect(whole.rest).toHaveLength(0)
  const cut = parseFrames(bytes.subarray(0, bytes.length - 1))
  expect(cut.frames).toHaveLength(5)
  expect(cut.rest).toHaveLength(65_545)
})

test('a client frame is masked', () => {
  const frame = encodeFrame(1, Buffer.from('abcd'), Buffer.from([1, 2, 3, 4]))
  expect([...frame]).toEqual([0x81, 0x84, 1, 2, 3, 4, 0x60, 0x60, 0x60, 0x60])
})
