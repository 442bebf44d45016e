// The audit of a whole service: every acknowledged change is in it, whatever happens to the process.
import { connectAsync } from 'mqtt'
import { expect } from 'vitest'
import { PROFILE, type Service, until } from './testing/service.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

let service: Service
let admin: Rest

test.beforeAll(async ({ service: given }) => {
  service = given
  admin = await service.admin()
})

type Entry = Readonly<Record<string, unknown>> & { readonly actor: Readonly<Record<string, unknown>> }

async function entries(query: string): Promise<readonly Entry[]> {
  const { status, body } = await admin.get(`/audit?${query}`)
  if (status === 503) return []
  // The answer has the type of its schema; a wrong shape fails the test that reads it.
  return body['data'] as readonly Entry[]
}

const entry = (query: string) => until(query, async () => (await entries(query))[0])

test('logins and changes are found by author, action and object', async () => {
  await registerDevice(admin, 'found')
  const registered = await entry('action=registerDevice&device_id=found')
  expect(registered).toMatchObject({
    actor: { type: 'user', name: 'admin@example.com' },
    target: 'devices/found',
    outcome: 'success',
    code: null,
    ip: '127.0.0.1',
    count: 1,
    detail: { fields: ['device_id', 'name', 'type'] },
  })
  const login = await entry('action=login&actor=admin@example.com&outcome=success')
  expect(login.actor['id']).toBe(registered.actor['id'])
  const from = new Date().toISOString()
  await service.nobody.post('/auth/login', { email: 'admin@example.com', password: 'wrong' })
  const refused = await entry(`action=login&outcome=refused&from=${from}`)
  expect(refused).toMatchObject({
    code: 'INVALID_CREDENTIALS',
    actor: { type: 'anonymous' },
    // An account that exists is named, so that nobody's guesses drown among made-up ones.
    target: `users/${registered.actor['id']}`,
  })
})

test('every change acknowledged before a kill is in the audit afterwards', async () => {
  await registerDevice(admin, 'crashed')
  const acknowledged: number[] = []
  // The service is killed while calls are in progress.
  const writer = (async () => {
    for (let n = 0; ; n++) {
      const { status } = await admin.call('PATCH', '/devices/crashed', { name: `n${n}` })
      if (status === 200) acknowledged.push(n)
    }
  })().catch(() => undefined)
  await until('some changes', () => acknowledged.length >= 20)
  service.kill('SIGKILL')
  await writer
  service = await service.again()
  const found = await until('all entries', async () => {
    const all = await entries('action=editDevice&device_id=crashed&outcome=success&limit=200')
    return all.length >= Math.min(200, acknowledged.length) && all
  })
  // One more change may have been made without an acknowledgement.
  if (acknowledged.length < 200) expect(found.length - acknowledged.length).toBeLessThanOrEqual(1)
  expect(new Set(found.map(({ id }) => id)).size).toBe(found.length)
})

// In a cluster EMQX refuses them itself.
test.skipIf(PROFILE === 'cluster')(
  'refusals of devices are counted instead of written each time',
  async () => {
    for (let n = 0; n < 5; n++)
      await expect(
        connectAsync(service.mqttUrl, {
          clientId: 'intruder',
          username: 'intruder',
          password: 'x',
          reconnectPeriod: 0,
        }),
      ).rejects.toThrow()
    const first = await entry('action=mqtt.connect&device_id=intruder')
    expect(first).toMatchObject({
      actor: { type: 'anonymous', id: null },
      outcome: 'refused',
      code: 'MQTT_CONNECTION_REFUSED',
      ip: '127.0.0.1',
      count: 1,
    })
    expect((await entries('action=mqtt.connect&device_id=intruder')).length).toBeLessThanOrEqual(2)
  },
)
