import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { DeviceId } from '../../../schemas/ids.ts'
import { MemoryMesh, MemoryNet } from '../../adapters/mesh/testing/memory.ts'
import { LIMITS } from '../../limits.ts'
import type { FeedEvent, Want, Wants } from '../../ports/feed.ts'
import { SimTime } from '../../testing/time.ts'
import { NO_WANTS } from '../feed.ts'
import { idOf, START } from '../shard/testing/items.ts'
import { pack } from '../versioned.ts'
import { RemoteFeed } from './remote-feed.ts'

const [a, b, c] = ['a', 'b', 'c'].map(idOf) as [DeviceId, DeviceId, DeviceId]
const ALL: Want = { all: true, devices: new Set() }
const of = (...ids: readonly DeviceId[]): Want => ({ all: false, devices: new Set(ids) })
const telemetryOf = (deviceId: DeviceId, n = 0): FeedEvent => ({
  kind: 'telemetry',
  deviceId,
  at: START,
  data: { n },
  seq: n,
})
const logOf = (deviceId: DeviceId, body = ''): FeedEvent => ({
  kind: 'log',
  event: 'device.log',
  deviceId,
  at: START,
  row: { deviceId, kind: 'log', at: 1 as never, version: 1, body },
})
const shadowOf = (deviceId: DeviceId): FeedEvent => ({
  kind: 'shadow',
  event: 'shadow.updated',
  deviceId,
  at: START,
  change: {
    version: 1,
    at: START,
    section: 'desired',
    by: { kind: 'user', id: 'u' },
    patch: {},
    previous: {},
    requestId: undefined,
  },
})

class Node {
  readonly mesh: MemoryMesh
  readonly feed: RemoteFeed
  readonly heard: FeedEvent[] = []
  readonly warnings: string[] = []
  /** How often the listener was told that events were lost. */
  gaps = 0
  /** The events that this node's shards are asked to make. */
  wants = NO_WANTS
  stop = () => {}

  constructor(net: MemoryNet, time: SimTime, name: string) {
    this.mesh = new MemoryMesh(net, name)
    this.feed = new RemoteFeed({
      mesh: this.mesh,
      clock: time,
      schedule: time.newIncarnation().schedule,
      onWant: (wants) => {
        this.wants = wants
      },
      signal: ({ kind }) => this.warnings.push(kind),
    })
    this.feed.start()
  }

  listen(wants: Partial<Wants> = {}): this {
    this.stop = this.feed.listen(
      (events) => this.heard.push(...events),
      () => this.gaps++,
    )
    this.feed.want({ ...NO_WANTS, ...wants })
    return this
  }

  taken(): readonly FeedEvent[] {
    return this.heard.splice(0)
  }
}

class Nodes {
  readonly time = new SimTime(START)
  readonly net = new MemoryNet()
  #count = 0

  add(): Node {
    return new Node(this.net, this.time, `n${this.#count++}`)
  }

  settle(ms = 0): Promise<void> {
    return this.time.advance(ms)
  }
}

test('outside a cluster it is the feed of this node only', () => {
  const wanted: Wants[] = []
  const feed = new RemoteFeed({
    mesh: undefined,
    clock: new SimTime(START),
    schedule: new SimTime(START).newIncarnation().schedule,
    onWant: (wants) => wanted.push(wants),
    signal: ({ kind }) => expect.unreachable(kind),
  })
  feed.start()
  const heard: FeedEvent[] = []
  feed.listen((events) => heard.push(...events))
  feed.want({ ...NO_WANTS, telemetry: of(a) })
  feed.publish([telemetryOf(a)])
  feed.close()
  expect(wanted).toEqual([{ ...NO_WANTS, telemetry: of(a) }])
  expect(heard).toEqual([telemetryOf(a)])
})

