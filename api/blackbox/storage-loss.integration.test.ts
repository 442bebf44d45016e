// A cluster loses one of its stores and gets its data back: ClickHouse from the log by a repair, Redis from the log by a
// restart, and users from their backup.
import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { REDIS_SERVER } from '../../engine/adapters/redis/testing/redis-server.ts'
import { ClickHouseLink } from '../../engine/adapters/telemetry/clickhouse/clickhouse-link.ts'
import { openCliHarness } from '../cli/testing/cli.ts'
import { ClusterServers, HAS_CLUSTER_SERVERS } from './testing/cluster.ts'
import { type Service, ServiceHarness, until } from './testing/service.ts'
import { connectDevice, publish } from './testing/service-clients.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'

const DEVICES = ['r1', 'r2', 'r3', 'r4', 'r5', 'r6']
const MESSAGES = 40
const POINTS = `SELECT device_id, metric, ts, value, version, received FROM points FINAL ORDER BY ALL FORMAT TSV`
const TEXTS = `SELECT device_id, metric, ts, value, version, received FROM texts FINAL ORDER BY ALL FORMAT TSV`

describe.skipIf(!HAS_CLUSTER_SERVERS)('a cluster (needs servers that `npm test` finds)', () => {
  const harness = new ServiceHarness()
  const cli = openCliHarness()
  let servers: ClusterServers
  let nodes: readonly Service[] = []
  let admin: Rest

  /** Two engines; the tests ask the second one. */
  const startNodes = async () => {
    const start = (FLEET_ROLES: string) => harness.startNode({ ...servers.settings, FLEET_ROLES }, servers)
    nodes = await Promise.all([start('ingress,engine'), start('engine,api')])
    const api = nodes[1]
    if (api === undefined) throw new Error('there are two')
    return api
  }
  let api: Service

  beforeAll(async () => {
    servers = await ClusterServers.start()
    api = await startNodes()
    admin = await api.admin()
    await Promise.all(DEVICES.map(speak))
    await until(
      'the rows',
      async () => (await query(POINTS)).split('\n').length === DEVICES.length * MESSAGES * 2,
    )
    await until(
      'the texts',
      async () => (await query(TEXTS)).split('\n').length === DEVICES.length * MESSAGES,
    )
  })
  afterAll(async () => {
    await cli.close()
    await harness.close()
    await servers?.stop()
  })

  async function query(sql: string): Promise<string> {
    const link = new ClickHouseLink(() => servers.clickhouse.endpoint())
    try {
      return (await link.query({ sql, timeoutMs: 30_000 })).toString().trim()
    } finally {
      await link.close()
    }
  }

  async function speak(id: string): Promise<void> {
    const client = await connectDevice(api, id, await registerDevice(admin, id, { group: `g/${id}` }))
    for (let n = 0; n < MESSAGES; n++) await publish(client, id, { n, half: n / 2, mode: `m${n % 3}` })
    await client.endAsync()
  }

  test('telemetry is restored after the tables were truncated', async () => {
    const before = [await query(POINTS), await query(TEXTS)]
    await query('TRUNCATE TABLE points')
    await query('TRUNCATE TABLE texts')
    expect(await query(POINTS)).toBe('')
    const env = { FLEET_CLI_URL: api.httpUrl, FLEET_CLI_TOKEN: admin.token ?? '' }
    const repaired = await cli.run(['repair', 'telemetry', '--from', '1h', '--json'], { env })
    expect([repaired.code, repaired.stderr]).toEqual([0, expect.stringContaining('%')])
    expect(JSON.parse(repaired.stdout)).toMatchObject({ status: 'done', messages: DEVICES.length * MESSAGES })
    expect([await query(POINTS), await query(TEXTS)]).toEqual(before)
  })

  test('devices are restored after Redis was wiped, and users from their backup', async () => {
    for (const [i, id] of DEVICES.entries())
      for (let n = 0; n <= i; n++) await admin.call('PUT', `/shadows/${id}/desired`, { n })
    await admin.call('PATCH', '/devices/r1', { name: 'first' })
    await admin.call('DELETE', '/devices/r6')
    const seen = async (rest: Rest) => {
      const { body } = await rest.get('/devices?sort=device_id')
      // The device without the time at which it was last heard.
      const devices = (body['data'] as readonly Record<string, unknown>[]).map(
        ({ device_id, name, type, group, tags, created_at, decommissioned_at }) => ({
          device_id,
          name,
          type,
          group,
          tags,
          created_at,
          decommissioned_at,
        }),
      )
      const shadows = await Promise.all(DEVICES.map(async (id) => (await rest.get(`/shadows/${id}`)).body))
      return { devices, shadows }
    }
    const before = await seen(admin)
    expect(before.devices.length).toBe(DEVICES.length)
    const file = join(harness.newFolder(), 'users.json')
    const env = { ...servers.settings }
    expect((await cli.run(['backup', 'users', '--out', file], { env })).code).toBe(0)

    await servers.redis.run((client) => client.flushall())
    // No node continues with half of a store.
    const ends = await Promise.all(nodes.map(({ ended }) => ended))
    expect(ends.map(({ code }) => code)).toEqual([1, 1])
    expect((await cli.run(['restore', 'users', file], { env })).code).toBe(0)
    api = await startNodes()
    const { body } = await api.nobody.post('/auth/login', {
      email: 'admin@example.com',
      password: 'correct horse battery',
    })
    const back = api.nobody.as(String(body['access_token']))
    await until('all devices', async () => (await back.get('/devices')).body['total'] === DEVICES.length)
    await until(
      'the last change',
      async () => (await back.get('/devices/r6')).body['status'] === 'decommissioned',
    )
    expect(await seen(back)).toEqual(before)
    admin = back
  })

  test('a cluster continues from an older copy of Redis, restored as deploy/README.md says', async () => {
    await servers.redis.run((client) => client.call('SAVE'))
    await admin.call('PATCH', '/devices/r2', { name: 'since the copy' })
    const { body: shadow } = await admin.call('PUT', '/shadows/r2/desired', { since: 'the copy' })
    for (const node of nodes) node.kill('SIGTERM')
    await Promise.all(nodes.map(({ ended }) => ended))
    await servers.redis.kill()
    const { directory, port } = servers.redis
    rmSync(join(directory, 'appendonlydir'), { recursive: true })
    const conf = join(directory, 'redis.conf')
    const place = [conf, '--dir', directory, '--port', String(port), '--bind', '127.0.0.1']
    const once = spawn(REDIS_SERVER ?? '', [...place, '--appendonly', 'no'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const ended = new Promise((resolve) => once.once('exit', resolve))
    let said = ''
    once.stdout.on('data', (text: Buffer) => {
      said += String(text)
    })
    await until('Redis', () => said.includes('Ready to accept connections'))
    await servers.redis.run(async (client) => {
      await client.config('SET', 'appendonly', 'yes')
      const isWritten = async () => (await client.info('persistence')).includes('aof_rewrite_in_progress:0')
      await until('the file', async () => (await isWritten()) && existsSync(join(directory, 'appendonlydir')))
    })
    once.kill('SIGTERM')
    await ended
    await servers.redis.start()
    api = await startNodes()
    // The copy has the users and the signing key.
    const back = api.nobody.as(admin.token ?? '')
    await until(
      'the last change',
      async () => (await back.get('/devices/r2')).body['name'] === 'since the copy',
    )
    expect((await back.get('/shadows/r2')).body).toMatchObject({
      desired: { since: 'the copy' },
      version: shadow['version'],
    })
  })
})
