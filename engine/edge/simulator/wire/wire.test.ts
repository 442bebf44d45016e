import mqttPacket, { type Packet } from 'mqtt-packet'
import { expect, test } from 'vitest'
import { cutFrames } from './frames.ts'
import { type Sink, WriteBuffer } from './write-buffer.ts'

class RecordingSink implements Sink {
  readonly writes: Buffer[] = []

  write(bytes: string): void {
    this.writes.push(Buffer.from(bytes, 'latin1'))
  }

  /** Returns the packets as a broker would parse them. */
  packets(): readonly Packet[] {
    const read: Packet[] = []
    const parser = mqttPacket.parser({ protocolVersion: 4 })
    parser.on('packet', (packet) => read.push(packet))
    for (const bytes of this.writes) parser.parse(bytes)
    return read
  }
}

test('packets that one link sends in a row leave in one write, and those of another link in a separate write', () => {
  const writeBuffer = new WriteBuffer()
  const [a, b] = [new RecordingSink(), new RecordingSink()]
  writeBuffer.publish(a, { topic: 'fleet/a/telemetry', payload: '{"x":1}', head: 0x32, packetId: 1 })
  writeBuffer.publish(a, { topic: 'fleet/a/status', payload: '{"mode":"größer"}', head: 0x33, packetId: 300 })
  writeBuffer.publish(b, { topic: 'fleet/b/telemetry', payload: '{}', head: 0x30, packetId: 0 })
  writeBuffer.add(b, '\xc0\0')
  writeBuffer.flush()
  expect([a.writes.length, b.writes.length]).toEqual([1, 1])
  expect(a.packets()).toMatchObject([
    { cmd: 'publish', topic: 'fleet/a/telemetry', qos: 1, retain: false, messageId: 1 },
    { cmd: 'publish', topic: 'fleet/a/status', qos: 1, retain: true, messageId: 300 },
  ])
  expect(String(Reflect.get(Object(a.packets()[1]), 'payload'))).toBe('{"mode":"größer"}')
  expect(b.packets()).toMatchObject([{ qos: 0 }, { cmd: 'pingreq' }])
})

test.each([10, 200, 20_000, 65_500, 300_000])('a payload of %i bytes arrives whole', (size) => {
  const writeBuffer = new WriteBuffer()
  const sink = new RecordingSink()
  for (let packetId = 1; packetId <= 3; packetId++)
    writeBuffer.publish(sink, { topic: 't', payload: 'x'.repeat(size), head: 0x32, packetId })
  writeBuffer.flush()
  expect(sink.packets().map((packet) => [Reflect.get(packet, 'payload').length, packet.messageId])).toEqual([
    ...[1, 2, 3].map((id) => [size, id]),
  ])
})

test('packets are recognised wherever a read ends', () => {
  const publish = mqttPacket.generate({
    cmd: 'publish',
    topic: 't',
    payload: 'y'.repeat(300),
    qos: 0,
    retain: false,
    dup: false,
  })
  const stream = Buffer.concat([Buffer.from([0x40, 2, 0, 7]), publish, Buffer.from([0xd0, 0])])
  for (let cut = 0; cut <= stream.length; cut++) {
    const sizes: number[] = []
    const take = (_: Buffer, start: number, end: number) => void sizes.push(end - start)
    // `cutFrames` must ignore the bytes after `cut`, which come from an earlier read.
    const rest = cutFrames(stream, cut, take) ?? Buffer.alloc(0)
    cutFrames(Buffer.concat([rest, stream.subarray(cut)]), rest.length + stream.length - cut, take)
    expect(sizes).toEqual([4, publish.length, 2])
  }
  const endless = Buffer.from([0x30, 0xff, 0xff, 0xff, 0xff, 1])
  expect(() => cutFrames(endless, endless.length, () => undefined)).toThrow(RangeError)
})
