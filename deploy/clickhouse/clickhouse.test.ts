import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { all, parseXml } from '../testing/xml.ts'

const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8')
const server = parseXml(read('config.d/fleet.xml'))
const replicated = parseXml(read('config.d/replicated.xml'))
const users = parseXml(read('users.d/fleet.xml'))
const keeper = parseXml(read('keeper.xml'))
const texts = (root: Parameters<typeof all>[0], path: string) => all(root, path).map(({ text }) => text)

describe('ClickHouse', () => {
  test('every file is one well-formed element', () => {
    const files = ['config.d', 'users.d'].flatMap((folder) =>
      readdirSync(new URL(folder, import.meta.url)).map((name) => `${folder}/${name}`),
    )
    for (const file of [...files, 'keeper.xml']) expect(parseXml(read(file)).name).toBe('clickhouse')
    expect(() => parseXml('<a><b></a></b>')).toThrow('closes nothing')
    expect(() => parseXml('<a>1 < 2</a>')).toThrow('not well-formed')
  })

  test('only two users may log in, not the default one, and no file has their passwords', () => {
    expect(all(users, 'users')[0]?.children.map(({ name }) => name)).toEqual([
      'default',
      'fleet',
      'fleet_reader',
    ])
    expect(all(users, 'users/default')[0]?.attributes).toEqual({ remove: '1' })
    for (const name of ['fleet', 'fleet_reader']) {
      const [password, ...more] = all(users, `users/${name}/password_sha256_hex`)
      expect(more).toEqual([])
      expect(password?.attributes['from_env']).toMatch(/^FLEET_CLICKHOUSE_\w+_SHA256$/)
      expect(password?.text).toBe('')
    }
  })

  test('the service is granted what its statements need and no more', () => {
    expect(texts(users, 'users/fleet/grants/query')).toEqual([
      'GRANT SELECT, INSERT, CREATE TABLE, ALTER TABLE, OPTIMIZE ON fleet.*',
      'GRANT CLUSTER ON *.*',
      'GRANT CREATE TEMPORARY TABLE ON *.*',
      'GRANT SELECT ON system.clusters',
    ])
  })

  test('the reader may only read', () => {
    expect(texts(users, 'users/fleet_reader/grants/query')).toEqual(['GRANT SELECT ON fleet.*'])
    expect(texts(users, 'profiles/fleet_reader/readonly')).toEqual(['2'])
    expect(texts(users, 'users/fleet_reader/profile')).toEqual(['fleet_reader'])
  })

  test('settings whose defaults would be wrong are set', () => {
    expect(texts(users, 'profiles/fleet_service/async_insert')).toEqual(['0'])
    expect(texts(server, 'listen_host')).toEqual(['0.0.0.0'])
    expect(texts(server, 'default_database')).toEqual(['fleet'])
    expect(texts(keeper, 'keeper_server/coordination_settings/force_sync')).toEqual(['true'])
  })

  test('a row that is written to one replica is copied by the others', () => {
    expect(texts(replicated, 'remote_servers/fleet/shard/internal_replication')).toEqual(['true'])
    expect(texts(replicated, 'remote_servers/fleet/shard/replica/host')).toHaveLength(2)
    const keepers = texts(keeper, 'keeper_server/raft_configuration/server/hostname')
    expect(texts(replicated, 'zookeeper/node/host')).toEqual(keepers)
    expect(all(replicated, 'macros')[0]?.children.map(({ name }) => name)).toEqual([
      'cluster',
      'shard',
      'replica',
    ])
  })
})
