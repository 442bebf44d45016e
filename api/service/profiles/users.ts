// Opens only the users, so that they can be backed up even if the service does not start.
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { Fault } from '../../../engine/ports/fault.ts'
import type { Users } from '../../../engine/ports/users.ts'
import type { Settings } from '../settings/settings.ts'
import { CLUSTER_NAME } from './profile.ts'

export interface OpenUsers {
  readonly users: Users
  close(): Promise<void>
}

/** `read` is possible while the service is running. To `change` users that exist, or to `write` them where there may be
 *  none yet, an embedded service must be stopped. */
type Access = 'read' | 'change' | 'write'

export async function openUsers({ profile }: Settings, access: Access): Promise<OpenUsers> {
  if (profile.kind === 'embedded') return openEmbeddedUsers(profile.dataDir, access)
  const { RedisLink } = await import('../../../engine/adapters/redis/redis-link.ts')
  const { openRedisUsers } = await import('../../../engine/adapters/users/redis.ts')
  const link = await RedisLink.open({
    url: profile.redisUrl,
    prefix: CLUSTER_NAME,
    node: `users-${randomUUID()}`,
    // Redis itself refuses writes that are under way.
    lost: () => {},
  })
  const { users, close } = await openRedisUsers(link)
  return {
    users,
    close: async () => {
      await close()
      link.close()
    },
  }
}

async function openEmbeddedUsers(path: string, access: Access): Promise<OpenUsers> {
  const { openDataDir, storePath } = await import('../../../engine/adapters/data-dir/data-dir.ts')
  const { LmdbEnv } = await import('../../../engine/adapters/lmdb/lmdb-env.ts')
  const { openLmdbUsers, USER_TABLES } = await import('../../../engine/adapters/users/lmdb.ts')
  const file = storePath(path)
  if (access !== 'write' && !existsSync(file))
    throw new Fault('DATA_DIR_UNUSABLE', {
      retryable: false,
      message: `${path} contains no users; check that FLEET_DATA_DIR is the data directory`,
    })
  const dir = access === 'read' ? undefined : await openDataDir(path)
  const env = new LmdbEnv({
    path: dir?.store ?? file,
    durability: 'power',
    tables: USER_TABLES,
    isReadOnly: access === 'read',
  })
  return {
    users: openLmdbUsers(env),
    close: async () => {
      await env.close()
      await dir?.release()
    },
  }
}
