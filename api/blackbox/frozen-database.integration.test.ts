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

test('while the database is frozen, history is refused within seconds, with a time to try again', async () => {
  const database = service.databasePid()
  process.kill(database, 'SIGSTOP')
  try {
    for (const path of ['/telemetry/frozen-0/history?metric=n', '/devices/frozen-0/logs', '/audit']) {
      const askedAt = performance.now()
      const { status, headers } = await admin.get(path)
      expect([path, status, headers.get('retry-after')]).toEqual([path, 503, '2'])
      expect(performance.now() - askedAt, path).toBeLessThan(9_000)
    }
  } finally {
    process.kill(database, 'SIGCONT')
  }
  await until('history again', async () => (await admin.get('/devices/frozen-0/logs')).status === 200)
})

test('a frozen database delays neither PUBACKs nor snapshots nor changes', { timeout: 60_000 }, async () => {
  await until('the load runs', () => ackedOf(loaders) >= PER_SECOND)
  const database = service.databasePid()
  for (const loader of loaders) loader.slowestAckMs = 0
  const before = { at: performance.now(), acked: ackedOf(loaders) }
  process.kill(database, 'SIGSTOP')
  const historyStatus = admin
    .get(`/telemetry/frozen-0/history?metric=n&interval=1h&from=${new Date(from).toISOString()}`)
    .then(({ status }) => status)
  const readMs: number[] = []
  let isThawed = false
  const reading = (async () => {
    for (let i = 0; !isThawed; i++) {
      const startedAt = performance.now()
      const { status } = await admin.get(`/telemetry/frozen-${i % DEVICES}`)
      readMs.push(performance.now() - startedAt)
      expect(status).toBe(200)
    }
  })()
  await registerDevice(admin, 'while-frozen')
  await passed(FREEZE_MS)
  const seconds = (performance.now() - before.at) / 1000
  const perSecond = (ackedOf(loaders) - before.acked) / seconds
  process.kill(database, 'SIGCONT')
  isThawed = true
  await reading
  // A share of the offered messages, since the machine may be busy with other work.
  expect(perSecond).toBeGreaterThan(PER_SECOND / 2)
  expect(Math.max(...loaders.map(({ slowestAckMs }) => slowestAckMs))).toBeLessThan(8_000)
  const sorted = readMs.sort((a, b) => a - b)
  expect(sorted[Math.floor(sorted.length * 0.99)]).toBeLessThan(5_000)
  expect([200, 503]).toContain(await historyStatus)
  expect(service.databasePid()).toBe(database)
})

test('a database that stays frozen is replaced, and every row arrives once', {
  timeout: 90_000,
}, async () => {
  const database = service.databasePid()
  process.kill(database, 'SIGSTOP')
  await until('another database process', () => otherThan(database), 45_000)
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
