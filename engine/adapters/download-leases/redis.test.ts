import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { REDIS_SERVER, RedisServer } from '../redis/testing/redis-server.ts'
import { openRedisDownloadLeases } from './redis.ts'
import { placesContract } from './testing/contract.ts'

/** The adapter holds places for a second longer, so that clocks may differ. */
const LONGER_MS = 1_000

describe.skipIf(REDIS_SERVER === undefined)('with a redis-server (needs one in the PATH)', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server.stop())
  let count = 0

  async function redisMs(): Promise<number> {
    const [seconds, micros] = await server.run((redis) => redis.time())
    return Number(seconds) * 1000 + Number(micros) / 1000
  }

  placesContract({
    name: 'redis',
    open: async (limits) => {
      const prefix = `p${count++}`
      const [one, other] = [await server.link({ prefix }), await server.link({ prefix })]
      return [openRedisDownloadLeases(one, limits), openRedisDownloadLeases(other, limits)]
    },
    pass: async (heldMs) => {
      for (const end = (await redisMs()) + heldMs + LONGER_MS; (await redisMs()) <= end; ) await sleep(20)
    },
  })

  test('places outlive a kill of Redis, and nothing is left of those that were given back', async () => {
    const alone = await RedisServer.start()
    const limits = { readersMax: 1, streamsPerReaderMax: 1, heldMs: 600_000 }
    const a = { reader: 'a', stream: '1' }
    const open = async () => openRedisDownloadLeases(await alone.link({ prefix: 'kill' }), limits)
    await (await open()).acquire(a)
    await alone.kill()
    await alone.start()
    const places = await open()
    expect(await places.acquire({ reader: 'b', stream: '2' })).toBe('busy')
    expect(await places.renew([a])).toEqual([true])
    await places.release(a)
    expect(await alone.run((redis) => redis.keys('*place*'))).toEqual([])
    await alone.stop()
  })
})
