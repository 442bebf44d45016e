// A purge removes everything about a device, whatever crashes meanwhile, and its id is another device's afterwards.
import { expect } from 'vitest'
import { applied, PROFILE, type Service, until } from './testing/service.ts'
import { closedOf, connectDevice, publish } from './testing/service-clients.ts'
import { historyOf, type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

let service: Service
let admin: Rest
const from = Math.floor(Date.now() / 60_000) * 60_000 - 3_600_000

test.beforeAll(async ({ service: given }) => {
  service = given
  admin = await service.admin()
})

const bucketsOf = (id: string) =>
  historyOf(admin, id, { metric: 'n', interval: '1h', from, to: from + 3 * 3_600_000 })

/** A device that has said and been told something. Resolves with its token once all of it is stored. */
async function live(id: string): Promise<string> {
  const token = await registerDevice(admin, id, { group: 'old' })
  const client = await connectDevice(service, id, token)
  await publish(client, id, { n: 1 })
  await publish(client, id, 'not JSON')
  await admin.call('PUT', `/shadows/${id}/desired`, { data: { speed: 3 } })
  await until('its points', async () => (await bucketsOf(id)).length > 0)
  await applied(async () =>
    expect((await admin.get(`/dead-letters?device_id=${id}`)).body).toMatchObject({ total: 1 }),
  )
  const closed = closedOf(client)
  client.end()
  await closed
  return token
}

/** Registers the id again and expects nothing of the earlier device. */
async function expectNew(id: string): Promise<void> {
  const token = await registerDevice(admin, id, { group: 'new' })
  const { body } = await admin.get(`/devices/${id}`)
  expect(body).toMatchObject({ status: 'provisioning', group: 'new', last_seen_at: null })
  expect((await admin.get(`/telemetry/${id}`)).body).toMatchObject({ data: {}, timestamp: null })
  expect((await admin.get(`/shadows/${id}`)).body).toMatchObject({ version: 0, desired: {} })
  expect((await admin.get(`/dead-letters?device_id=${id}`)).body).toMatchObject({ total: 0 })
  expect(await bucketsOf(id)).toEqual([])
  await until('a connection', () =>
    connectDevice(service, id, token).then(
      async (client) => {
        await publish(client, id, { n: 7 })
        await client.endAsync()
        return true
      },
      // EMQX lifts its ban a moment after the purge.
      () => false,
    ),
  )
  await until('the new points alone', async () => (await bucketsOf(id))[0]?.count === 1)
  expect((await bucketsOf(id))[0]).toMatchObject({ count: 1, last: 7 })
}

test('a purged device leaves nothing behind, and its id is free', async () => {
  const token = await live('pump-1')
  const purged = await until('the purge', async () => {
    const answer = await admin.call('DELETE', '/devices/pump-1?purge=true')
    return answer.status !== 202 && answer
  })
  expect([200, 404]).toContain(purged.status)
  expect((await admin.get('/devices/pump-1')).status).toBe(404)
  expect((await admin.get('/devices?group=old')).body).toMatchObject({ total: 0 })
  if (PROFILE === 'embedded') await expect(connectDevice(service, 'pump-1', token)).rejects.toThrow()
  await expectNew('pump-1')
})

test('a purge that was begun is finished after the service was killed', async () => {
  await live('pump-2')
  const database = service.databasePid()
  // Without the database, the purge cannot be finished before the kill.
  process.kill(database, 'SIGSTOP')
  const begun = await admin.call('DELETE', '/devices/pump-2?purge=true')
  expect([begun.status, begun.body['status']]).toEqual([202, 'decommissioned'])
  if (PROFILE === 'embedded') service.signalAll('SIGKILL')
  else service.kill('SIGKILL')
  await service.ended
  // In the embedded profile the database died with the service.
  if (PROFILE !== 'embedded') process.kill(database, 'SIGCONT')
  service = await service.again()
  admin = await service.admin()
  await until('the end of the purge', async () => (await admin.get('/devices/pump-2')).status === 404)
  await expectNew('pump-2')
})
