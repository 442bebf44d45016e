import { expect, test } from 'vitest'
import { Millis, Partition } from '../../../schemas/ids.ts'
import { MemoryMesh, MemoryNet } from '../../adapters/mesh/testing/memory.ts'
import { SimTime } from '../../testing/time.ts'
import { START } from '../shard/testing/items.ts'
import { pack, WIRE_VERSION } from '../versioned.ts'
import { Watermark } from './watermark.ts'

const [ONE, TWO] = [Partition(1), Partition(2)]
const at = (ms: number) => Millis(START + ms)

/** An ingress, and a node that owns devices and knows the log up to `known`. */
function setUp() {
  const net = new MemoryNet()
  const time = new SimTime(START)
  const state = { fault: undefined as never, durable: at(1_000_000), written: 7, known: 7 }
  const { schedule } = time.newIncarnation()
  const signals: string[] = []
  const open = (name: string, end: () => number) =>
    new Watermark({
      unreadable: () => signals.push('news_unreadable'),
      ingest: { fault: () => state.fault, durableUpTo: () => state.durable },
      log: { ends: () => [end()] },
      mesh: new MemoryMesh(net, name),
    })
  const ingress = open('ingress', () => state.written)
  const owner = open('owner', () => state.known)
  ingress.start(schedule)
  owner.start(schedule)
  return { time, state, ingress, owner, signals, stranger: new MemoryMesh(net, 'stranger') }
}

test('nothing is known about partitions that no ingress has reported on', async () => {
  const { time, ingress, owner } = setUp()
  ingress.handedOver([ONE], at(10))
  await time.advance(1_000)
  expect([owner.upTo([ONE]), owner.upTo([ONE, TWO])]).toEqual([at(10), undefined])
})

test('the partition that is furthest behind decides the watermark', async () => {
  const { time, ingress, owner } = setUp()
  ingress.handedOver([ONE, TWO], at(10))
  ingress.handedOver([TWO], at(500))
  await time.advance(1_000)
  expect([owner.upTo([ONE, TWO]), owner.upTo([TWO])]).toEqual([at(10), at(500)])
})

test('a watermark counts once the log is known up to its end', async () => {
  const { time, state, ingress, owner } = setUp()
  ingress.handedOver([ONE], at(10))
  await time.advance(1_000)
  state.written = 9
  for (let n = 1; n <= 3; n++) {
    ingress.handedOver([ONE], at(1_000 * n))
    await time.advance(1_000)
    expect(owner.upTo([ONE])).toBe(at(10))
  }
  state.known = 9
  expect(owner.upTo([ONE])).toBe(at(1_000))
})

test('a watermark does not reach messages that are not durable yet', async () => {
  const { time, state, ingress, owner } = setUp()
  state.durable = at(300)
  ingress.handedOver([ONE], at(500))
  await time.advance(1_000)
  expect(owner.upTo([ONE])).toBe(at(300))
})

test('while an ingress reports nothing, the watermark stands still', async () => {
  const { time, ingress, owner } = setUp()
  ingress.handedOver([ONE], at(10))
  await time.advance(60_000)
  expect(owner.upTo([ONE])).toBe(at(10))
})

test('news from another release is not misread, and is reported once', async () => {
  const { time, owner, signals, stranger } = setUp()
  const news = pack([at(10), 7, [ONE]])
  for (const version of [WIRE_VERSION + 1, 0])
    stranger.publish('heard', Uint8Array.from([version, ...news.subarray(1)]))
  await time.advance(0)
  // The other node of the test reports it, too.
  expect([owner.upTo([ONE]), signals]).toEqual([undefined, ['news_unreadable', 'news_unreadable']])
  stranger.publish('heard', news)
  await time.advance(0)
  expect(owner.upTo([ONE])).toBe(at(10))
})
