import { describe, expect, test } from 'vitest'
import type { Partition } from '../../schemas/ids.ts'
import { ALL_PARTITIONS, partitionOf } from '../domain/partition.ts'
import type { Fault } from '../ports/fault.ts'
import { idOf, registration, request, telemetry } from './shard/testing/items.ts'
import { ShardsNode, SharedPlace } from './testing/shards.ts'

const A = partitionOf(idOf('a'))
const claims = (partitions: readonly Partition[], epoch: number) =>
  partitions.map((partition) => ({ partition, epoch }))
const rename = (id: string, at: number, name: string) =>
  request(id, at, { kind: 'edit', replace: false, name }, name)

/** Two nodes and two devices. The first node owns everything. */
async function setUp(shardCount = 2) {
  const place = new SharedPlace()
  const [one, two] = [new ShardsNode('one', place, shardCount), new ShardsNode('two', place, shardCount)]
  one.shards.gained(claims(ALL_PARTITIONS, 1))
  for (const item of [registration('a', 0), registration('b', 1)]) {
    await place.append(item)
    await place.time.advance(500)
  }
  one.performed.length = 0
  return { place, one, two }
}

const codeOf = (promise: Promise<unknown>) => promise.then(String, (fault: Fault) => fault.code)

describe('a partition that is handed over', () => {
  test('is continued by the next owner, which makes each change once and in order', async () => {
    const { place, one, two } = await setUp()
    for (let n = 0; n < 20; n++) {
      await place.append(rename('a', 10 + n, `name-${n}`))
      if (n === 10) {
        const done = one.shards.handOver([A])
        await place.time.advance(0)
        await place.append(rename('a', 10.5 + n, `name-${n}.5`))
        await place.time.advance(3_000)
        await done
        two.shards.gained(claims([A], 2))
      }
      await place.time.advance(20)
    }
    await place.time.advance(1_000)
    const all = [...one.replied(), ...two.replied()]
    expect(all).toEqual([...new Set(all)])
    expect(all).toHaveLength(21)
    expect(two.replied().length).toBeGreaterThan(5)
    const name = two.nameOf('a')
    await place.time.advance(100)
    expect(await name).toBe('name-19')
    expect(await codeOf(one.nameOf('a'))).toBe('NOT_OWNED')
  })

  test('does not disturb the partitions kept: their questions wait a moment and are answered', async () => {
    const { place, one } = await setUp(1)
    const done = one.shards.handOver([A])
    const name = one.nameOf('b')
    await place.time.advance(3_000)
    await done
    expect(await name).toBe('b')
    expect([one.shards.owns(A), one.shards.owns(partitionOf(idOf('b')))]).toEqual([false, true])
  })

  test('is kept if this node loses it meanwhile and gains it again', async () => {
    const { place, one } = await setUp()
    // The store does not answer, so the last checkpoint takes a while.
    one.isStuck = true
    await place.append(rename('a', 10, 'n1'))
    const done = one.shards.handOver([A])
    await place.time.advance(500)
    one.shards.lost([A])
    one.shards.gained(claims([A], 2))
    one.isStuck = false
    await place.time.advance(5_000)
    await done
    expect(one.shards.owns(A)).toBe(true)
    const name = one.nameOf('a')
    await place.time.advance(1_000)
    expect(await codeOf(name)).toBe('n1')
  })

  test('is not worked on any more by the previous owner', async () => {
    const { place, one } = await setUp()
    const done = one.shards.handOver([A])
    await place.time.advance(3_000)
    await done
    one.performed.length = 0
    await place.append(rename('a', 5_000, 'later'))
    await place.time.advance(1_000)
    expect(one.performed.flatMap(({ applied }) => applied)).toEqual([])
  })
})

