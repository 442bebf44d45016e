// What a node does after a pause or a cut so long that others have taken its partitions. The store refuses its saves;
// these tests are about what it says to devices and listeners.
import { expect, test } from 'vitest'
import type { DeviceId } from '../../schemas/ids.ts'
import { MemoryOwners, MemoryOwnership } from '../adapters/ownership/testing/memory.ts'
import { partitionOf } from '../domain/partition.ts'
import { LIMITS } from '../limits.ts'
import { Fault } from '../ports/fault.ts'
import { CommandWaits } from './command-waits.ts'
import { Ownership } from './ownership/ownership.ts'
import { Performer } from './performer.ts'
import { Replies } from './replies.ts'
import { Sender } from './sender.ts'
import { opened, registration, request, telemetry } from './shard/testing/items.ts'
import { ShardsNode, SharedPlace } from './testing/shards.ts'

const PAUSE_MS = LIMITS.ownershipSilenceMs + 1_000

/** A node composed as in a cluster, with a broker and a feed that record what they are given. */
class Node {
  readonly node: ShardsNode
  readonly ownership: Ownership
  readonly said: string[] = []
  /** While set, its timers stand still and it gets no answers. */
  isPaused = false

  constructor(name: string, place: SharedPlace, owners: MemoryOwners) {
    this.node = new ShardsNode(name, place, 1)
    const { schedule } = place.time.newIncarnation()
    const table = new MemoryOwnership(owners)
    const onCall = table.onChange.bind(table)
    table.onChange = (run) => onCall(() => this.isPaused || run())
    this.ownership = new Ownership({
      clock: place.time,
      schedule: { every: (ms, run) => schedule.every(ms, () => this.isPaused || run()) },
      newNode: () => ({ id: `${name}-${place.time.ticks()}`, address: name }),
      table,
      host: {
        gained: (claims) => this.node.shards.gained(claims),
        lost: (partitions) => this.node.shards.lost(partitions),
        handOver: (partitions) => this.node.shards.handOver(partitions),
        failed: (error) => expect(error).toBeInstanceOf(Fault),
      },
    })
    const broker = {
      publish: async ({ deviceId, suffix }: { readonly deviceId: DeviceId; readonly suffix: string }) => {
        this.said.push(`${suffix} to ${deviceId}`)
        return false
      },
      cut: (deviceId: DeviceId) => this.said.push(`cut ${deviceId}`),
    }
    const ingest = { now: () => place.time.now(), delivered: () => {} }
    const unused = { forget: () => {}, poke: () => {} }
    const performer = new Performer({
      // The test needs only these parts of the ports.
      broker: broker as never,
      gateways: unused as never,
      history: unused as never,
      sender: new Sender({
        ...{
          broker: broker as never,
          ingest,
          otaMessages: unused as never,
          clock: place.time,
          schedule: place.time.newIncarnation().schedule,
        },
        failed: (error) => expect.fail(String(error)),
      }),
      errors: { publishFor: () => {} },
      feed: { publish: (events) => this.said.push(...events.map(({ kind }) => `feed ${kind}`)) },
      waits: new CommandWaits(),
      replies: new Replies(() => place.time.ticks()),
      recordRefusal: () => {},
      mesh: undefined,
    })
    this.node.perform = (proposal, claims, heldBack) => {
      performer.perform(proposal, (deviceId) => {
        const own = claims.filter(({ partition }) => partition === partitionOf(deviceId))
        const may = own.some((claim) => this.ownership.mayAct(claim))
        if (!may) heldBack(deviceId)
        return may
      })
    }
    this.ownership.start()
  }
}

async function setUp() {
  const place = new SharedPlace()
  const owners = new MemoryOwners()
  const one = new Node('one', place, owners)
  await place.time.advance(500)
  for (const item of [registration('a', 0), opened('a', 1)]) {
    await place.append(item)
    await place.time.advance(500)
  }
  const desire = (at: number, on: boolean) =>
    request('a', at, { kind: 'desire', mode: 'merge', patch: { on } })
  const startOther = () => new Node('two', place, owners)
  return { place, one, startOther, desire }
}

test('an owner publishes and announces what it has decided', async () => {
  const { place, one, desire } = await setUp()
  one.said.length = 0
  await place.append(desire(10, true))
  await place.time.advance(500)
  expect(one.said).toEqual(expect.arrayContaining(['shadow/desired to a', 'feed shadow']))
})

test('an owner whose save was answered after a pause says nothing, and the next owner says it', async () => {
  const { place, one, startOther, desire } = await setUp()
  one.node.isAnswerHeld = true
  await place.append(desire(10, true))
  await place.time.advance(200)
  one.said.length = 0
  one.isPaused = true
  await place.time.advance(PAUSE_MS)
  const two = startOther()
  await place.time.advance(PAUSE_MS)
  expect(two.said).toContain('shadow/desired to a')
  one.node.isAnswerHeld = false
  await place.time.advance(100)
  expect(one.said).toEqual([])
})

test('an owner whose lease ran out says what it held back once the lease is renewed, if nobody took over', async () => {
  const { place, one, desire } = await setUp()
  one.isPaused = true
  await place.time.advance(PAUSE_MS)
  one.said.length = 0
  await place.append(desire(10, true))
  await place.time.advance(1_000)
  expect(one.said).toEqual([])
  one.isPaused = false
  await place.time.advance(2_000)
  expect(one.said).toEqual(['shadow/desired to a'])
})

test('an owner that reads on after a pause says nothing, not even what needs no save', async () => {
  const { place, one, startOther, desire } = await setUp()
  await place.append(desire(10, true))
  await place.time.advance(500)
  one.isPaused = true
  one.node.isBehind = true
  await place.time.advance(PAUSE_MS)
  startOther()
  await place.time.advance(PAUSE_MS)
  one.said.length = 0
  await place.append({ ...telemetry('a', 20, ''), suffix: 'shadow/get' })
  one.node.isBehind = false
  await place.time.advance(500)
  expect(one.said).toEqual([])
})
