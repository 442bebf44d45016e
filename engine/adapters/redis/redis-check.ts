// Checks at start that a Redis can keep what the service promises to store.
import type { Redis } from 'ioredis'
import { Fault } from '../../ports/fault.ts'

/** Rejects with a fault whose one-line message says what to change. */
export async function checkRedisServer(redis: Redis): Promise<void> {
  const facts = readInfo(await redis.info())
  const is = (name: string, value: string) => facts.get(name) === value
  if (is('cluster_enabled', '1')) refuse('is a Redis Cluster; use a single primary, with or without replicas')
  if (is('role', 'slave')) refuse('is a replica; use the address of its primary')
  const isDurable = facts.has('aof_enabled')
    ? is('aof_enabled', '1')
    : (await configOf(redis, 'appendonly')) === 'yes'
  if (!isDurable) refuse('does not persist data; set "appendonly yes"')
  // With `everysec` Redis answers before it writes while a sync is under way, so a kill would lose acknowledged saves.
  const sync = await configOf(redis, 'appendfsync')
  if (sync !== undefined && sync !== 'always')
    refuse(`acknowledges writes before they are on disk; set "appendfsync always" instead of ${sync}`)
  const policy = facts.get('maxmemory_policy') ?? 'noeviction'
  if (policy !== 'noeviction' && !is('maxmemory', '0'))
    refuse(`evicts data when memory is short; set "maxmemory-policy noeviction" instead of ${policy}`)
}

/** Undefined if the provider forbids the question. */
async function configOf(redis: Redis, name: string): Promise<string | undefined> {
  try {
    const reply: unknown = await redis.config('GET', name)
    return Array.isArray(reply) ? String(reply[1]) : undefined
  } catch (error) {
    if (error instanceof Error && /^(ERR unknown command|NOPERM)/i.test(error.message)) return undefined
    throw error
  }
}

function readInfo(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split('\r\n').flatMap((line) => {
      const colon = line.indexOf(':')
      return colon < 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const]
    }),
  )
}

function refuse(problem: string): never {
  throw new Fault('STORE_UNAVAILABLE', {
    retryable: false,
    message: `the Redis of FLEET_REDIS_URL ${problem}`,
  })
}