test('a node gets the events of other nodes that it wants, and those of kinds that all get, unchanged', async () => {
  const nodes = new Nodes()
  const engine = nodes.add()
  const [wide, narrow, deaf] = [
    nodes.add().listen({ telemetry: ALL }),
    nodes.add().listen({ telemetry: of(a), log: of(b) }),
    nodes.add(),
  ]
  await nodes.settle()
  const events = [telemetryOf(a), logOf(a), shadowOf(c), telemetryOf(b), logOf(b)]
  engine.feed.publish(events)
  await nodes.settle()
  expect(wide.taken()).toStrictEqual([telemetryOf(a), shadowOf(c), telemetryOf(b)])
  expect(narrow.taken()).toStrictEqual([telemetryOf(a), shadowOf(c), logOf(b)])
  expect([deaf.taken(), engine.taken()]).toEqual([[], []])
})

test('a node gets each of its own events once, and only those that it wants', async () => {
  const nodes = new Nodes()
  const [one, other] = [nodes.add().listen({ telemetry: of(a) }), nodes.add().listen({ telemetry: ALL })]
  await nodes.settle()
  one.feed.publish([telemetryOf(a), telemetryOf(b), shadowOf(c)])
  await nodes.settle()
  expect(one.taken()).toEqual([telemetryOf(a), shadowOf(c)])
  expect(other.taken()).toEqual([telemetryOf(a), telemetryOf(b), shadowOf(c)])
})

test('shards make the events that any node wants, until the node no longer wants them or no longer listens', async () => {
  const nodes = new Nodes()
  const engine = nodes.add()
  const [one, other] = [nodes.add().listen({ telemetry: of(a) }), nodes.add().listen({ telemetry: of(a, b) })]
  await nodes.settle()
  expect(engine.wants).toEqual({ ...NO_WANTS, telemetry: of(a, b) })
  other.feed.want({ ...NO_WANTS, telemetry: of(b), timeline: ALL })
  await nodes.settle()
  expect(engine.wants).toEqual({ ...NO_WANTS, telemetry: of(a, b), timeline: ALL })
  expect(one.wants).toEqual(engine.wants)
  one.feed.want(NO_WANTS)
  await nodes.settle()
  expect(engine.wants).toEqual({ ...NO_WANTS, telemetry: of(b), timeline: ALL })
  other.stop()
  await nodes.settle()
  expect(engine.wants).toEqual(NO_WANTS)
  one.feed.want({ ...NO_WANTS, log: of(c) })
  await nodes.settle()
  one.feed.close()
  await nodes.settle()
  expect(engine.wants).toEqual(NO_WANTS)
})

test('a node that joins later learns at once which events are wanted', async () => {
  const nodes = new Nodes()
  nodes.add().listen({ telemetry: of(a) })
  await nodes.settle(LIMITS.feedWantsEveryMs / 2)
  const late = nodes.add()
  await nodes.settle()
  expect(late.wants).toEqual({ ...NO_WANTS, telemetry: of(a) })
})

test('a node that does not repeat its subscription is forgotten, until it sends it again (F2)', async () => {
  const nodes = new Nodes()
  const engine = nodes.add()
  const api = nodes.add().listen({ telemetry: of(a) })
  await nodes.settle(LIMITS.feedWantsForgottenMs * 3)
  expect(engine.wants.telemetry).toEqual(of(a))
  api.mesh.isCut = true
  await nodes.settle(LIMITS.feedWantsForgottenMs - LIMITS.feedWantsEveryMs)
  expect(engine.wants.telemetry).toEqual(of(a))
  await nodes.settle(LIMITS.feedWantsEveryMs * 2)
  expect(engine.wants).toEqual(NO_WANTS)
  api.mesh.isCut = false
  await nodes.settle(LIMITS.feedWantsEveryMs)
  expect(engine.wants.telemetry).toEqual(of(a))
})

test('a node that is cut off forgets no other node', async () => {
  const nodes = new Nodes()
  const engine = nodes.add()
  nodes.add().listen({ telemetry: of(a) })
  await nodes.settle()
  engine.mesh.isCut = true
  await nodes.settle(LIMITS.feedWantsForgottenMs * 3)
  expect(engine.wants.telemetry).toEqual(of(a))
})

