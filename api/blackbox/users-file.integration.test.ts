// Backup and restore of users, API keys and provisioning keys: with the service running, with it stopped, and with its store lost.
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { REDIS_SERVER, RedisServer } from '../../engine/adapters/redis/testing/redis-server.ts'
import { openRedisUsers } from '../../engine/adapters/users/redis.ts'
import { openCliHarness } from '../cli/testing/cli.ts'
import { ServiceHarness } from './testing/service.ts'

const harness = new ServiceHarness()
const cli = openCliHarness()
afterAll(async () => {
  await cli.close()
  await harness.close()
})

const ADA = { email: 'ada@example.com', password: 'ada likes engines' }

test('users are restored unchanged after the data directory is lost, but not over existing ones', async () => {
  const service = await harness.start()
  const { settings: env, nobody } = service
  const admin = await service.admin()
  await nobody.post('/auth/register', { ...ADA, name: 'Ada', role: 'viewer' })
  const { body: login } = await nobody.post('/auth/login', ADA)
  const { body: key } = await admin.post('/api-keys', { name: 'ci', role: 'viewer' })
  const batch = { type: 'mqtt_device', limit: 2, id_pattern: 'pump-*' }
  const provisioning = (await admin.post('/auth/provisioning-keys', batch)).body
  const provision = async (rest: typeof nobody, id: string) =>
    (await rest.post('/auth/provision', { key: provisioning['key'], device_id: id })).status
  expect(await provision(nobody, 'pump-1')).toBe(201)
  const listed = async (as: typeof admin) => {
    const { body } = await as.get('/users')
    return JSON.stringify(body['data']).replaceAll(/"last_login_at":("[^"]*"|null)/g, '')
  }
  const before = await listed(admin)
  const file = join(harness.newFolder(), 'users.json')

  const saved = await cli.run(['backup', 'users', '--out', file], { env })
  expect(saved).toMatchObject({ code: 0, stdout: '' })
  expect(saved.stderr).toMatch(
    /^fleet: wrote 3 users, 1 API keys and 1 provisioning keys to .*users\.json\n$/,
  )
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readFileSync(file, 'utf8')).not.toContain(ADA.password)

  const busy = await cli.run(['restore', 'users', file], { env })
  expect([busy.code, busy.stderr]).toEqual([1, expect.stringContaining('is in use by another process')])
  service.kill('SIGTERM')
  await service.ended
  const full = await cli.run(['restore', 'users', file], { env })
  expect(full.code).toBe(1)
  expect(full.stderr).toBe(
    `fleet: the service already has 3 users, 1 API keys and 1 provisioning keys; pass --overwrite to replace all of them with those of ${file}\n`,
  )

  rmSync(service.dataDir, { recursive: true })
  const restored = await cli.run(['restore', 'users', file], { env })
  expect([restored.code, restored.stderr]).toEqual([
    0,
    expect.stringContaining('restored 3 users, 1 API keys and 1 provisioning keys'),
  ])
  const again = await service.again()
  const back = await again.admin()
  expect(await listed(back)).toBe(before)
  expect((await again.nobody.post('/auth/login', ADA)).status).toBe(200)
  expect((await again.nobody.as(String(key['api_key'])).get('/devices')).status).toBe(200)
  expect([await provision(again.nobody, 'pump-2'), await provision(again.nobody, 'pump-3')]).toEqual([
    201, 403,
  ])
  expect((await again.nobody.as(String(login['access_token'])).get('/devices')).status).toBe(401)
  const renewed = await again.nobody.post('/auth/refresh', { refresh_token: login['refresh_token'] })
  expect(renewed.status).toBe(401)
})

