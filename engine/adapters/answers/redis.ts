// Stored answers that several processes share in Redis. Times come from the callers' clocks: those differ by seconds,
// which does not matter for answers that live for a day.

import { Millis } from '../../../schemas/ids.ts'
import { newPackr } from '../../domain/packing.ts'
import { LIMITS } from '../../limits.ts'
import { Fault } from '../../ports/fault.ts'
import type {
  AnswerKey,
  AnswerLookup,
  BeginResult,
  IdempotencyStore,
  StoredAnswer,
} from '../../ports/idempotency.ts'
import { type RedisLink, redisScript } from '../redis/redis-link.ts'
import { ANSWER_BOUNDS, type AnswerBounds, evictableUntil } from './answer-index.ts'

/** Keys: `answers` (hash), `answers-order` (ids by expiry), `answers-bytes` (total), `answers-begun` (ids by expiry),
 *  `answers-owners` (hash, owners by id), `answers-of:<owner>` (ids by expiry) and `answers-sizes` (hash, bytes by owner).
 *  Answers of version 0.1 have no owner. Arguments of both scripts: 4 id, 5 now, 6 owner. */
const SHARED = `
local id, now, owner = ARGV[4], ARGV[5], ARGV[6]
local function findOver()
  local over, bytes = redis.call('ZRANGEBYSCORE', P .. 'answers-order', '-inf', now, 'LIMIT', 0, 1000), 0
  for _, other in ipairs(over) do bytes = bytes + redis.call('HSTRLEN', P .. 'answers', other) end
  return over, bytes
end
local function shareOf(who)
  return redis.call('ZCARD', P .. 'answers-of:' .. who), tonumber(redis.call('HGET', P .. 'answers-sizes', who) or 0)
end
`

/** Arguments: 7 the time until which the request is in progress (0 only looks), 8 the bound on answers, 9 on bytes,
 *  10 on answers of an owner, 11 on their bytes, 12 the expiry of answers that are old enough to make room. */
const LOOK_UP = redisScript(`${SHARED}
local ends, most, bytesMost = ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
local kept = redis.call('ZSCORE', P .. 'answers-order', id)
if kept and tonumber(kept) > tonumber(now) then return {'kept', redis.call('HGET', P .. 'answers', id)} end
local count = redis.call('ZCARD', P .. 'answers-order')
local sum = tonumber(redis.call('GET', P .. 'answers-bytes') or 0)
if count >= most or sum >= bytesMost then
  local over, bytes = findOver()
  if count - #over >= most or sum - bytes >= bytesMost then return {'full'} end
end
local own, ownBytes = shareOf(owner)
if own >= tonumber(ARGV[10]) or ownBytes >= tonumber(ARGV[11]) then
  local oldest = redis.call('ZRANGE', P .. 'answers-of:' .. owner, 0, 0, 'WITHSCORES')
  if tonumber(oldest[2]) > tonumber(ARGV[12]) then return {'full'} end
end
if ends == '0' then return {'none'} end
redis.call('ZREMRANGEBYSCORE', P .. 'answers-begun', '-inf', now)
if redis.call('ZADD', P .. 'answers-begun', 'NX', ends, id) == 0 then return {'running'} end
return {'begun'}
`)

/** Arguments: 7 the answer, 8 its expiry, 9 the bound on answers of an owner, 10 on their bytes. */
const PUT = redisScript(`${SHARED}
-- First what is refused when memory is short: then nothing has been written.
redis.call('INCRBY', P .. 'answers-bytes', #ARGV[7])
local function drop(other)
  local bytes = redis.call('HSTRLEN', P .. 'answers', other)
  redis.call('DECRBY', P .. 'answers-bytes', bytes)
  redis.call('ZREM', P .. 'answers-order', other)
  redis.call('HDEL', P .. 'answers', other)
  local whose = redis.call('HGET', P .. 'answers-owners', other)
  if not whose then return end
  redis.call('HDEL', P .. 'answers-owners', other)
  redis.call('HINCRBY', P .. 'answers-sizes', whose, -bytes)
  redis.call('ZREM', P .. 'answers-of:' .. whose, other)
  if redis.call('EXISTS', P .. 'answers-of:' .. whose) == 0 then redis.call('HDEL', P .. 'answers-sizes', whose) end
end
drop(id)
for _, other in ipairs((findOver())) do drop(other) end
local own, ownBytes = shareOf(owner)
while own > 0 and (own >= tonumber(ARGV[9]) or ownBytes >= tonumber(ARGV[10])) do
  drop(redis.call('ZRANGE', P .. 'answers-of:' .. owner, 0, 0)[1])
  own, ownBytes = shareOf(owner)
end
redis.call('HSET', P .. 'answers', id, ARGV[7])
redis.call('HSET', P .. 'answers-owners', id, owner)
redis.call('HINCRBY', P .. 'answers-sizes', owner, #ARGV[7])
redis.call('ZADD', P .. 'answers-of:' .. owner, ARGV[8], id)
redis.call('ZADD', P .. 'answers-order', ARGV[8], id)
redis.call('ZREM', P .. 'answers-begun', id)
`)

const ABANDON = redisScript(`
local ends = redis.call('ZSCORE', P .. 'answers-begun', ARGV[4])
if ends and tonumber(ends) == tonumber(ARGV[5]) then redis.call('ZREM', P .. 'answers-begun', ARGV[4]) end
`)

const packr = newPackr()

/** The caller closes the link. */
export function openRedisAnswers(
  link: RedisLink,
  { bytesMax, ownerMax, ownerBytesMax }: AnswerBounds = ANSWER_BOUNDS,
): IdempotencyStore {
  async function lookUp(
    { id, owner }: AnswerKey,
    now: Millis,
    until: Millis,
  ): Promise<readonly [string, Buffer | undefined]> {
    const bounds = [LIMITS.keptAnswersMax, bytesMax, ownerMax, ownerBytesMax, evictableUntil(now)]
    const args = [id, now, owner, until, ...bounds]
    // The script returns this type.
    const [kind, bytes] = (await link.run(LOOK_UP, args)) as readonly [Buffer, Buffer?]
    return [kind.toString(), bytes]
  }

  return {
    async find(key, now): Promise<AnswerLookup> {
      const [kind, bytes] = await lookUp(key, now, Millis(0))
      if (bytes !== undefined) return { kind: 'kept', answer: unpack(bytes) }
      return { kind: kind === 'full' ? 'full' : 'none' }
    },

    async begin(key, now): Promise<BeginResult> {
      const until = Millis(now + LIMITS.answerBegunMs)
      const [kind, bytes] = await lookUp(key, now, until)
      if (bytes !== undefined) return { kind: 'kept', answer: unpack(bytes) }
      if (kind === 'begun') return { kind, until }
      return { kind: kind === 'full' ? 'full' : 'running' }
    },

    async put(answer, now) {
      const { id, owner, keptUntil } = answer
      await link.run(PUT, [id, now, owner, packr.pack(answer), keptUntil, ownerMax, ownerBytesMax])
    },

    async abandon(id, until) {
      try {
        await link.run(ABANDON, [id, until])
      } catch (error) {
        // The entry expires by itself, as the port allows.
        if (!(error instanceof Fault)) throw error
      }
    },
  }
}

/** Only this file writes the values, and in this type. Those of version 0.1 have no owner. */
function unpack(bytes: Buffer): StoredAnswer {
  const answer = packr.unpack(bytes) as Omit<StoredAnswer, 'owner'> & Partial<AnswerKey>
  return { owner: '', ...answer }
}