test('a change on top of a lost one is ignored, and the whole subscription follows soon (F2)', async () => {
  const nodes = new Nodes()
  const engine = nodes.add()
  const api = nodes.add().listen({ telemetry: of(a) })
  await nodes.settle()
  api.mesh.isCut = true
  api.feed.want({ ...NO_WANTS, telemetry: of(a, b) })
  await nodes.settle()
  api.mesh.isCut = false
  api.feed.want({ ...NO_WANTS, telemetry: of(a, b, c) })
  await nodes.settle()
  expect(engine.wants.telemetry).toEqual(of(a))
  await nodes.settle(LIMITS.feedWantsEveryMs)
  expect(engine.wants.telemetry).toEqual(of(a, b, c))
})

test.each([
  ['before the next event', LIMITS.feedWantsEveryMs / 2, [shadowOf(b)]],
  ['although nothing more happens', LIMITS.feedWantsEveryMs, []],
  ['although it was forgotten meanwhile', LIMITS.feedWantsForgottenMs + 2 * LIMITS.feedWantsEveryMs, []],
])('a node whose events were lost on their way is told so once, %s', async (_, cutMs, later) => {
  const nodes = new Nodes()
  const engine = nodes.add()
  const api = nodes.add().listen()
  await nodes.settle()
  engine.feed.publish([shadowOf(c)])
  await nodes.settle()
  api.mesh.isCut = true
  await nodes.settle(cutMs - 1)
  engine.feed.publish([shadowOf(a)])
  await nodes.settle()
  api.mesh.isCut = false
  expect(api.gaps).toBe(0)
  engine.feed.publish(later)
  await nodes.settle(later.length > 0 ? 0 : LIMITS.feedWantsForgottenMs)
  expect([api.gaps, api.taken()]).toEqual([1, [shadowOf(c), ...later]])
  await nodes.settle(LIMITS.feedWantsForgottenMs)
  expect(api.gaps).toBe(1)
})

test('a node that was not cut off, or did not listen, is never told of lost events', async () => {
  const nodes = new Nodes()
  const engine = nodes.add()
  const api = nodes.add().listen()
  await nodes.settle()
  const tell = async () => {
    engine.feed.publish([shadowOf(a)])
    await nodes.settle(LIMITS.feedWantsEveryMs)
  }
  await tell()
  api.stop()
  await nodes.settle()
  await tell()
  api.listen()
  await nodes.settle()
  await tell()
  nodes.add().listen()
  await tell()
  expect(api.gaps).toBe(0)
})

test('a question after a subscription reaches shards that know the subscription (F1)', async () => {
  const nodes = new Nodes()
  const engine = nodes.add()
  const api = nodes.add().listen()
  const { schedule } = nodes.time.newIncarnation()
  let known: Wants | undefined
  engine.mesh.serve(async (question) => {
    // Questions go to shards at the end of the turn.
    await schedule.sleep(0)
    known = engine.wants
    return question
  })
  await nodes.settle()
  api.feed.want({ ...NO_WANTS, telemetry: of(a) })
  const asked = api.mesh.ask(engine.mesh.address, new Uint8Array(1), 10_000)
  await nodes.settle()
  await asked
  expect(known?.telemetry).toEqual(of(a))
})

test('events that are too many for one message are split, and stay in order', async () => {
  const nodes = new Nodes()
  const engine = nodes.add()
  const api = nodes.add().listen({ log: ALL })
  await nodes.settle()
  const sizes: number[] = []
  nodes.add().mesh.subscribe(`feed.${api.mesh.address}`, ({ length }) => sizes.push(length))
  const events = Array.from({ length: 500 }, (_, n) => logOf(a, `${n} ${'x'.repeat(9_000)}`))
  engine.feed.publish(events)
  await nodes.settle()
  expect(api.taken()).toEqual(events)
  expect(sizes.length).toBeGreaterThan(4)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(LIMITS.feedNewsBytesMax)
  const single = [logOf(a, 'x'.repeat(LIMITS.feedNewsBytesMax))]
  engine.feed.publish(single)
  await nodes.settle()
  expect(api.taken()).toEqual(single)
})

