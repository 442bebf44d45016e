// A lane's packets, one by one: what a will waits for until it is told (mqtt-uplinks U5).
import { Buffer } from 'node:buffer'
import type { IPublishPacket } from 'mqtt-packet'
import { beforeEach, expect, test } from 'vitest'
import { Millis, Partition } from '../../../../schemas/ids.ts'
import { LIMITS } from '../../../limits.ts'
import { SimTime } from '../../../testing/time.ts'
import { FakeHost } from '../testing/fake-host.ts'
import { LaneUplinks } from './mqtt-uplinks.ts'

let time: SimTime
let host: FakeHost
let uplinks: LaneUplinks
let seq = 0
let done: number[] = []

beforeEach(() => {
  time = new SimTime(Millis(1_000_000))
  host = new FakeHost()
  seq = 0
  done = []
  uplinks = new LaneUplinks({
    host,
    clock: time,
    partitionOf: () => Partition(0),
    totals: { connects: 0, publishes: [0, 0, 0], bytesIn: 0, refused: 0, lostSessions: 0 },
    isPlain: false,
    subscriptionsOf: () => Promise.resolve([]),
    expel: () => {},
    isVerified: () => Promise.resolve(true),
    lane: () => ({ done: (n) => void done.push(n) }),
  })
})

function take(id: string, suffix: string, payload: object, up?: Readonly<Record<string, string>>): void {
  const packet: IPublishPacket = {
    cmd: 'publish',
    topic: `ingest/0/fleet/${id}/${suffix}`,
    payload: Buffer.from(JSON.stringify(payload)),
    qos: 1,
    dup: false,
    retain: false,
    ...(up && { properties: { userProperties: up } }),
  }
  uplinks.take(packet, seq++)
}

const connects = (id: string) =>
  take(id, '$connected', { connected_at: time.now(), peername: '127.0.0.1:1', verified: 1 })
const ends = (id: string, reason: string) =>
  take(id, '$disconnected', { disconnected_at: time.now(), reason })
const dies = (id: string) => take(id, 'status', { status: 'offline' }, { id: '00'.repeat(16), will: 'true' })
const publishes = (id: string) => take(id, 'telemetry', {}, { id: '01'.repeat(16), will: 'false' })
const wills = (id: string) => host.messages(id).filter(({ will }) => will).length

test('a will waits for the report about its session, however long the lane is not read', () => {
  connects('a')
  dies('a')
  time.jump(LIMITS.willWaitMs * 60)
  publishes('b')
  ends('a', 'takenover')
  uplinks.caughtUp(time.ticks())
  // The will and the report.
  expect([wills('a'), done]).toEqual([0, [1, 3]])
  dies('a')
  time.jump(LIMITS.willWaitMs * 60)
  ends('a', 'tcp_closed')
  expect(wills('a')).toBe(1)
})

test('a will without a report is told once the lane has caught up with a later time', () => {
  connects('a')
  dies('a')
  time.jump(LIMITS.willWaitMs - 1)
  uplinks.caughtUp(time.ticks())
  expect(wills('a')).toBe(0)
  time.jump(1)
  uplinks.caughtUp(time.ticks())
  expect(wills('a')).toBe(1)
})

test('a will does not wait while the broker waits for its acknowledgement', () => {
  connects('a')
  dies('a')
  for (let n = 2; n < LIMITS.laneReceiveMax; n++) publishes('b')
  expect(wills('a')).toBe(0)
  publishes('b')
  expect(wills('a')).toBe(1)
})

test('a will that the broker sends again is told once', () => {
  connects('a')
  dies('a')
  dies('a')
  ends('a', 'tcp_closed')
  expect(wills('a')).toBe(1)
  dies('b')
  dies('b')
  ends('b', 'takenover')
  expect(wills('b')).toBe(0)
})
