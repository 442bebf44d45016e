// Provides deploy/redis.conf with accounts, for tests that run their own Redis.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Two accounts of deploy/secrets.mjs: that of the service, and one for people. */
export const REDIS_ACCOUNTS = {
  fleet: { user: 'fleet', password: 'redis_fleet' },
  operator: { user: 'operator', password: 'redis_operator' },
} as const

const DEPLOY = new URL(import.meta.url.includes('/dist/') ? '../../../deploy/' : '../', import.meta.url)

/** Writes redis.conf and its list of users to a folder, and returns the path of the former. */
export async function writeRedisConf(folder: string): Promise<string> {
  // This script is not part of the build, because operators run it without one.
  const { redisUsers } = (await import(new URL('secrets.mjs', DEPLOY).href)) as {
    redisUsers(sha256: (name: string) => string): string
  }
  // Each secret has its own name as its value.
  const users = redisUsers((name) => createHash('sha256').update(name).digest('hex'))
  writeFileSync(join(folder, 'redis-users.acl'), users, { mode: 0o600 })
  const conf = readFileSync(new URL('redis/redis.conf', DEPLOY), 'utf8')
  const path = join(folder, 'redis.conf')
  writeFileSync(path, conf.replace('/run/fleet/', `${folder}/`))
  return path
}
