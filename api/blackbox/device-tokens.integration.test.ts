// Tokens of devices: a new one over MQTT, and what a revoked one is still good for.
import { connect } from 'mqtt'
import { expect } from 'vitest'
import { applied, type Service, until } from './testing/service.ts'
import { closedOf, connectDevice, publish } from './testing/service-clients.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

let service: Service
let admin: Rest

test.beforeAll(async ({ service: given }) => {
  service = given
  admin = await service.admin()
})

test('a connected device asks for a new token, and connects with it', async () => {
  const token = await registerDevice(admin, 'renews')
  const client = await connectDevice(service, 'renews', token)
  const answers: { mqtt_token: string; client_token: string }[] = []
  // Written by the service under test; a wrong shape fails the test.
  client.on('message', (_, payload) => answers.push(JSON.parse(payload.toString())))
  await client.subscribeAsync('fleet/renews/token/accepted', { qos: 1 })
  await publish(client, 'renews', { ttl_sec: 600, client_token: 'x' }, 'token/get')
  await until('the token', () => answers.length > 0)
  expect(answers[0]).toMatchObject({ client_token: 'x' })
  await client.endAsync(true)
  const again = await connectDevice(service, 'renews', answers[0]?.mqtt_token ?? '')
  await publish(again, 'renews', { a: 1 })
  await again.endAsync(true)
})

test('a token that was revoked opens no session, or one that ends at once', async () => {
  const leaked = await registerDevice(admin, 'leaks')
  expect(await admin.post('/auth/devices/leaks/revoke', undefined)).toMatchObject({ status: 200 })
  for (let tries = 0; tries < 2; tries++) {
    const client = connect(service.mqttUrl, {
      ...{ clientId: 'leaks', username: 'leaks', password: leaked },
      reconnectPeriod: 0,
    })
    client.on('error', () => undefined)
    await closedOf(client)
    await client.endAsync(true)
  }
  const { body } = await admin.post('/auth/devices/token', { device_id: 'leaks' })
  const client = await connectDevice(service, 'leaks', String(body['mqtt_token']))
  await publish(client, 'leaks', { n: 1 })
  await applied(async () => expect((await admin.get('/devices/leaks')).body['status']).toBe('online'))
  await client.endAsync()
})
