import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Millis, Partition } from '../../../schemas/ids.ts'
import { MemoryOwnership } from '../../adapters/ownership/testing/memory.ts'
import { LIMITS } from '../../limits.ts'
import { Cluster, type TestNode } from './testing/ownership.ts'

const CALM_MS = 10_000

test('one node takes everything at once', async () => {
  const cluster = new Cluster()
  cluster.add()
  await cluster.advance(50)
  expect(cluster.counts()).toEqual([64])
})

test('a node that joins takes its share and no more, as soon as it is handed over', async () => {
  const cluster = new Cluster()
  const [a, b] = await cluster.addTwo()
  a.handOverMs = 700
  const c = cluster.add()
  await cluster.advance(600)
  expect(c.active.length).toBe(11)
  expect(a.active.length).toBe(32)
  await cluster.advance(1_000)
  expect([a.lost, b.lost, a.handedOver.length + b.handedOver.length]).toEqual([[], [], c.active.length])
  cluster.expectBalance([a, b, c])
})

test('a node that stops hands everything over, and the others take it at once', async () => {
  const cluster = new Cluster()
  const [a, b] = await cluster.addTwo()
  a.handOverMs = 6_000
  let isClosed = false
  const closing = a.ownership.close().then(() => {
    isClosed = true
  })
  await cluster.advance(5_950)
  // The node keeps renewing its lease meanwhile.
  expect([cluster.counts(), isClosed]).toEqual([[32, 32], false])
  await cluster.advance(100)
  await closing
  expect([a.owned.size, b.active.length, b.ownership.addressOf(Partition(0))]).toEqual([0, 64, 'n1'])
  expect(cluster.owners.nodes.size).toBe(1)
})

test('a node that takes over knows up to which time the previous owner gave receive times', async () => {
  const cluster = new Cluster()
  const [a, b] = await cluster.addTwo()
  // The node gives times until the end, and renews its lease shortly before.
  Object.assign(a, { handOverMs: 30, answerMs: 40 })
  for (let at = 1; a.owned.size > 0; at++) {
    if (at === 725) void a.ownership.close()
    a.receivedAt = Millis(at)
    await cluster.advance(1)
    expect(at).toBeLessThan(5_000)
  }
  const last = a.receivedAt
  while (b.owned.size < 64) await cluster.advance(1)
  expect(b.followed).toBe(last)
})

test('the partitions of a dead node are taken within five seconds, with greater epochs', async () => {
  const cluster = new Cluster()
  const [a, b] = await cluster.addTwo()
  const before = new Map(a.owned)
  a.die()
  await cluster.advance(LIMITS.ownershipSilenceMs - LIMITS.ownershipRenewMs)
  expect(b.active.length).toBe(32)
  await cluster.advance(2 * LIMITS.ownershipRenewMs)
  expect(b.active.length).toBe(64)
  for (const [partition, epoch] of before) expect(b.owned.get(partition)).toBeGreaterThan(epoch)
})

test('a node that was paused does nothing before it knows what it still owns', async () => {
  const cluster = new Cluster()
  const [a, b] = await cluster.addTwo()
  a.isPaused = true
  await cluster.advance(LIMITS.ownershipLeaseMs + 1)
  expect(a.ownership.isCertain()).toBe(false)
  await cluster.advance(LIMITS.ownershipSilenceMs)
  a.isPaused = false
  expect([a.active, a.owned.size, b.active.length]).toEqual([[], 32, 64])
  await cluster.advance(CALM_MS)
  expect(a.lost.length).toBe(32)
  cluster.expectBalance([a, b])
})

test('a node that was expelled gives up at once, before it knows who owns its partitions', async () => {
  const cluster = new Cluster()
  const [a, b] = await cluster.addTwo()
  a.isPaused = true
  await cluster.advance(LIMITS.ownershipSilenceMs + 1_000)
  expect(b.active.length).toBe(64)
  a.isPaused = false
  a.isBlind = true
  await cluster.advance(2_000)
  expect([a.ownership.isCertain(), a.owned.size, a.lost.length]).toEqual([true, 0, 32])
})

test('a partition that another node has claimed in the table is lost', async () => {
  const cluster = new Cluster()
  const a = cluster.add()
  await cluster.advance(1_000)
  const epoch = a.owned.get(Partition(7)) ?? 0
  const foreign = await new MemoryOwnership(cluster.owners).claim(Partition(7), 'somebody', epoch)
  await cluster.advance(1_000)
  expect(a.lost).toEqual([Partition(7)])
  // The other node does not exist, so the partition is taken back.
  expect(a.owned.get(Partition(7))).toBeGreaterThan(foreign ?? Number.POSITIVE_INFINITY)
})

