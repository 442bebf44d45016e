// Checks over a real server what a simulated mesh only promises: the order of subscriptions, questions and events.
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DeviceId } from '../../../schemas/ids.ts'
import { openNatsMesh } from '../../adapters/mesh/nats.ts'
import { type NatsLink, openNats } from '../../adapters/nats/nats-link.ts'
import { NATS_SERVER, NatsServer } from '../../adapters/nats/testing/nats-server.ts'
import { partitionOf } from '../../domain/partition.ts'
import type { FeedEvent, Wants } from '../../ports/feed.ts'
import type { Mesh } from '../../ports/mesh.ts'
import { NO_WANTS } from '../feed.ts'
import { realSchedule } from '../schedule.ts'
import { idOf, START } from '../shard/testing/items.ts'
import { RemoteFeed } from './remote-feed.ts'
import { askNode, serveNode } from './wire.ts'

class Node {
  readonly mesh: Mesh
  readonly feed: RemoteFeed
  wants: Wants = NO_WANTS

  constructor(link: NatsLink, address: string) {
    const warn = (message: string) => expect.unreachable(message)
    this.mesh = openNatsMesh(link, { address, warn })
    this.feed = new RemoteFeed({
      mesh: this.mesh,
      clock: { ticks: () => performance.now() },
      schedule: realSchedule,
      onWant: (wants) => {
        this.wants = wants
      },
      signal: ({ kind }) => expect.unreachable(kind),
    })
    this.feed.start()
  }

  async close(): Promise<void> {
    this.feed.close()
    await this.mesh.close()
  }
}

describe.skipIf(NATS_SERVER === undefined)('over NATS (needs a server that `npm test` finds)', () => {
  let server: NatsServer
  const links: NatsLink[] = []

  beforeAll(async () => {
    server = await NatsServer.start()
  })
  afterAll(async () => {
    for (const link of links) await link.close()
    await server.remove()
  })

  async function open(address: string): Promise<Node> {
    const link = await openNats({ servers: [server.url], durability: 'process', warn: () => {} })
    links.push(link)
    return new Node(link, address)
  }

  test('a subscriber misses no event of a device after the answer to its next question', async () => {
    const [engine, api] = [await open('engine'), await open('api')]
    const counts = new Map<DeviceId, number>()
    // Sends an event of each device with every answer.
    serveNode(engine.mesh, async (work) => {
      if (work.kind !== 'ask' || work.ask.kind !== 'snapshot') throw new Error('only snapshots')
      await turn()
      const { deviceId } = work.ask
      const { all, devices } = engine.wants.telemetry
      if (!all && !devices.has(deviceId)) throw new Error(`the subscription for ${deviceId} is not known`)
      const events = [...devices].map((id): FeedEvent => {
        const n = (counts.get(id) ?? 0) + 1
        counts.set(id, n)
        return { kind: 'telemetry', deviceId: id, at: START, data: { n }, seq: n }
      })
      engine.feed.publish(events)
      const n = counts.get(deviceId) ?? 0
      return { data: { n }, timestamp: START, seq: n }
    })
    // Sent after `serve` on the same connection, so an answer means that the server knows who serves.
    const unanswered = engine.mesh.ask('nobody', new Uint8Array(1), 60_000)
    await expect(unanswered).rejects.toMatchObject({ code: 'NODE_ABSENT' })
    const heard = new Map<DeviceId, number[]>()
    api.feed.listen((events) => {
      for (const event of events)
        if (event.kind === 'telemetry')
          heard.set(event.deviceId, [...(heard.get(event.deviceId) ?? []), Number(event.data['n'])])
    })
    const wanted = new Set<DeviceId>()
    for (let i = 0; i < 200; i++) {
      const deviceId = idOf(`d${i}`)
      wanted.add(deviceId)
      api.feed.want({ ...NO_WANTS, telemetry: { all: false, devices: wanted } })
      const partitions = [partitionOf(deviceId)]
      const work = { kind: 'ask', ask: { kind: 'snapshot', deviceId }, after: [], partitions } as const
      const answer = await askNode(api.mesh, work, { address: 'engine', timeoutMs: 10_000 })
      expect(answer).toMatchObject({ data: { n: 1 } })
    }
    await expect.poll(() => heard.get(idOf('d0'))?.length).toBe(200)
    for (const id of wanted)
      expect(heard.get(id)).toEqual(Array.from({ length: counts.get(id) ?? 0 }, (_, n) => n + 1))
    await Promise.all([engine.close(), api.close()])
  })

  test('a listener is told once that events were lost because the server was away', async () => {
    const [engine, api] = [await open('engine'), await open('api')]
    const telemetryOf = (n: number): FeedEvent => ({
      kind: 'telemetry',
      deviceId: idOf('a'),
      at: START,
      data: { n },
      seq: n,
    })
    const heard: number[] = []
    let gaps = 0
    api.feed.listen(
      (events) => {
        for (const event of events) if (event.kind === 'telemetry') heard.push(event.seq)
      },
      () => gaps++,
    )
    api.feed.want({ ...NO_WANTS, telemetry: { all: true, devices: new Set() } })
    await expect.poll(() => engine.wants.telemetry.all).toBe(true)
    engine.feed.publish([telemetryOf(1)])
    await expect.poll(() => heard).toEqual([1])
    await server.kill()
    await expect.poll(() => engine.mesh.isUp()).toBe(false)
    engine.feed.publish([telemetryOf(2)])
    await server.restart()
    await expect.poll(() => [gaps, heard]).toEqual([1, [1]])
    await Promise.all([engine.close(), api.close()])
  })
})
