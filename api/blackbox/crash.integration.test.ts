// Kills the service at any moment under load: nothing acknowledged is lost, nothing is stored twice, and order is kept.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { passed, type Service, ServiceHarness, until } from './testing/service.ts'
import { ackedOf, type Loader, startLoad, storedNumbers } from './testing/service-load.ts'
import { historyOf, type Rest, registerDevice } from './testing/service-rest.ts'

const BETWEEN_KILLS = 1_000
/** Milliseconds to wait, after that many messages, before a kill: early, late and in between. */
const MOMENTS = [0, 410, 130, 700] as const

const harness = new ServiceHarness()
let service: Service
let admin: Rest

beforeAll(async () => {
  service = await harness.start()
  admin = await service.admin()
})
afterAll(() => harness.close())

test('after four kills of the service and two of its database, every acknowledged message is stored once', async () => {
  const from = Math.floor(Date.now() / 10_000) * 10_000 - 30 * 86_400_000
  const startedAt = Date.now()
  const timed = await startLoad(service, admin, {
    prefix: 'timed',
    devices: 40,
    perSecond: 40,
    window: 8,
    from,
  })
  const plain = await startLoad(service, admin, { prefix: 'plain', devices: 10, perSecond: 40, window: 1 })
  const all = [...timed, ...plain]
  const registered: string[] = []

  for (const [round, momentMs] of MOMENTS.entries()) {
    await moreAcked(all)
    const id = `late-${round}`
    await registerDevice(admin, id)
    registered.push(id)
    if (round % 2 === 1) await killDatabase()
    await passed(momentMs)
    service.kill('SIGKILL')
    await service.ended
    // One process is killed before it is ready.
    if (round === 2) await harness.run(service.settings, 700)
    service = await service.again()
    admin = await service.admin()
  }
  for (const { deviceId } of all) expect(await statusOf(deviceId), deviceId).toBe('online')
  await moreAcked(all)
  await Promise.all(all.map((loader) => loader.finish()))

  // Read-your-writes must not wait for the database.
  for (const { deviceId, sent } of all) {
    const { body } = await admin.get(`/telemetry/${deviceId}`)
    expect(body['data'], deviceId).toEqual({ n: sent - 1 })
  }
  for (const id of registered) expect(await statusOf(id), id).toBe('provisioning')
  for (const { deviceId, sent } of timed) {
    const numbers = await until(`${deviceId} is stored`, async () => {
      const found = await storedNumbers(admin, deviceId, from, sent)
      return found.length >= sent && found
    })
    expect(numbers, deviceId).toEqual(Array.from({ length: sent }, (_, n) => n))
  }
  for (const loader of plain) await expectOrder(loader, startedAt)
  expect((await admin.get('/dead-letters')).body).toMatchObject({ total: 0 })
})

async function moreAcked(loaders: readonly Loader[]): Promise<void> {
  const before = ackedOf(loaders)
  await until('acknowledgements', () => ackedOf(loaders) >= before + BETWEEN_KILLS)
}

async function statusOf(deviceId: string): Promise<unknown> {
  return (await admin.get(`/devices/${deviceId}`)).body['status']
}

/** Does not wait for the next database process, since the service may be killed while there is none. */
async function killDatabase(): Promise<void> {
  process.kill(service.databasePid(), 'SIGKILL')
  await passed(300)
}

/** A message without a PUBACK may be stored once per transmission. Stored messages are in the order of sending. */
async function expectOrder({ deviceId, sent, transmitted }: Loader, from: number): Promise<void> {
  const range = { metric: 'n', interval: '10s', from: from - 10_000, to: Date.now() + 10_000 }
  const buckets = await until(`${deviceId} is stored`, async () => {
    const found = await historyOf(admin, deviceId, range)
    return found.at(-1)?.last === sent - 1 && found
  })
  const stored = buckets.reduce((sum, { count }) => sum + count, 0)
  expect(stored, deviceId).toBeGreaterThanOrEqual(sent)
  expect(stored, deviceId).toBeLessThanOrEqual(transmitted)
  let before = -1
  for (const { min, max, last } of buckets) {
    expect([min >= before, last], deviceId).toEqual([true, max])
    before = max
  }
}
