// A full disk: nothing is acknowledged, reads continue, and the service recovers by itself once there is room.
import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { mountSmallDisk, type SmallDisk } from '../../engine/adapters/testing/small-disk.ts'
import { passed, ServiceHarness, until } from './testing/service.ts'
import { ackedOf, type Loader, startLoad, storedNumbers } from './testing/service-load.ts'
import { registerDevice } from './testing/service-rest.ts'

const DISK_MIB = 256
const LEFT_MIB = 2
const MIB = 1024 * 1024
const DAY_MS = 86_400_000

const harness = new ServiceHarness()
let disk: SmallDisk | undefined
let loaders: readonly Loader[] = []

afterAll(async () => {
  for (const loader of loaders) loader.stop()
  await harness.end()
  disk?.unmount()
  await harness.close()
})

test('a full disk loses nothing acknowledged, and the service recovers by itself', async ({ skip }) => {
  const folder = harness.newFolder()
  disk = mountSmallDisk(join(folder, 'disk'), DISK_MIB)
  if (disk === undefined) return skip('only root on Linux may mount a disk')
  const { path } = disk
  const service = await harness.start({ FLEET_DATA_DIR: join(path, 'data') })
  const admin = await service.admin()
  const from = Math.floor(Date.now() / 10_000) * 10_000 - 30 * DAY_MS
  loaders = await startLoad(service, admin, { prefix: 'full', devices: 10, perSecond: 50, window: 20, from })
  await until('the load runs', () => ackedOf(loaders) >= 1_000)

  for (const round of [1, 2]) {
    const { bavail, bsize } = statfsSync(path)
    disk.fill(Math.floor((bavail * bsize) / MIB) - LEFT_MIB)
    const made: string[] = []
    const refused = await until('a refused change', async () => {
      const id = `while-full-${round}-${made.length}`
      const answer = await admin.post('/devices', { name: id, type: 'gateway', device_id: id })
      made.push(id)
      return answer.status === 503 && { ...answer, id }
    })
    expect(refused.body).toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE' })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const account = { email: `${round}@example.com`, password: 'correct horse', name: 'x', role: 'viewer' }
    expect((await service.nobody.post('/auth/register', account)).status).toBe(503)
    const acked = await until('no more PUBACKs', async () => {
      const before = ackedOf(loaders)
      await passed(500)
      return ackedOf(loaders) === before && before
    })
    for (const read of ['/devices', '/devices/full-0', '/telemetry/full-0', '/auth/me'])
      expect((await admin.get(read)).status, read).toBe(200)
    expect(await admin.get('//readyz')).toMatchObject({ status: 503, body: { status: 'degraded' } })
    await passed(1_500)
    expect(ackedOf(loaders)).toBe(acked)

    disk.clear()
    await until('PUBACKs', () => ackedOf(loaders) > acked)
    await registerDevice(admin, `after-${round}`)
    expect((await admin.get('//readyz')).status).toBe(200)
    // A change that was answered with 503 must not take effect later.
    expect((await admin.get(`/devices/${refused.id}`)).status).toBe(404)
    for (const { deviceId } of loaders)
      expect((await admin.get(`/devices/${deviceId}`)).body['status'], deviceId).toBe('online')
  }

  await Promise.all(loaders.map((loader) => loader.finish()))
  for (const { deviceId, sent } of loaders) {
    const numbers = await until(`${deviceId} is stored`, async () => {
      const found = await storedNumbers(admin, deviceId, from, sent)
      return found.length >= sent && found
    })
    expect(numbers, deviceId).toEqual(Array.from({ length: sent }, (_, n) => n))
  }
})