test('a lost password is replaced beside the stopped service, and every login from before ends', async () => {
  const service = await harness.start()
  const { settings: env } = service
  const admin = await service.admin()
  const reset = (email: string, more: readonly string[] = [], stdin = '') =>
    cli.run(['users', 'reset-password', email, ...more], { env, stdin })
  expect((await reset('admin@example.com')).stderr).toContain('is in use by another process; stop it first')
  service.kill('SIGTERM')
  await service.ended
  expect(await reset('nobody@example.com')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no user'),
  })
  const elsewhere = join(harness.newFolder(), 'data')
  const mistaken = { ...env, FLEET_DATA_DIR: elsewhere }
  expect(await cli.run(['users', 'reset-password', 'admin@example.com'], { env: mistaken })).toMatchObject({
    code: 1,
    stderr: `fleet: ${elsewhere} contains no users; check that FLEET_DATA_DIR is the data directory\n`,
  })
  expect(existsSync(elsewhere)).toBe(false)
  expect(await reset('admin@example.com', ['--password-stdin'], 'password123\n')).toMatchObject({ code: 1 })
  const made = await reset('Admin@Example.com')
  expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('has a new password') })
  const again = await service.again({ FLEET_ADMIN_PASSWORD: 'not taken any more', FLEET_LOG_LEVEL: 'info' })
  const login = async (password: string) =>
    (await again.nobody.post('/auth/login', { email: 'admin@example.com', password })).status
  expect([await login(made.stdout.trim()), await login('correct horse battery')]).toEqual([200, 401])
  expect((await again.nobody.as(String(admin.token)).get('/devices')).status).toBe(401)
  again.kill('SIGTERM')
  const { stdout, stderr } = await again.ended
  expect(stdout + stderr).toMatch(/FLEET_ADMIN_PASSWORD have no effect.*fleet users reset-password/)
})

test('a file that is no backup or would lock everyone out is refused with one line', async () => {
  const folder = harness.newFolder()
  const env = { FLEET_DATA_DIR: join(folder, 'data') }
  const file = join(folder, 'users.json')
  const refusal = async (text: string) => {
    writeFileSync(file, text)
    const { code, stderr } = await cli.run(['restore', 'users', file], { env })
    expect([code, stderr.split('\n').length]).toEqual([1, 2])
    return stderr
  }
  expect(await refusal('{')).toContain('cannot be read')
  expect(await refusal('{}')).toContain('is not a backup of users')
  const empty = { format: 'fleet-users-1', madeAt: '2026-01-01T00:00:00.000Z', users: [], keys: [] }
  expect(await refusal(JSON.stringify(empty))).toContain('no enabled admin')
  const nowhere = await cli.run(['backup', 'users', '--out', join(folder, 'x')], {
    env: { FLEET_DATA_DIR: folder },
  })
  expect([nowhere.code, nowhere.stderr]).toEqual([
    1,
    expect.stringContaining('check that FLEET_DATA_DIR is the data directory'),
  ])
})

test.skipIf(REDIS_SERVER === undefined)('users of a cluster are restored after Redis is wiped', async () => {
  const redis = await RedisServer.start()
  const env = {
    FLEET_PROFILE: 'cluster',
    FLEET_JWT_SECRET: 'x'.repeat(32),
    FLEET_REDIS_URL: redis.url,
    FLEET_NATS_URL: 'nats://127.0.0.1:1',
    FLEET_CLICKHOUSE_URL: 'http://127.0.0.1:1',
    FLEET_MQTT_URL: 'mqtt://127.0.0.1:1',
    FLEET_MQTT_MODE: 'plain',
  }
  const file = join(harness.newFolder(), 'users.json')
  const look = async () => {
    const link = await redis.link()
    const { users, close } = await openRedisUsers(link)
    const found = { users: users.list(), keys: users.listKeys() }
    await close()
    link.close()
    return found
  }
  try {
    // The file comes from an embedded service and has the same form.
    const service = await harness.start()
    await service.admin()
    await cli.run(['backup', 'users', '--out', file], { env: service.settings })
    expect((await cli.run(['restore', 'users', file], { env })).stderr).toContain(
      'restored 2 users, 0 API keys and 0 provisioning keys',
    )
    const restored = await look()
    expect(restored.users.map(({ email }) => email).sort()).toEqual([
      'admin@example.com',
      'admin@fleet.local',
    ])

    expect((await cli.run(['backup', 'users', '--out', file], { env })).code).toBe(0)
    await redis.run((client) => client.flushall())
    expect(await look()).toEqual({ users: [], keys: [] })
    expect((await cli.run(['restore', 'users', '-'], { env, stdin: readFileSync(file, 'utf8') })).code).toBe(
      0,
    )
    const names = ({ users }: typeof restored) => users.map(({ tokensValidFrom: _, ...user }) => user)
    expect(names(await look())).toEqual(names(restored))
    const full = await cli.run(['restore', 'users', file], { env })
    expect([full.code, full.stderr]).toEqual([1, expect.stringContaining('--overwrite')])
    expect((await cli.run(['restore', 'users', file, '--overwrite'], { env })).code).toBe(0)
  } finally {
    await redis.stop()
  }
})
