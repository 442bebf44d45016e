import { expect, test } from 'vitest'
import { type DeviceId, Millis } from '../../schemas/ids.ts'
import { toDownlink } from '../domain/downlink.ts'
import type { Downlink } from '../ports/broker.ts'
import { Sender } from './sender.ts'
import type { Outbound } from './shard/protocol.ts'

const PUBLISH_MS = 0.5

function setUp() {
  const sent: string[] = []
  const turns: (() => void)[] = []
  let now = 0
  const sender = new Sender({
    broker: {
      publish: async ({ deviceId }: Downlink) => {
        sent.push(deviceId)
        now += PUBLISH_MS
        return true
      },
    },
    ingest: { now: () => Millis(0), delivered: () => {} },
    otaMessages: { messageOf: () => undefined },
    clock: { ticks: () => now },
    schedule: {
      after: (_, run) => {
        turns.push(run)
        return () => {}
      },
    },
    failed: (error) => expect.fail(String(error)),
  })
  const send = (ids: readonly DeviceId[], mayAct: (id: DeviceId) => boolean = () => true) =>
    sender.send({ outbound: ids.map(toOutbound), ota: [], cuts: [] }, mayAct)
  const nextTurn = () => {
    for (const run of turns.splice(0)) run()
  }
  const allTurns = () => {
    while (turns.length > 0) nextTurn()
  }
  return { sender, sent, send, nextTurn, allTurns }
}

const toOutbound = (deviceId: DeviceId): Outbound => ({
  ...{ deviceId, via: undefined, confirms: undefined },
  message: toDownlink('shadow/desired', {}),
})

const devices = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => `device-${from + i}` as DeviceId)

test('a few messages are sent at once', () => {
  const { sent, send } = setUp()
  send(devices(3))
  expect(sent).toEqual(devices(3))
})

test('a large batch is sent over many turns of the event loop, and later messages wait behind it', () => {
  const { sent, send, nextTurn, allTurns } = setUp()
  send(devices(100))
  const first = sent.length
  expect(first).toBeLessThan(20)
  send(devices(1, 100))
  expect(sent).toHaveLength(first)
  nextTurn()
  expect(sent).toHaveLength(2 * first)
  allTurns()
  expect(sent).toEqual(devices(101))
})

test('what is still due is sent before a cut', () => {
  const { sender, sent, send, allTurns } = setUp()
  send(devices(100))
  sender.flush()
  expect(sent).toEqual(devices(100))
  allTurns()
  expect(sent).toHaveLength(100)
})

test('a message whose turn comes after the lease ran out is not sent', () => {
  const { sent, send, allTurns } = setUp()
  let isOwner = true
  const held: DeviceId[] = []
  send(devices(100), (id) => {
    if (!isOwner) held.push(id)
    return isOwner
  })
  isOwner = false
  const before = sent.length
  allTurns()
  expect(sent).toHaveLength(before)
  expect(held).toEqual(devices(100 - before, before))
})
