// The scripts of the store in Redis. Each runs as one step.
//
// Keys: `positions` applied:<p>, inserted:<p>, claim:<p> · `devices` `shadows` `firmware` `alerts` `vitals` by device ·
// `commands:<device>` by command · `documents:<collection>` by id · `notices` by key, `notice-order` · `late` · `facts` ·
// `letters` by id and device, `letter-order`, `letters-of:<device>` · `outbox` by key, `outbox-order`, `outbox-counts` ·
// `store` the stream, `store:seq` its last number · `outbox-reader` the node that empties the outbox · `writers` how many
// processes have opened the store.
import { LIMITS } from '../../../limits.ts'
import { redisScript } from '../../redis/redis-link.ts'

/** Largest number of arguments of one Lua call. */
const AT_ONCE = 4_000

/** Writes everything or nothing, and returns the number of the write.
 *  Lists in the message to all processes: 1 devices, 2 claims, 3 applied, 4 inserted, 5 late hours, 6 settled late hours,
 *  7 facts, 8 collections and ids of the documents written, 9 removed devices.
 *  Lists for this script only: 1 the writer's claims, 2 shadows, 3 vitals, 4 commands, 5 removed commands, 6 dead letters,
 *  7 history with its key and rows, 8 removed history, 9 firmware, 10 alerts, 11 documents, 12 removed documents,
 *  13 notices, 14 removed notices, 15 removed dead letters. */
