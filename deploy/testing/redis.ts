// The configuration of Redis in deploy/, for tests that run a Redis of their own.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Accounts of deploy/secrets.mjs: the service's, and the one for people. */
export const REDIS_ACCOUNTS = {
  fleet: { user: 'fleet', password: 'redis_fleet' },
  operator: { user: 'operator', password: 'redis_operator' },
} as const

const DEPLOY = new URL(import.meta.url.includes('/dist/') ? '../../../deploy/' : '../', import.meta.url)

/** Writes redis.conf and its list of users to a folder, and returns the path of the former. */
export async function writeRedisConf(folder: string): Promise<string> {
  // The script for operators is no TypeScript and is not built.
  const { redisUsers } = (await import(new URL('secrets.mjs', DEPLOY).href)) as {
    redisUsers(sha256: (name: string) => string): string
  }
  // The name of each secret serves as its value.
  const users = redisUsers((name) => createHash('sha256').update(name).digest('hex'))
  writeFileSync(join(folder, 'redis-users.acl'), users, { mode: 0o600 })
  const conf = readFileSync(new URL('redis/redis.conf', DEPLOY), 'utf8')
  const path = join(folder, 'redis.conf')
  writeFileSync(path, conf.replace('/run/fleet/', `${folder}/`))
  return path
}