test('a short pause changes nothing', async () => {
  const cluster = new Cluster()
  const [a, b] = await cluster.addTwo()
  a.isPaused = true
  await cluster.advance(LIMITS.ownershipSilenceMs - 2 * LIMITS.ownershipRenewMs)
  a.isPaused = false
  await cluster.advance(CALM_MS)
  expect([cluster.counts(), a.lost, b.lost, a.handedOver]).toEqual([[32, 32], [], [], []])
})

test.each(['before', 'after'] as const)(
  'a table that does not answer (%s it has done what was asked) moves nothing',
  async (cut) => {
    const cluster = new Cluster()
    const [a, b] = await cluster.addTwo()
    // Right after one node has looked and right before it looks again, so the other had no chance to renew.
    await cluster.advance(LIMITS.ownershipRenewMs / 2 + 50)
    for (const node of cluster.nodes) node.cut = cut
    await cluster.advance(60_000 + LIMITS.ownershipRenewMs / 2)
    expect(cluster.counts()).toEqual([0, 0])
    for (const node of cluster.nodes) node.cut = 'no'
    await cluster.advance(CALM_MS)
    expect([cluster.counts(), a.lost, b.lost]).toEqual([[32, 32], [], []])
  },
)

test('a node that cannot save gives its partitions to one that can, and gets its share again', async () => {
  const cluster = new Cluster()
  const [a, b] = await cluster.addTwo()
  a.works = false
  await cluster.advance(LIMITS.ownershipUnfitMs - 1_000)
  expect([cluster.counts(), a.judged]).toEqual([[32, 32], []])
  await cluster.advance(LIMITS.ownershipUnfitMs / 2 + 3_000)
  expect([cluster.counts(), a.judged]).toEqual([[0, 64], [true]])
  a.works = true
  await cluster.advance(LIMITS.ownershipUnfitMs - 1_000)
  expect(cluster.counts()).toEqual([0, 64])
  await cluster.advance(4_000)
  expect([cluster.counts(), a.judged, b.judged, a.lost, b.lost]).toEqual([
    [32, 32],
    [true, false],
    [],
    [],
    [],
  ])
})

test('if no node can save, nothing moves, and neither does it after a short failure', async () => {
  const cluster = new Cluster()
  const [a, b] = await cluster.addTwo()
  for (const node of cluster.nodes) node.works = false
  await cluster.advance(60_000)
  expect([cluster.counts(), a.handedOver, b.handedOver]).toEqual([[32, 32], [], []])
  for (const node of cluster.nodes) node.works = true
  await cluster.advance(60_000)
  a.works = false
  await cluster.advance(LIMITS.ownershipUnfitMs / 2)
  a.works = true
  await cluster.advance(60_000)
  expect([cluster.counts(), a.handedOver, b.handedOver]).toEqual([[32, 32], [], []])
})

test('after all nodes were paused, none counts as dead', async () => {
  const cluster = new Cluster()
  const [a, b] = await cluster.addTwo()
  cluster.time.jump(120_000)
  expect(cluster.counts()).toEqual([0, 0])
  await cluster.advance(CALM_MS)
  expect([cluster.counts(), a.lost, b.lost]).toEqual([[32, 32], [], []])
})

type Step = {
  readonly kind: 'add' | 'die' | 'pause' | 'resume' | 'stop' | 'cut' | 'heal'
  readonly node: number
  readonly ms: number
}

async function take(cluster: Cluster, { kind, node, ms }: Step, gone: Set<TestNode>): Promise<void> {
  const living = cluster.nodes.filter((one) => !gone.has(one))
  const chosen = living[node % Math.max(1, living.length)]
  if (kind === 'add' && living.length < 6) cluster.add().handOverMs = ms % 900
  if (chosen !== undefined) {
    if (kind === 'die') {
      chosen.die()
      gone.add(chosen)
    } else if (kind === 'stop' && !chosen.isPaused) {
      gone.add(chosen)
      void chosen.ownership.close()
    } else if (kind === 'pause' || kind === 'resume') chosen.isPaused = kind === 'pause'
    else if (kind === 'cut') chosen.cut = ms % 2 === 0 ? 'before' : 'after'
    else if (kind === 'heal') chosen.cut = 'no'
  }
  await cluster.advance(ms)
}

test('whatever happens to nodes, no partition has two owners at a time, and in the end each has one', async () => {
  const step = fc.record({
    kind: fc.constantFrom<Step['kind']>('add', 'add', 'die', 'pause', 'resume', 'stop', 'cut', 'heal'),
    node: fc.nat(9),
    ms: fc.nat(4_000),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const cluster = new Cluster()
      const gone = new Set<TestNode>()
      cluster.add()
      for (const one of steps) await take(cluster, one, gone)
      for (const node of cluster.nodes) {
        if (!gone.has(node)) node.isPaused = false
        node.cut = 'no'
      }
      cluster.add()
      await cluster.advance(3 * CALM_MS)
      cluster.expectBalance(cluster.nodes.filter((node) => !gone.has(node)))
    }),
    { numRuns: 60 },
  )
})
