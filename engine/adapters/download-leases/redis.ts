// Leases for downloads that several processes share in Redis and measure by its clock. They are persisted like everything
// else, so a Redis that restarts still knows all leases that are held.
import type { DownloadLease, DownloadLeaseLimits, DownloadLeases } from '../../ports/download-leases.ts'
import { type RedisLink, redisScript } from '../redis/redis-link.ts'

/** Keys: `places` (streams by expiry) and `place-readers` (number of streams per reader). The name of a stream is its
 *  reader, a line break and its own name. */
const SHARED = `
local streams, readers = P .. 'places', P .. 'place-readers'
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function drop(member)
  if redis.call('ZREM', streams, member) == 0 then return end
  local reader = string.match(member, '^[^\\n]*')
  if redis.call('HINCRBY', readers, reader, -1) <= 0 then redis.call('HDEL', readers, reader) end
end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', streams, '-inf', now)) do drop(member) end
`
/** Arguments: 4 reader, 5 stream, 6 time for which it is held, 7 bound on streams per reader, 8 bound on readers. */
const ACQUIRE = redisScript(`${SHARED}
local reader, member = ARGV[4], ARGV[4] .. '\\n' .. ARGV[5]
local own = tonumber(redis.call('HGET', readers, reader) or 0)
if own >= tonumber(ARGV[7]) then return 'reader' end
if own == 0 and redis.call('HLEN', readers) >= tonumber(ARGV[8]) then return 'busy' end
redis.call('ZADD', streams, now + ARGV[6], member)
redis.call('HINCRBY', readers, reader, 1)
return 'taken'
`)
/** Arguments: 4 time for which they are held, then the streams. */
const RENEW = redisScript(`${SHARED}
local found = {}
for i = 5, #ARGV do
  found[#found + 1] = redis.call('ZSCORE', streams, ARGV[i]) and 1 or 0
  redis.call('ZADD', streams, 'XX', now + ARGV[4], ARGV[i])
end
return found
`)
const RELEASE = redisScript(`${SHARED}
drop(ARGV[4])
return 0
`)

/** More than the difference of any two clocks over the time for which a lease is held. */
const MARGIN_MS = 1_000

/** The caller closes the link. */
export function openRedisDownloadLeases(link: RedisLink, limits: DownloadLeaseLimits): DownloadLeases {
  const { heldMs, readersMax, streamsPerReaderMax } = limits
  const expiryMs = heldMs + MARGIN_MS
  return {
    heldMs,
    async acquire({ reader, stream }) {
      const outcome = String(
        await link.run(ACQUIRE, [reader, stream, expiryMs, streamsPerReaderMax, readersMax]),
      )
      return outcome === 'reader' || outcome === 'busy' ? outcome : 'taken'
    },
    async renew(leases) {
      // The script returns this type.
      const held = (await link.run(RENEW, [expiryMs, ...leases.map(memberOf)])) as readonly number[]
      return held.map((isHeld) => isHeld === 1)
    },
    async release(lease) {
      await link.run(RELEASE, [memberOf(lease)])
    },
  }
}

const memberOf = ({ reader, stream }: DownloadLease) => `${reader}\n${stream}`
