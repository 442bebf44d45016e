// Open tickets that several processes share, in Redis, and by its clock.
import { LIMITS } from '../../limits.ts'
import type { OpenTickets } from '../../ports/tickets.ts'
import { type RedisLink, redisScript } from '../redis/redis-link.ts'

/** `ticket:<id>` the owner and what is sealed · `tickets`, and `tickets-of:<owner>`, ids by end. */
const TAKE = `
local function take(id)
  local owner = redis.call('HGET', P .. 'ticket:' .. id, 'owner')
  if not owner then return nil end
  local sealed = redis.call('HGET', P .. 'ticket:' .. id, 'sealed')
  redis.call('DEL', P .. 'ticket:' .. id)
  redis.call('ZREM', P .. 'tickets', id)
  redis.call('ZREM', P .. 'tickets-of:' .. owner, id)
  return sealed
end
`
const TAKE_ONE = redisScript(`${TAKE}
return take(ARGV[4])
`)

/** 4 the id, 5 the owner, 6 what is sealed, 7 how long it lives, 8 how many of an owner, 9 of all. */
const PUT = redisScript(`${TAKE}
local id, owner, life, ownMost, most = ARGV[4], ARGV[5], ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
local time = redis.call('TIME')
-- Those put within a millisecond keep their order, too.
local now = time[1] * 1000 + time[2] / 1000
local own = P .. 'tickets-of:' .. owner
redis.call('ZREMRANGEBYSCORE', P .. 'tickets', '-inf', now)
redis.call('ZREMRANGEBYSCORE', own, '-inf', now)
if redis.call('ZCARD', own) >= ownMost then
  local oldest = redis.call('ZRANGE', own, 0, 0)[1]
  if not take(oldest) then redis.call('ZREM', own, oldest) end
end
if redis.call('ZCARD', P .. 'tickets') >= most then return 0 end
redis.call('HSET', P .. 'ticket:' .. id, 'owner', owner, 'sealed', ARGV[6])
redis.call('PEXPIRE', P .. 'ticket:' .. id, life)
redis.call('ZADD', P .. 'tickets', now + life, id)
redis.call('ZADD', own, now + life, id)
redis.call('PEXPIRE', own, life)
return 1
`)

/** The link is closed by whoever opened it. */
export function openRedisTickets(link: RedisLink, lifeMs: number = LIMITS.ticketMs): OpenTickets {
  return {
    async put({ id, owner, sealed }) {
      const bounds = [lifeMs, LIMITS.ticketsPerUserMax, LIMITS.ticketsMax]
      return (await link.run(PUT, [id, owner, Buffer.from(sealed), ...bounds])) === 1
    },
    async take(id) {
      const sealed = await link.run(TAKE_ONE, [id])
      return sealed instanceof Uint8Array ? sealed : undefined
    },
  }
}