test('a node that wants very many devices gets all from other nodes, and only those from its own shards', async () => {
  const nodes = new Nodes()
  const engine = nodes.add()
  const many = Array.from({ length: LIMITS.feedDevicesWantedMax + 1 }, (_, n) => idOf(`d${n}`))
  const api = nodes.add().listen({ telemetry: of(...many.slice(1)) })
  await nodes.settle()
  expect(engine.wants.telemetry).toEqual(of(...many.slice(1)))
  api.feed.want({ ...NO_WANTS, telemetry: of(...many) })
  await nodes.settle()
  expect([engine.wants.telemetry, api.wants.telemetry]).toEqual([ALL, of(...many)])
  api.feed.want({ ...NO_WANTS, telemetry: of(a) })
  await nodes.settle()
  expect(engine.wants.telemetry).toEqual(of(a))
})

test('news from a node of another release is ignored, and reported once', async () => {
  const nodes = new Nodes()
  const [engine, stranger] = [nodes.add(), nodes.add()]
  await nodes.settle()
  for (const topic of ['wants', `feed.${engine.mesh.address}`])
    for (const bytes of [[], [99, 1, 2], [...pack({}).subarray(0, 1)]])
      stranger.mesh.publish(topic, Uint8Array.from(bytes))
  await nodes.settle()
  expect(engine.warnings).toEqual(['news_unreadable'])
})

interface Step {
  readonly kind: 'want' | 'listen' | 'stop' | 'tell' | 'cut' | 'back' | 'pass'
  readonly node: number
  readonly ids: readonly DeviceId[]
}

test('however nodes join and leave, in the end each gets the events that it wants, once and in order', async () => {
  const anyStep: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom('want', 'listen', 'stop', 'tell', 'cut', 'back', 'pass'),
    node: fc.nat({ max: 2 }),
    ids: fc.subarray([a, b, c]),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 25 }), async (steps) => {
      const nodes = new Nodes()
      const all = [nodes.add(), nodes.add(), nodes.add()]
      const wants = all.map(() => of())
      const isListening = all.map(() => false)
      const set = (i: number, listens: boolean) => {
        const node = all[i]
        if (node === undefined || isListening[i] === listens) return
        isListening[i] = listens
        if (!listens) node.stop()
        else node.stop = node.feed.listen((events) => node.heard.push(...events))
      }
      for (const { kind, node: i, ids } of steps) {
        const node = all[i]
        if (node === undefined) continue
        if (kind === 'listen' || kind === 'stop') set(i, kind === 'listen')
        else if (kind === 'want') {
          wants[i] = of(...ids)
          node.feed.want({ ...NO_WANTS, telemetry: of(...ids) })
        } else if (kind === 'tell') node.feed.publish(ids.map((id) => telemetryOf(id)))
        else if (kind === 'pass') await nodes.settle(LIMITS.feedWantsEveryMs / 2)
        else node.mesh.isCut = kind === 'cut'
      }
      for (const node of all) node.mesh.isCut = false
      await nodes.settle(LIMITS.feedWantsForgottenMs + 2 * LIMITS.feedWantsEveryMs)
      for (const node of all) node.taken()
      for (const teller of all) {
        const events = [a, b, c, a, c].map((id, n) => telemetryOf(id, n))
        teller.feed.publish(events)
        await nodes.settle()
        all.forEach((node, i) => {
          const wanted = isListening[i] ? events.filter((event) => isOf(event, wants[i])) : []
          expect(node.taken()).toEqual(wanted)
        })
        const union = new Set(wants.flatMap((want, i) => (isListening[i] ? [...want.devices] : [])))
        for (const id of union) expect(teller.wants.telemetry.devices).toContain(id)
      }
    }),
    { numRuns: 200 },
  )
})

function isOf(event: FeedEvent, want: Want | undefined): boolean {
  return event.kind === 'telemetry' && want !== undefined && want.devices.has(event.deviceId)
}
