import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { REDIS_SERVER, RedisServer, until } from '../redis/testing/redis-server.ts'
import { openRedisRates } from './redis.ts'
import { ratesContract } from './testing/contract.ts'

describe.skipIf(REDIS_SERVER === undefined)('with a redis-server (needs one in the PATH)', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await RedisServer.start()
  })
  afterAll(() => server.stop())
  let count = 0

  ratesContract({
    name: 'redis',
    open: async () => {
      const prefix = `p${count++}`
      const [one, other] = [await server.link({ prefix }), await server.link({ prefix })]
      return [openRedisRates(one), openRedisRates(other)]
    },
  })

  test('a key that is paid off is removed', async () => {
    const rates = openRedisRates(await server.link({ prefix: 'paid' }))
    await rates.take([{ key: 'a', stepMs: 30, count: 1, ageMs: 0 }])
    const left = async () => (await server.run((redis) => redis.keys('{paid}:rate:*'))).length
    let keys = await left()
    await until(() => {
      void left().then((found) => (keys = found))
      return keys === 0
    }, 'the key to go')
  })

  test('nothing is written to disk', async () => {
    // Redis writes that a key has expired, and keys of other tests do.
    const alone = await RedisServer.start()
    const rates = openRedisRates(await alone.link({ prefix: 'disk' }))
    const written = async () => /aof_current_size:(\d+)/.exec(await alone.run((redis) => redis.info()))?.[1]
    const before = await written()
    for (let i = 0; i < 50; i++) await rates.take([{ key: `k${i}`, stepMs: 3_600_000, count: 1, ageMs: 0 }])
    expect(await written()).toBe(before)
    expect(Number(before)).toBeGreaterThan(0)
    await alone.stop()
  })
})
