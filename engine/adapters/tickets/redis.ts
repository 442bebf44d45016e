// Open tickets that several processes share in Redis and measure by its clock.
import { LIMITS } from '../../limits.ts'
import type { OpenTickets } from '../../ports/tickets.ts'
import { type RedisLink, redisScript } from '../redis/redis-link.ts'

/** Keys: `ticket:<id>` (owner and sealed content), `tickets` and `tickets-of:<owner>` (ids by expiry). */
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

/** Arguments: 4 id, 5 owner, 6 sealed content, 7 lifetime, 8 bound per owner, 9 bound on all tickets. */
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

/** The caller closes the link. */
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
