// A backup of a running embedded service under load, and its restore into another directory.
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openCliHarness } from '../cli/testing/cli.ts'
import { ServiceHarness, until } from './testing/service.ts'
import { ackedOf, startLoad, storedNumbers } from './testing/service-load.ts'

const harness = new ServiceHarness()
const cli = openCliHarness()
afterAll(async () => {
  await cli.close()
  await harness.close()
})

const DEVICES = 20
const PER_SECOND = 1_000
const DAY_MS = 86_400_000

test('all that was acknowledged before a backup under load is there after its restore, once', async () => {
  const service = await harness.start()
  const admin = await service.admin()
  const from = Math.floor(Date.now() / 10_000) * 10_000 - 30 * DAY_MS
  const load = { prefix: 'kept', devices: DEVICES, perSecond: PER_SECOND / DEVICES, window: 200, from }
  const loaders = await startLoad(service, admin, load)
  await until('the load runs', () => ackedOf(loaders) >= 8 * PER_SECOND)
  await admin.call('PUT', '/shadows/kept-0/desired', { speed: 7 })
  const sent = await admin.post('/commands/kept-1', { command: 'go', timeout_sec: 3_600 })
  const url = 'https://hooks.example.com/services/canary-in-a-path'
  const made = await admin.post('/alerts/channels', { type: 'chat_webhook', webhook_url: url })
  expect(made.status).toBe(201)
  const acked = loaders.map((loader) => loader.acked)
  const folder = join(harness.newFolder(), 'backup')
  const written = await cli.run(['backup', '--out', folder], { env: service.settings })
  expect(written).toMatchObject({ code: 0, stderr: expect.stringContaining(`fleet: wrote ${folder}`) })
  for (const secret of [folder, join(folder, 'store.mdb')]) expect(statSync(secret).mode & 0o077).toBe(0)
  expect(written.stdout + written.stderr).not.toContain('canary')
  const users = join(harness.newFolder(), 'users.json')
  expect(await cli.run(['backup', 'users', '--out', users], { env: service.settings })).toMatchObject({
    code: 0,
  })
  expect(readFileSync(users, 'utf8')).not.toContain('canary')
  const during = loaders.map((loader) => loader.acked)
  expect(during).not.toEqual(acked)
  for (const loader of loaders) loader.stop()
  const again = await cli.run(['backup', '--out', folder], { env: service.settings })
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('is not empty')])
  const refused = await cli.run(['restore', '--from', folder], { env: service.settings })
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('is not empty')])
  service.kill('SIGKILL')
  await service.ended

  const dataDir = join(harness.newFolder(), 'restored')
  const env = { FLEET_DATA_DIR: dataDir }
  expect(await cli.run(['restore', '--from', folder], { env })).toMatchObject({ code: 0 })
  const restored = await harness.start(env)
  const reader = await restored.admin()
  for (const [index, { deviceId }] of loaders.entries()) {
    const before = acked[index] ?? 0
    // Fails unless each number is stored once with its own value.
    const numbers = await until(`${deviceId} is stored`, async () => {
      const found = await storedNumbers(reader, deviceId, from, (during[index] ?? 0) + 1_000)
      return found.length >= before && found
    })
    expect(numbers.slice(0, before), deviceId).toEqual(Array.from({ length: before }, (_, n) => n))
  }
  expect((await reader.get('/shadows/kept-0')).body['desired']).toEqual({ speed: 7 })
  const command = await reader.get(`/commands/kept-1/${sent.body['command_id']}`)
  expect(command.body['command']).toBe('go')
  // Whoever restores has nothing to enter anew: secrets of channels are in the store, as is the key of the tokens.
  expect(readFileSync(join(dataDir, 'store.mdb')).includes('canary-in-a-path')).toBe(true)
  const path = `/alerts/channels/${made.body['channel_id']}`
  const channel = await reader.get(path)
  expect(channel.body).toMatchObject({ webhook_url: 'https://hooks.example.com/…', state: 'ok' })
  const masked = { webhook_url: channel.body['webhook_url'] }
  expect(await reader.call('PATCH', path, masked)).toMatchObject({ status: 200 })
  // The restored service goes on as the other would have.
  expect((await reader.post('/devices', { name: 'new', type: 'simulator' })).status).toBe(201)
})

test('a folder that is no complete backup is refused', async () => {
  const folder = harness.newFolder()
  const env = { FLEET_DATA_DIR: join(harness.newFolder(), 'data') }
  const restore = () => cli.run(['restore', '--from', folder], { env })
  expect(await restore()).toMatchObject({ code: 1, stderr: expect.stringContaining('no complete backup') })
  writeFileSync(join(folder, 'backup.json'), '{"format":"other"}')
  expect(await restore()).toMatchObject({ code: 1 })
  rmSync(folder, { recursive: true })
  const nothing = await cli.run(['backup', '--out', folder], { env })
  expect(nothing).toMatchObject({ code: 1, stderr: expect.stringContaining('is no data directory') })
})
