// Stored answers that several processes share in Redis. Times come from the callers' clocks: those differ by seconds,
// which does not matter for answers that live for a day.

import { Millis } from '../../../schemas/ids.ts'
import { newPackr } from '../../domain/packing.ts'
import { LIMITS } from '../../limits.ts'
import type { BegunAnswer, FoundAnswer, KeptAnswer, KeptAnswers } from '../../ports/answers.ts'
import { Fault } from '../../ports/fault.ts'
import { type RedisLink, redisScript } from '../redis/redis-link.ts'

/** Keys: `answers` (hash), `answers-order` (ids by expiry), `answers-bytes` (total), `answers-begun` (ids by expiry). */
const OVER = `
local id, now = ARGV[4], ARGV[5]
local function findOver()
  local over, bytes = redis.call('ZRANGEBYSCORE', P .. 'answers-order', '-inf', now, 'LIMIT', 0, 1000), 0
  for _, other in ipairs(over) do bytes = bytes + redis.call('HSTRLEN', P .. 'answers', other) end
  return over, bytes
end
`

/** Arguments: 6 the time until which the request is in progress (0 only looks), 7 the bound on answers, 8 on bytes. */
const LOOK = redisScript(`${OVER}
local ends, most, bytesMost = ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
local kept = redis.call('ZSCORE', P .. 'answers-order', id)
if kept and tonumber(kept) > tonumber(now) then return {'kept', redis.call('HGET', P .. 'answers', id)} end
local count = redis.call('ZCARD', P .. 'answers-order')
local sum = tonumber(redis.call('GET', P .. 'answers-bytes') or 0)
if count >= most or sum >= bytesMost then
  local over, bytes = findOver()
  if count - #over >= most or sum - bytes >= bytesMost then return {'full'} end
end
if ends == '0' then return {'none'} end
redis.call('ZREMRANGEBYSCORE', P .. 'answers-begun', '-inf', now)
if redis.call('ZADD', P .. 'answers-begun', 'NX', ends, id) == 0 then return {'running'} end
return {'begun'}
`)

/** Arguments: 6 the answer, 7 its expiry. */
const PUT = redisScript(`${OVER}
local over, bytes = findOver()
-- First what is refused when memory is short: then nothing has been written.
redis.call('DECRBY', P .. 'answers-bytes', bytes)
if #over > 0 then
  redis.call('ZREM', P .. 'answers-order', unpack(over))
  redis.call('HDEL', P .. 'answers', unpack(over))
end
redis.call('INCRBY', P .. 'answers-bytes', #ARGV[6] - redis.call('HSTRLEN', P .. 'answers', id))
redis.call('HSET', P .. 'answers', id, ARGV[6])
redis.call('ZADD', P .. 'answers-order', ARGV[7], id)
redis.call('ZREM', P .. 'answers-begun', id)
`)

const GIVE_UP = redisScript(`
local ends = redis.call('ZSCORE', P .. 'answers-begun', ARGV[4])
if ends and tonumber(ends) == tonumber(ARGV[5]) then redis.call('ZREM', P .. 'answers-begun', ARGV[4]) end
`)

const packr = newPackr()

/** The caller closes the link. */
export function openRedisAnswers(
  link: RedisLink,
  bytesMax: number = LIMITS.keptAnswersBytesMax,
): KeptAnswers {
  async function look(
    id: string,
    now: Millis,
    until: Millis,
  ): Promise<readonly [string, Buffer | undefined]> {
    const args = [id, now, until, LIMITS.keptAnswersMax, bytesMax]
    // The script returns this type.
    const [kind, bytes] = (await link.run(LOOK, args)) as readonly [Buffer, Buffer?]
    return [kind.toString(), bytes]
  }

  return {
    async find(id, now): Promise<FoundAnswer> {
      const [kind, bytes] = await look(id, now, Millis(0))
      if (bytes !== undefined) return { kind: 'kept', answer: unpack(bytes) }
      return { kind: kind === 'full' ? 'full' : 'none' }
    },

    async begin(id, now): Promise<BegunAnswer> {
      const until = Millis(now + LIMITS.answerBegunMs)
      const [kind, bytes] = await look(id, now, until)
      if (bytes !== undefined) return { kind: 'kept', answer: unpack(bytes) }
      if (kind === 'begun') return { kind, until }
      return { kind: kind === 'full' ? 'full' : 'running' }
    },

    async put(answer, now) {
      await link.run(PUT, [answer.id, now, packr.pack(answer), answer.keptUntil])
    },

    async giveUp(id, until) {
      try {
        await link.run(GIVE_UP, [id, until])
      } catch (error) {
        // The entry expires by itself, as the port allows.
        if (!(error instanceof Fault)) throw error
      }
    },
  }
}

/** Only this file writes the values, and in this type. */
function unpack(bytes: Buffer): KeptAnswer {
  return packr.unpack(bytes) as KeptAnswer
}
