import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Partition } from '../../../schemas/ids.ts'
import { chunks } from '../../domain/chunks.ts'
import { type NatsLink, openNats } from '../nats/nats-link.ts'
import { NATS_SERVER, NatsServer } from '../nats/testing/nats-server.ts'
import { freePort } from '../testing/free-port.ts'
import { CutProxy } from '../testing/proxy.ts'
import { openKvOwnership } from './jetstream-kv.ts'
import { ownershipContract } from './testing/contract.ts'

describe.skipIf(NATS_SERVER === undefined)('with a nats-server (needs one that `npm test` finds)', () => {
  const links: NatsLink[] = []
  let server: NatsServer
  let count = 0

  async function link(url = server.url): Promise<NatsLink> {
    const one = await openNats({ servers: [url], durability: 'process', warn: () => {} })
    links.push(one)
    return one
  }

  beforeAll(async () => {
    server = await NatsServer.start()
  })
  afterEach(async () => {
    for (const one of links.splice(0)) await one.close()
  })
  afterAll(() => server.remove())

  ownershipContract({
    name: 'jetstream-kv',
    open: async () => {
      const options = { name: `owners${count++}`, replicas: 1 }
      return [await openKvOwnership(await link(), options), await openKvOwnership(await link(), options)]
    },
  })

  test('epochs keep growing across a restart of the server', async () => {
    const options = { name: `owners${count++}`, replicas: 1 }
    const first = (await (await openKvOwnership(await link(), options)).claim(Partition(1), 'a', 0)) ?? 0
    await server.kill()
    await server.restart()
    const table = await openKvOwnership(await link(), options)
    expect(await table.claim(Partition(1), 'b', first)).toBeGreaterThan(first)
  })

  test('epochs are above those of the store, though NATS was wiped or put back', async () => {
    const options = { name: `owners${count++}`, replicas: 1 }
    const [one, other] = [
      await openKvOwnership(await link(), { ...options, epochMin: 2_066 }),
      await openKvOwnership(await link(), { ...options, epochMin: 2_066 }),
    ]
    const epoch = (await one.claim(Partition(1), 'a', 0)) ?? 0
    expect(epoch).toBeGreaterThan(2_066)
    // A node that starts later, and found the table as low, takes nothing away.
    await openKvOwnership(await link(), { ...options, epochMin: 2_066 })
    expect((await other.read()).owners).toEqual([{ partition: 1, nodeId: 'a', epoch }])
    const set = await openKvOwnership(await link(), { ...options, epochMin: 9_000 })
    expect((await set.read()).owners).toEqual([])
    expect(await set.claim(Partition(1), 'b', 0)).toBeGreaterThan(9_000)
  })

  test('after more failed starts than NATS lists at once, nodes still start, and read the table', async () => {
    const options = { name: `owners${count++}`, replicas: 1, goneMs: 0 }
    const first = await openKvOwnership(await link(), options)
    const epoch = await first.claim(Partition(1), 'crashed-0', 0)
    const ids = Array.from({ length: 1_100 }, (_, i) => `crashed-${i}`)
    for (const some of chunks(ids, 50))
      await Promise.all(some.map((id) => first.renew({ id, address: id }, 0)))
    await expect(first.read()).rejects.toMatchObject({ code: 'OWNERSHIP_UNAVAILABLE' })
    const table = await openKvOwnership(await link(), options)
    const { nodes, owners } = await table.read()
    // Those of the newest entry's millisecond are left.
    expect(nodes.length).toBeLessThan(256)
    expect(owners).toEqual([{ partition: Partition(1), nodeId: 'crashed-0', epoch }])
  })

  test('a renewal whose answer is lost is not taken for an expulsion', async () => {
    const options = { name: `owners${count++}`, replicas: 1 }
    const proxy = await CutProxy.open(server.url)
    const table = await openKvOwnership(await link(proxy.url), options)
    const other = await openKvOwnership(await link(), options)
    const node = { id: 'a', address: 'here' }
    const revision = (await table.renew(node, 0)) ?? 0
    proxy.isDeaf = true
    const unanswered = expect(table.renew(node, revision)).rejects.toMatchObject({
      code: 'OWNERSHIP_UNAVAILABLE',
      retryable: true,
    })
    await expect.poll(async () => (await other.read()).nodes[0]?.revision).toBeGreaterThan(revision)
    await unanswered
    proxy.isDeaf = false
    proxy.cut()
    const renew = () => table.renew(node, revision).catch(() => 'not yet')
    await expect.poll(renew).toBeGreaterThan(revision)
    proxy.close()
  })
})

describe.skipIf(NATS_SERVER === undefined)('three servers (need a nats-server that `npm test` finds)', () => {
  const servers: NatsServer[] = []

  beforeAll(async () => {
    const ports = [await freePort(), await freePort(), await freePort()]
    const routes = ports.map((port) => `"nats://127.0.0.1:${port}"`).join(', ')
    const start = (port: number, i: number) => {
      const cluster = `cluster { name: c, listen: "127.0.0.1:${port}", routes: [${routes}] }`
      return NatsServer.start({ lines: `server_name: n${i}\n${cluster}` })
    }
    servers.push(...(await Promise.all(ports.map(start))))
  })
  afterAll(async () => {
    for (const server of servers) await server.remove()
  })

  test('a table that began on one server is on three once that is set', async () => {
    const urls = servers.map(({ url }) => url)
    const link = await openNats({ servers: urls, durability: 'process', warn: () => {} })
    const open = (replicas: number) => openKvOwnership(link, { name: 'grown', replicas })
    await expect.poll(() => open(1).then(Boolean, () => false), { timeout: 60_000 }).toBe(true)
    const epoch = (await (await open(1)).claim(Partition(1), 'a', 0)) ?? 0
    const grown = await open(3)
    const { config } = await link.manager.streams.info('KV_grown-owners')
    expect(config.num_replicas).toBe(3)
    expect((await grown.read()).owners).toEqual([{ partition: Partition(1), nodeId: 'a', epoch }])
    await link.close()
  })
})
