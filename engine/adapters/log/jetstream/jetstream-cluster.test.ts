// The log on a cluster of three servers, of which any one may fail.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Partition } from '../../../../schemas/ids.ts'
import { NATS_SERVER, NatsServer } from '../../nats/testing/nats-server.ts'
import { freePort } from '../../testing/free-port.ts'
import { drain, NOTHING, show } from '../testing/contract.ts'
import { follow, JetStreamBench, load, numbers, until } from '../testing/jetstream.ts'

describe.skipIf(NATS_SERVER === undefined)('three servers (need a nats-server that `npm test` finds)', () => {
  const bench = new JetStreamBench()
  const servers = new Map<string, NatsServer>()

  beforeAll(async () => {
    const ports = [await freePort(), await freePort(), await freePort()]
    const routes = ports.map((port) => `"nats://127.0.0.1:${port}"`).join(', ')
    const start = async (port: number, i: number) => {
      const lines = `server_name: n${i}\ncluster { name: c, listen: "127.0.0.1:${port}", routes: [${routes}] }`
      servers.set(`n${i}`, await NatsServer.start({ lines }))
    }
    await Promise.all(ports.map(start))
  })
  afterEach(() => bench.clear())
  afterAll(async () => {
    for (const server of servers.values()) await server.remove()
  })

  test('a change of leader loses and repeats nothing, and readers continue', async () => {
    const link = await bench.link([...servers.values()].map(({ url }) => url))
    const name = bench.newName()
    const log = await bench.open(link, { name, replicas: 3 })
    const reader = log.reader([Partition(1)], NOTHING)
    const { seen, done } = follow(reader)
    const loaded = load(log)
    for (let kills = 1; kills <= 2; kills++) {
      const before = loaded.acknowledged.length
      await until(() => loaded.acknowledged.length >= before + 20)
      const { cluster } = await link.manager.streams.info(`${name}-log`)
      const leader = servers.get(cluster?.leader ?? '')
      if (leader === undefined) throw new Error('the stream has no leader')
      await leader.kill()
      const atKill = loaded.acknowledged.length
      // Two of three servers are enough.
      await until(() => loaded.acknowledged.length >= atKill + 20)
      await leader.restart()
    }
    await loaded.stop()
    const count = loaded.acknowledged.length
    await until(() => seen.length >= count)
    expect(seen).toEqual(numbers(1, count))
    reader.close()
    await done
    expect(show(await drain(log.reader([Partition(2)], NOTHING)))).toEqual(numbers(2, count))
  })
})
