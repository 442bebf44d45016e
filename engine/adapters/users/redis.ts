// Users that several processes share in one hash in Redis. Each process holds all of them and follows all writes. A
// write succeeds only if its process had applied all earlier writes, so what a step checked still holds.
import { newPackr } from '../../domain/packing.ts'
import { LIMITS } from '../../limits.ts'
import type { Users } from '../../ports/users.ts'
import { type FollowedStream, Follower } from '../redis/redis-follower.ts'
import { type RedisLink, redisScript } from '../redis/redis-link.ts'
import { packLists, pairs, unpackLists } from '../redis/redis-lists.ts'
import { CachedUsers, type WriteUsers } from './cached-users.ts'
import { Directory, type UserChange } from './directory.ts'

/** Keys: `users` (hash by kind and key), `user-changes` (stream), `user-changes:seq` (its last number). */
const STREAM = 'user-changes'
const SCAN_COUNT = 1_000

/** Returns the number of the write, or the negative number of the write that came first. Lists: 1 puts, 2 removals. */
const WRITE = redisScript(`
local seen, kept, changes = tonumber(string.match(ARGV[4], '^%d+')), ARGV[5], cmsgpack.unpack(ARGV[6])
local last = tonumber(redis.call('GET', P .. '${STREAM}:seq') or 0)
if last < seen then return fail('LOST data') end
if last > seen then return -last end
local wrong = missing('${STREAM}', ARGV[4])
if wrong then return wrong end
-- First what is refused when memory is short or the disk fails: then nothing has been written.
local seq = redis.call('INCR', P .. '${STREAM}:seq')
for i = 1, #changes[1], 2 do redis.call('HSET', P .. 'users', changes[1][i], changes[1][i + 1]) end
for _, key in ipairs(changes[2]) do redis.call('HDEL', P .. 'users', key) end
redis.call('XADD', P .. '${STREAM}', 'MAXLEN', '~', kept, string.format('%.0f', seq) .. '-' .. ARGV[3], 'told', ARGV[6])
return seq
`)

const packr = newPackr()

export interface RedisUsers {
  readonly users: Users
  close(): Promise<void>
}

/** The caller closes the link, after the users. */
export async function openRedisUsers(link: RedisLink): Promise<RedisUsers> {
  const replica = new Replica(link.key('users'))
  const follower = new Follower(link, replica)
  await follower.start()
  const write: WriteUsers = async (changes) => {
    const put = changes.flatMap((change) =>
      change.value === undefined ? [] : [nameOf(change), packr.pack(change.value)],
    )
    const removed = changes.filter(({ value }) => value === undefined).map(nameOf)
    const reply = await link.run(WRITE, [follower.id, LIMITS.storeMessagesKept, packLists([put, removed])])
    await follower.untilApplied(Math.abs(Number(reply)))
    return Number(reply) > 0 ? 'written' : 'overtaken'
  }
  const users = new CachedUsers(replica.directory, write, follower)
  return { users, close: () => follower.close() }
}

class Replica implements FollowedStream {
  readonly stream = STREAM
  readonly directory = new Directory()
  readonly #key: string
  readonly #names = new Set<string>()

  constructor(key: string) {
    this.#key = key
  }

  async load(reader: Parameters<FollowedStream['load']>[0]): Promise<void> {
    const found = new Map<string, Buffer>()
    for (let cursor = '0', isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
      const [next, some] = await reader.hscanBuffer(this.#key, cursor, 'COUNT', SCAN_COUNT)
      for (const [name, bytes] of pairs(some)) found.set(String(name), bytes)
      cursor = next.toString()
    }
    // These were removed while this process was disconnected.
    const removed = [...this.#names].filter((name) => !found.has(name))
    this.#apply(
      [...found.keys()].sort().map((name) => [name, found.get(name)]),
      removed,
    )
  }

  apply([, changes]: readonly Buffer[]): void {
    if (changes === undefined) return
    const [put = [], removed = []] = unpackLists(changes)
    const named = [...pairs(put)].map(([name, bytes]) => [String(name), bytes] as const)
    this.#apply(named, removed.map(String))
  }

  #apply(put: readonly (readonly [string, Buffer | undefined])[], removed: readonly string[]): void {
    for (const [name] of put) this.#names.add(name)
    for (const name of removed) this.#names.delete(name)
    this.directory.apply([
      ...put.flatMap(([name, bytes]) => (bytes === undefined ? [] : toChange(name, packr.unpack(bytes)))),
      ...removed.map((name) => toChange(name)),
    ])
  }
}

function nameOf({ kind, key }: UserChange): string {
  return `${kind}:${key}`
}

function toChange(name: string, value?: unknown): UserChange {
  const colon = name.indexOf(':')
  const change = { kind: name.slice(0, colon), key: name.slice(colon + 1), value }
  // Only this file writes the values, and in this type.
  return change as UserChange
}
