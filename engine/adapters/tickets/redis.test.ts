import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe } from 'vitest'
import { REDIS_SERVER, RedisServer } from '../redis/testing/redis-server.ts'
import { openRedisTickets } from './redis.ts'
import { ticketsContract } from './testing/contract.ts'

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

  ticketsContract({
    name: 'redis',
    open: async (lifeMs) => {
      const prefix = `p${count++}`
      const [one, other] = [await server.link({ prefix }), await server.link({ prefix })]
      return [openRedisTickets(one, lifeMs), openRedisTickets(other, lifeMs)]
    },
    pass: async (lifeMs) => {
      for (const end = (await redisMs()) + lifeMs; (await redisMs()) <= end; ) await sleep(5)
    },
  })
})