test('a question about a partition just gained waits until its devices are loaded', async () => {
  const { place, one, two } = await setUp(1)
  const B = partitionOf(idOf('b'))
  const done = one.shards.handOver([A, B])
  await place.time.advance(3_000)
  await done
  two.shards.gained(claims([B], 2))
  await place.time.advance(500)
  // The node cannot take up the gained partition before this is saved.
  two.isStuck = true
  await place.append(rename('b', 10, 'n2'))
  await place.time.advance(100)
  two.shards.gained(claims([A], 2))
  const name = two.nameOf('a')
  await place.time.advance(500)
  two.isStuck = false
  await place.time.advance(3_000)
  expect(await name).toBe('a')
})

test('a question about a gained partition waits until its devices are loaded, even if no entries are unread', async () => {
  const { place, one, two } = await setUp(1)
  const B = partitionOf(idOf('b'))
  await Promise.all([one.shards.handOver([B]), place.time.advance(3_000)])
  two.shards.gained(claims([B], 2))
  await place.time.advance(500)
  // The previous owner's checkpoint is at the end of the log.
  await Promise.all([one.shards.handOver([A]), place.time.advance(3_000)])
  two.isLoadHeld = true
  two.shards.gained(claims([A], 2))
  let isAnswered = false
  const name = two.nameOf('a').finally(() => {
    isAnswered = true
  })
  await place.time.advance(500)
  expect(isAnswered).toBe(false)
  two.isLoadHeld = false
  await place.time.advance(500)
  expect(await name).toBe('a')
})

describe('while a node takes up a gained partition, its other partitions go on', () => {
  /** The second node owns the partition of b and gains that of a. */
  async function gainingA(held: (two: ShardsNode) => void) {
    const { place, one, two } = await setUp(1)
    const B = partitionOf(idOf('b'))
    await place.append(telemetry('a', 5, { n: 0 }), telemetry('b', 5, { n: 0 }))
    await place.time.advance(500)
    one.shards.lost([A, B])
    two.shards.gained(claims([B], 2))
    await place.append(telemetry('a', 10, { n: 1 }))
    await place.time.advance(500)
    held(two)
    two.shards.gained(claims([A], 2))
    return { place, two }
  }

  async function expectOnlyB(place: SharedPlace, two: ShardsNode): Promise<void> {
    let isAnswered = false
    const a = two.nameOf('a').finally(() => {
      isAnswered = true
    })
    for (let n = 0; n < 4; n++) {
      await place.append(rename('b', 100 + n, `b${n}`), rename('a', 100 + n, `a${n}`))
      await place.time.advance(100)
      const name = two.nameOf('b')
      await place.time.advance(10)
      expect([await name, two.replied().at(-1)]).toEqual([`b${n}`, `b${n}`])
    }
    expect(isAnswered).toBe(false)
    Object.assign(two, { isLoadHeld: false, unread: undefined })
    await place.time.advance(1_000)
    expect(await a).toBe('a3')
    expect(two.replied().filter((id) => id.startsWith('a'))).toEqual(['a0', 'a1', 'a2', 'a3'])
    // From then on both partitions are read together.
    await place.append(rename('b', 200, 'b-last'), rename('a', 201, 'a-last'))
    await place.time.advance(500)
    expect(two.replied().slice(-2).sort()).toEqual(['a-last', 'b-last'])
  }

  test('while its devices are loaded', async () => {
    const { place, two } = await gainingA((node) => {
      node.isLoadHeld = true
    })
    await expectOnlyB(place, two)
  })

  test('while its entries are read', async () => {
    const { place, two } = await gainingA((node) => {
      node.unread = A
    })
    await expectOnlyB(place, two)
  })

  test('and no device counts as silent while its messages are not read', async () => {
    const { place, two } = await gainingA((node) => {
      node.unread = A
    })
    for (let s = 1; s <= 10; s++) {
      await place.time.advance(10_000)
      await place.append(telemetry('a', 1_000 + s * 10_000, { s }), telemetry('b', 1_000 + s * 10_000, { s }))
    }
    two.unread = undefined
    await place.time.advance(2_000)
    const events = two.performed.flatMap(({ feed }) => feed)
    expect(
      events.filter((event) => event.kind === 'device' && event.view.device.status === 'offline'),
    ).toEqual([])
  })

  test('and they go on if the gained partition is lost before it is loaded', async () => {
    const { place, two } = await gainingA((node) => {
      node.isLoadHeld = true
    })
    await place.time.advance(100)
    two.shards.lost([A])
    two.isLoadHeld = false
    await place.append(rename('b', 300, 'b'), rename('a', 301, 'a'))
    await place.time.advance(2_000)
    expect(two.replied()).toEqual(['b'])
  })
})

