// The database is frozen: everything that does not need it continues, and waiting rows arrive once.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { passed, type Service, ServiceHarness, until } from './testing/service.ts'
import { ackedOf, type Loader, startLoad, storedNumbers } from './testing/service-load.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'

const PER_SECOND = 2_000
const DEVICES = 40
const FREEZE_MS = 10_000
const DAY_MS = 86_400_000

const harness = new ServiceHarness()
let service: Service
let admin: Rest
let loaders: readonly Loader[]
let from: number

beforeAll(async () => {
  service = await harness.start()
  admin = await service.admin()
  from = Math.floor(Date.now() / 10_000) * 10_000 - 30 * DAY_MS
  const load = { prefix: 'frozen', devices: DEVICES, perSecond: PER_SECOND / DEVICES, window: 200, from }
  loaders = await startLoad(service, admin, load)
})
afterAll(async () => {
  for (const loader of loaders ?? []) loader.stop()
  await harness.close()
})

test('while the database is frozen, history is refused, with a time to try again', async () => {
  const database = service.databasePid()
  process.kill(database, 'SIGSTOP')
  try {
    for (const path of ['/telemetry/frozen-0/history?metric=n', '/devices/frozen-0/logs', '/audit']) {
      const { status, headers } = await admin.get(path)
      expect([path, status, headers.get('retry-after')]).toEqual([path, 503, '2'])
    }
  } finally {
    process.kill(database, 'SIGCONT')
  }
  await until('history again', async () => (await admin.get('/devices/frozen-0/logs')).status === 200)
})

test('a frozen database delays neither PUBACKs nor snapshots nor changes', async () => {
  await until('the load runs', () => ackedOf(loaders) >= PER_SECOND)
  const database = service.databasePid()
  process.kill(database, 'SIGSTOP')
  const historyStatus = admin
    .get(`/telemetry/frozen-0/history?metric=n&interval=1h&from=${new Date(from).toISOString()}`)
    .then(({ status }) => status)
  await registerDevice(admin, 'while-frozen')
  await passed(FREEZE_MS)
  expect(service.databasePid()).toBe(database)
  // Long after everything that waits for the database is full, the rest goes on as before.
  const acked = loaders.map((loader) => loader.acked)
  await until('PUBACKs of all devices', () => loaders.every((loader, i) => loader.acked > (acked[i] ?? 0)))
  await until('many messages', () => ackedOf(loaders) >= sumOf(acked) + PER_SECOND / 2)
  for (const { deviceId } of loaders)
    expect((await admin.get(`/telemetry/${deviceId}`)).status, deviceId).toBe(200)
  await registerDevice(admin, 'frozen-for-long')
  process.kill(database, 'SIGCONT')
  expect([200, 503]).toContain(await historyStatus)
})

test('a database that stays frozen is replaced, and every row arrives once', async () => {
  const database = service.databasePid()
  process.kill(database, 'SIGSTOP')
  await until('another database process', () => otherThan(database))
  await Promise.all(loaders.map((loader) => loader.finish()))
  for (const { deviceId, sent } of loaders) {
    const numbers = await until(`${deviceId} is stored`, async () => {
      const found = await storedNumbers(admin, deviceId, from, sent).catch(onlyUnavailable)
      return found.length >= sent && found
    })
    expect(numbers, deviceId).toEqual(Array.from({ length: sent }, (_, n) => n))
  }
  const ready = await admin.get('//readyz')
  expect(ready).toMatchObject({ status: 200, body: { status: 'ready' } })
})

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0)

function otherThan(pid: number): boolean {
  try {
    return service.databasePid() !== pid
  } catch {
    // There is none between the two.
    return false
  }
}

function onlyUnavailable(error: unknown): readonly number[] {
  if (String(error).includes('no history: 503')) return []
  throw error
}
