// Agreement between nodes over a real nats-server, in real time.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Partition } from '../../../schemas/ids.ts'
import { type NatsLink, openNats } from '../../adapters/nats/nats-link.ts'
import { NATS_SERVER, NatsServer } from '../../adapters/nats/testing/nats-server.ts'
import { openKvOwnership } from '../../adapters/ownership/jetstream-kv.ts'
import { CutProxy } from '../../adapters/testing/proxy.ts'
import { LIMITS } from '../../limits.ts'
import { realSchedule } from '../schedule.ts'
import { Ownership } from './ownership.ts'

const DEADLINE = { timeout: 60_000, interval: 10 }

describe.skipIf(NATS_SERVER === undefined)('over NATS (needs a nats-server that `npm test` finds)', () => {
  const links: NatsLink[] = []
  let server: NatsServer

  beforeAll(async () => {
    server = await NatsServer.start()
  })
  afterAll(async () => {
    for (const link of links) await link.close()
    await server.remove()
  })

  async function start(name: string, url: string, gained: () => void = () => {}) {
    const link = await openNats({ servers: [url], durability: 'process', warn: () => {} })
    links.push(link)
    const owned = new Set<Partition>()
    let lives = 0
    const forget = (partitions: readonly Partition[]) => {
      for (const partition of partitions) owned.delete(partition)
    }
    const ownership = new Ownership({
      table: await openKvOwnership(link, { replicas: 1 }),
      clock: { ticks: () => performance.now() },
      schedule: realSchedule,
      newNode: () => ({ id: `${name}-${++lives}`, address: name }),
      host: {
        gained: (claims) => {
          for (const { partition } of claims) owned.add(partition)
          gained()
        },
        lost: forget,
        handOver: async (partitions) => forget(partitions),
        failed: (error) => expect(error).toMatchObject({ code: 'OWNERSHIP_UNAVAILABLE' }),
      },
    })
    ownership.start()
    return { owned, ownership }
  }

  test('a node that is cut off stops before another takes over, and gets its share again', async () => {
    const proxy = await CutProxy.open(server.url)
    const a = await start('a', proxy.url)
    await expect.poll(() => a.owned.size, DEADLINE).toBe(64)
    const certain: boolean[] = []
    const b = await start('b', server.url, () => certain.push(a.ownership.isCertain()))
    await expect.poll(() => [a.owned.size, b.owned.size], DEADLINE).toEqual([32, 32])
    certain.length = 0
    proxy.isClosed = true
    proxy.cut()
    await expect.poll(() => b.owned.size, DEADLINE).toBe(64)
    expect(certain).toEqual([false])
    expect(a.ownership.isCertain()).toBe(false)
    proxy.isClosed = false
    await expect.poll(() => [a.owned.size, b.owned.size], DEADLINE).toEqual([32, 32])
    // While a server restarts, nobody loses anything.
    const before = [new Set(a.owned), new Set(b.owned)]
    await server.kill()
    await server.restart()
    await expect.poll(() => a.ownership.isCertain() && b.ownership.isCertain(), DEADLINE).toBe(true)
    expect([a.owned, b.owned]).toEqual(before)
    await a.ownership.close()
    await expect.poll(() => b.owned.size, { ...DEADLINE, timeout: LIMITS.ownershipRenewMs * 4 }).toBe(64)
    await b.ownership.close()
    proxy.close()
  })
})