export const WRITE = redisScript(`
local seen, kept = ARGV[4], tonumber(ARGV[5])
local lettersMax, rowsMax, bytesMax = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local noticesMax = tonumber(ARGV[9])
local told, own = cmsgpack.unpack(ARGV[10]), cmsgpack.unpack(ARGV[11])

local function each(list, size, run)
  for i = 1, #list, size do run(list[i], list[i + 1], list[i + 2]) end
end
local function inLots(command, key, list)
  for i = 1, #list, ${AT_ONCE} do
    redis.call(command, P .. key, unpack(list, i, math.min(i + ${AT_ONCE - 1}, #list)))
  end
end
local function putPositions(kind, list)
  each(list, 2, function(partition, value) redis.call('HSET', P .. 'positions', kind .. partition, value) end)
end

local wrong = missing('store', seen)
if wrong then return wrong end
local claims = own[1]
for i = 1, #claims, 2 do
  local latest = redis.call('HGET', P .. 'positions', 'claim:' .. claims[i])
  if latest and tonumber(latest) > tonumber(claims[i + 1]) then return fail('FENCED ' .. claims[i]) end
end

-- First what is refused when memory is short or the disk fails: then nothing has been written.
local seq = redis.call('INCR', P .. 'store:seq')
local gone = told[9] or {}
for _, key in ipairs({'devices', 'shadows', 'vitals', 'firmware', 'alerts'}) do inLots('HDEL', key, gone) end
each(gone, 1, function(device)
  redis.call('DEL', P .. 'commands:' .. device)
  local own = P .. 'letters-of:' .. device
  for _, id in ipairs(redis.call('ZRANGE', own, 0, -1)) do
    redis.call('ZREM', P .. 'letter-order', id)
    redis.call('HDEL', P .. 'letters', id)
  end
  redis.call('DEL', own)
end)
inLots('HSET', 'devices', told[1])
putPositions('claim:', told[2])
putPositions('applied:', told[3])
putPositions('inserted:', told[4])
inLots('SADD', 'late', told[5])
inLots('SREM', 'late', told[6])
inLots('HSET', 'facts', told[7])
inLots('HSET', 'shadows', own[2])
inLots('HSET', 'vitals', own[3])
inLots('HSET', 'firmware', own[9])
inLots('HSET', 'alerts', own[10])
each(own[4], 3, function(device, id, bytes) redis.call('HSET', P .. 'commands:' .. device, id, bytes) end)
each(own[5], 2, function(device, id) redis.call('HDEL', P .. 'commands:' .. device, id) end)
each(own[11], 3, function(collection, id, bytes) redis.call('HSET', P .. 'documents:' .. collection, id, bytes) end)
each(own[12], 2, function(collection, id) redis.call('HDEL', P .. 'documents:' .. collection, id) end)

each(own[15], 1, function(id)
  redis.call('ZREM', P .. 'letter-order', id)
  redis.call('HDEL', P .. 'letters', id)
  redis.call('ZREM', P .. 'letters-of:' .. string.match(id, ' (.*)$'), id)
end)
local letters = own[6]
for i = 1, #letters, 2 do
  if redis.call('ZADD', P .. 'letter-order', 'NX', seq * 65536 + i, letters[i]) == 1 then
    redis.call('HSET', P .. 'letters', letters[i], letters[i + 1])
    -- A device that sends nothing but rubbish drops its own letters and nobody else's.
    local own = P .. 'letters-of:' .. string.match(letters[i], ' (.*)$')
    redis.call('ZADD', own, seq * 65536 + i, letters[i])
    local beyond = redis.call('ZCARD', own) - ${LIMITS.deadLettersPerDeviceMax}
    if beyond > 0 then
      each(redis.call('ZPOPMIN', own, beyond), 2, function(id)
        redis.call('ZREM', P .. 'letter-order', id)
        redis.call('HDEL', P .. 'letters', id)
      end)
    end
  end
end
if #letters > 0 then
  local excess = redis.call('ZCARD', P .. 'letter-order') - lettersMax
  if excess > 0 then
    each(redis.call('ZPOPMIN', P .. 'letter-order', excess), 2, function(id)
      redis.call('HDEL', P .. 'letters', id)
      redis.call('ZREM', P .. 'letters-of:' .. string.match(id, ' (.*)$'), id)
    end)
  end
end

local counts = P .. 'outbox-counts'
local function rowsOf(key) return tonumber(string.match(key, '%d+$')) end
local function forget(key)
  local bytes = redis.call('HSTRLEN', P .. 'outbox', key)
  if redis.call('HDEL', P .. 'outbox', key) == 0 then return 0 end
  redis.call('ZREM', P .. 'outbox-order', key)
  redis.call('HINCRBY', counts, 'rows', -rowsOf(key))
  redis.call('HINCRBY', counts, 'bytes', -bytes)
  return rowsOf(key)
end
local key, bytes = own[7][1], own[7][2]
if key and redis.call('HEXISTS', P .. 'outbox', key) == 0 then
  local rows = rowsOf(key)
  local waiting = tonumber(redis.call('HGET', counts, 'rows') or 0)
  if waiting + rows > rowsMax or tonumber(redis.call('HGET', counts, 'bytes') or 0) > bytesMax then
    local excess, dropped = math.max(rows, math.min(1000, rowsMax)), 0
    while dropped < excess do
      local oldest = redis.call('ZRANGE', P .. 'outbox-order', 0, 0)[1]
      if not oldest then break end
      dropped = dropped + forget(oldest)
    end
    redis.call('HINCRBY', counts, 'dropped', dropped)
  end
  redis.call('HSET', P .. 'outbox', key, bytes)
  redis.call('ZADD', P .. 'outbox-order', 0, key)
  redis.call('HINCRBY', counts, 'rows', rows)
  redis.call('HINCRBY', counts, 'bytes', #bytes)
end
for _, gone in ipairs(own[8]) do forget(gone) end

each(own[13], 2, function(key, bytes)
  if redis.call('HEXISTS', P .. 'notices', key) == 1 then return end
  if redis.call('HLEN', P .. 'notices') >= noticesMax then
    redis.call('HINCRBY', counts, 'notices-dropped', 1)
  else
    redis.call('HSET', P .. 'notices', key, bytes)
    redis.call('ZADD', P .. 'notice-order', 0, key)
  end
end)
inLots('HDEL', 'notices', own[14])
inLots('ZREM', 'notice-order', own[14])

local waiting = redis.call('HMGET', counts, 'rows', 'dropped', 'notices-dropped')
redis.call('XADD', P .. 'store', 'MAXLEN', '~', kept, string.format('%.0f', seq) .. '-' .. ARGV[3],
  'told', ARGV[10], 'rows', waiting[1] or '0', 'dropped', waiting[2] or '0',
  'notices', redis.call('HLEN', P .. 'notices'), 'notices-dropped', waiting[3] or '0')
return seq
`)

/** Returns keys and batches of the outbox alternately, oldest first, while this node is the one that empties it. */
export const READ_OUTBOX = redisScript(`
local rowsMax, bytesMax, holdMs = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
local reader = redis.call('GET', P .. 'outbox-reader')
if reader and reader ~= ARGV[2] then return {} end
-- Renewed without a write that is refused when memory is short: emptying the outbox makes room.
if reader then redis.call('PEXPIRE', P .. 'outbox-reader', holdMs)
else redis.call('SET', P .. 'outbox-reader', ARGV[2], 'PX', holdMs) end
local found, rows, bytes = {}, 0, 0
for _, key in ipairs(redis.call('ZRANGE', P .. 'outbox-order', 0, rowsMax)) do
  rows = rows + tonumber(string.match(key, '%d+$'))
  bytes = bytes + redis.call('HSTRLEN', P .. 'outbox', key)
  if #found > 0 and (rows > rowsMax or bytes > bytesMax) then break end
  found[#found + 1] = key
  found[#found + 1] = redis.call('HGET', P .. 'outbox', key)
end
return found
`)