test('a node that owns only some of the partitions in a question refuses it: its count would be too low', async () => {
  const { place, one, two } = await setUp()
  const B = partitionOf(idOf('b'))
  await Promise.all([one.shards.handOver([B]), place.time.advance(3_000)])
  two.shards.gained(claims([B], 2))
  await place.time.advance(500)
  const jobs = async (partitions: readonly Partition[]) => {
    const question = { ask: { kind: 'jobs', deploymentIds: [] }, after: [], partitions } as const
    const answered = codeOf(two.shards.ask(question))
    await place.time.advance(500)
    return await answered
  }
  expect([await jobs([A, B]), await jobs([B])]).toEqual(['NOT_OWNED', ''])
})

test('the next owner shows nothing older than the previous owner has shown', async () => {
  const { place, one, two } = await setUp()
  await place.append(telemetry('a', 10, { n: 1 }))
  await place.time.advance(500)
  one.shards.lost([A])
  two.isBehind = true
  two.shards.gained(claims([A], 2))
  // The question comes from a node that does not know the end of the log.
  const answer = two.shards.ask({
    ask: { kind: 'snapshot', deviceId: idOf('a') },
    after: [],
    partitions: [A],
  })
  await place.time.advance(500)
  two.isBehind = false
  await place.time.advance(1_000)
  expect(await answer).toMatchObject({ data: { n: 1 } })
})

describe('a node that lost a partition without notice', () => {
  test('saves and performs nothing of it any more (R2)', async () => {
    const { place, one, two } = await setUp()
    one.isStuck = true
    await place.append(rename('a', 10, 'n1'))
    await place.time.advance(100)
    two.shards.gained(claims([A], 2))
    await place.time.advance(500)
    one.isStuck = false
    await place.time.advance(2_000)
    expect([one.replied(), two.replied()]).toEqual([[], ['n1']])
    expect(one.warnings).toContain('fenced')
  })

  test('goes on with its other partitions once it is told', async () => {
    const { place, one, two } = await setUp(1)
    two.shards.gained(claims([A], 2))
    await place.time.advance(500)
    await place.append(rename('b', 10, 'n2'), rename('a', 11, 'n1'))
    await place.time.advance(1_000)
    one.shards.lost([A])
    const name = one.nameOf('b')
    await place.time.advance(2_000)
    expect(await name).toBe('n2')
    expect([...one.replied(), ...two.replied()].sort()).toEqual(['n1', 'n2'])
  })

  test('answers nothing while another node may own it', async () => {
    const { place, one } = await setUp()
    one.isCertain = false
    const answer = codeOf(one.nameOf('a'))
    await place.time.advance(100)
    expect(await answer).toBe('NOT_OWNED')
  })

  test('takes it back under a later claim', async () => {
    const { place, one, two } = await setUp()
    two.shards.gained(claims([A], 2))
    one.shards.lost([A])
    await place.time.advance(500)
    const done = two.shards.handOver([A])
    await place.time.advance(3_000)
    await done
    one.shards.gained(claims([A], 3))
    await place.append(rename('a', 10, 'n1'))
    await place.time.advance(1_000)
    expect([one.replied(), two.replied()]).toEqual([['n1'], []])
  })
})
