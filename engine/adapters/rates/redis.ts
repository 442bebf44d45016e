// Rates that several processes share in Redis and measure by its clock. A key holds the time at which everything taken
// is paid off (GCRA).
import type { SharedRates } from '../../ports/rates.ts'
import { type RedisLink, redisScript } from '../redis/redis-link.ts'

/** Arguments in groups of four: key, step, count, age. Nothing is written to disk or to replicas: an fsync for each
 *  call would cost more than a limit that is forgotten for a second after a failover. */
const TAKE = redisScript(`
redis.set_repl(redis.REPL_NONE)
local time = redis.call('TIME')
local now, found = time[1] * 1000 + time[2] / 1000, {}
for i = 4, #ARGV, 4 do
  local key, step, count, age = P .. 'rate:' .. ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local paid = math.max(tonumber(redis.call('GET', key) or 0), now - age) + step * count
  local ahead = paid - now
  if ahead > 0 then redis.call('SET', key, string.format('%.3f', paid), 'PX', math.ceil(ahead))
  else redis.call('DEL', key) end
  found[#found + 1] = string.format('%.3f', ahead)
end
return found
`)

/** The caller closes the link. */
export function openRedisRates(link: RedisLink): SharedRates {
  return {
    async take(taken) {
      const args = taken.flatMap(({ key, stepMs, count, ageMs }) => [key, stepMs, count, ageMs])
      // The script returns this type.
      const found = (await link.run(TAKE, args)) as readonly Buffer[]
      return found.map(Number)
    },
  }
}
