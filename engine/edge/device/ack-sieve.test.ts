import { expect, test } from 'vitest'
import { AckSieve } from './ack-sieve.ts'

const ack = (id: number) => Buffer.from([0x40, 2, id >> 8, id & 0xff])
const PINGRESP = Buffer.from([0xd0, 0])
/** Its body looks like acknowledgements. */
const MESSAGE = Buffer.concat([Buffer.from([0x30, 0xc8, 0x01]), Buffer.alloc(200, ack(1))])
const BYTES = Buffer.concat([ack(1), PINGRESP, ack(2), ack(700), MESSAGE, ack(3), ack(9), ack(4), PINGRESP])

/** Acknowledgements above 500 are awaited by the client. */
function sieve() {
  const taken: number[] = []
  const passed: Buffer[] = []
  const made = new AckSieve({
    take: (id) => {
      if (id > 500) return false
      taken.push(id)
      return true
    },
    pass: (bytes) => passed.push(bytes),
  })
  return { made, taken, passed }
}

test.each([1, 2, 3, 5, 64, 1_000])(
  'acknowledgements are taken out of chunks of %i bytes, and the client gets everything else in order',
  (size) => {
    const { made, taken, passed } = sieve()
    for (let at = 0; at < BYTES.length; at += size) made.read(BYTES.subarray(at, at + size))
    expect(taken).toEqual([1, 2, 3, 9, 4])
    expect(Buffer.concat(passed)).toEqual(Buffer.concat([PINGRESP, ack(700), MESSAGE, PINGRESP]))
  },
)

test('the client gets the beginning of a long packet at once', () => {
  const { made, passed } = sieve()
  made.read(MESSAGE.subarray(0, 50))
  expect(Buffer.concat(passed)).toEqual(MESSAGE.subarray(0, 50))
})

test('what is no MQTT is the business of the client', () => {
  const { made, taken, passed } = sieve()
  const wrong = Buffer.concat([Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, 0xff]), ack(1)])
  made.read(wrong)
  made.read(ack(1))
  expect([taken, Buffer.concat(passed)]).toEqual([[], Buffer.concat([wrong, ack(1)])])
})
