// Whether a Redis may hold what the service promises to keep. Asked once, at the start.
import type { Redis } from 'ioredis'
import { Fault } from '../../ports/fault.ts'

/** Rejects with a fault whose message is a line for whoever starts the service. */
export async function checkRedisServer(redis: Redis): Promise<void> {
  const facts = readInfo(await redis.info())
  const is = (name: string, value: string) => facts.get(name) === value
  if (is('cluster_enabled', '1'))
    refuse('is a Redis Cluster; one primary is needed, with replicas if you like')
  if (is('role', 'slave')) refuse('is a replica; give the address of its primary')
  const isDurable = facts.has('aof_enabled')
    ? is('aof_enabled', '1')
    : (await configOf(redis, 'appendonly')) === 'yes'
  if (!isDurable) refuse('does not keep what it is told: it needs "appendonly yes"')
  // With `everysec` it answers before it writes while the second's sync is under way: a kill loses what was saved.
  const sync = await configOf(redis, 'appendfsync')
  if (sync !== undefined && sync !== 'always')
    refuse(`says "saved" before it is: it needs "appendfsync always", not ${sync}`)
  const policy = facts.get('maxmemory_policy') ?? 'noeviction'
  if (policy !== 'noeviction' && !is('maxmemory', '0'))
    refuse(`drops data when memory is short: it needs "maxmemory-policy noeviction", not ${policy}`)
}

/** Undefined where the provider does not let anyone ask. */
async function configOf(redis: Redis, name: string): Promise<string | undefined> {
  try {
    const found: unknown = await redis.config('GET', name)
    return Array.isArray(found) ? String(found[1]) : undefined
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

function refuse(why: string): never {
  throw new Fault('STORE_UNAVAILABLE', { retryable: false, message: `the Redis of FLEET_REDIS_URL ${why}` })
}
