import { Buffer } from 'node:buffer'
import mqttPacket, { type IPublishPacket } from 'mqtt-packet'
import { expect, test } from 'vitest'
import { Publisher } from './publisher.ts'

function stage(isTaken: (id: number) => boolean = () => false) {
  const written: Buffer[] = []
  const publisher = new Publisher((bytes) => written.push(Buffer.from(bytes, 'latin1')), isTaken)
  const packets = (): readonly IPublishPacket[] => {
    const found: IPublishPacket[] = []
    const parser = mqttPacket.parser({ protocolVersion: 4 })
    // Nothing else is written.
    parser.on('packet', (packet) => found.push(packet as IPublishPacket))
    parser.parse(Buffer.concat(written))
    return found
  }
  return { publisher, written, packets }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

test.each([0, 1, 100, 127, 128, 16_000, 16_384, 300_000])(
  'a message of %i bytes is a packet of QoS 1',
  async (size) => {
    const { publisher, packets } = stage()
    const payload = 'x'.repeat(size)
    const published = publisher.publish('fleet/gerät/telemetry', payload, size === 100)
    await turn()
    const [packet] = packets()
    expect(packet).toMatchObject({ cmd: 'publish', qos: 1, retain: size === 100, dup: false })
    expect([packet?.topic, String(packet?.payload) === payload]).toEqual(['fleet/gerät/telemetry', true])
    publisher.acknowledged(packet?.messageId ?? 0)
    await published
  },
)

test('messages of one turn go out in one write, in order, and each waits for its own acknowledgement', async () => {
  const { publisher, written, packets } = stage()
  const done: number[] = []
  for (const n of [1, 2, 3]) void publisher.publish('t', `größe ${n}`, false).then(() => done.push(n))
  await turn()
  expect(written).toHaveLength(1)
  expect(packets().map(({ payload }) => String(payload))).toEqual(['größe 1', 'größe 2', 'größe 3'])
  const [, second, third] = packets().map(({ messageId }) => messageId)
  publisher.acknowledged(third ?? 0)
  publisher.acknowledged(second ?? 0)
  await turn()
  expect(done).toEqual([3, 2])
})

test('no packet identifier is used while an acknowledgement of it is awaited, here or by the client', async () => {
  const { publisher, packets } = stage((id) => id % 2 === 0)
  void publisher.publish('t', 'first', false)
  await turn()
  const [first] = packets().map(({ messageId }) => messageId)
  const others = new Set(Array.from({ length: 70_000 }, () => publisher.ids.allocate()))
  expect(others.has(first ?? 0)).toBe(false)
  // The odd ones of 65 535, but for that one.
  expect(others.size).toBe(32_767)
})

test('what is not acknowledged when the connection ends has failed, and nothing of it is written later', async () => {
  const { publisher, written } = stage()
  const failed = expect(publisher.publish('t', 'x', false)).rejects.toThrow('closed before')
  publisher.close()
  await failed
  await turn()
  expect(written).toEqual([])
})
