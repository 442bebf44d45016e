// What a device is told of messages that could not be used.
import type { MqttClient } from 'mqtt'
import mqttJs from 'mqtt'
import { expect } from 'vitest'
import { FleetDevice } from '../../engine/edge/device/index.ts'
import { PROFILE, type Service, until } from './testing/service.ts'
import { closedOf, connectDevice, publish } from './testing/service-clients.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

/** EMQX acknowledges by itself, and ends no session for a forbidden topic. */
const IS_EMQX = PROFILE === 'cluster'
let service: Service
let admin: Rest

test.beforeAll(async ({ service: given }) => {
  service = given
  admin = await service.admin()
})

interface DeviceError {
  readonly code: string
  readonly topic: string
  readonly detail: string
  readonly advice: string
}

/** Subscribes to `error` and collects what comes. */
async function hearErrors(client: MqttClient, id: string): Promise<readonly DeviceError[]> {
  const told: DeviceError[] = []
  client.on('message', (topic, payload) => {
    // Written by the service under test; a wrong shape fails the test.
    if (topic === `fleet/${id}/error`) told.push(JSON.parse(payload.toString()) as DeviceError)
  })
  await client.subscribeAsync(`fleet/${id}/error`, { qos: 0 })
  return told
}

interface Letter {
  readonly reason: string
  readonly topic: string
  readonly advice: string
}

async function lettersOf(id: string): Promise<readonly Letter[]> {
  const { body } = await admin.get(`/dead-letters?device_id=${id}`)
  // Checked against its schema in api/contract.
  return body['data'] as readonly Letter[]
}

test('a device that mistypes a topic is told on error, and the dead letter has the same advice', async () => {
  const token = await registerDevice(admin, 'typo')
  const client = await connectDevice(service, 'typo', token)
  const told = await hearErrors(client, 'typo')
  await publish(client, 'typo', '{"a":1}', 'telemtry')
  await until('the error', () => told.length > 0)
  expect(told[0]).toMatchObject({ code: 'UNKNOWN_TOPIC', topic: 'fleet/typo/telemtry' })
  expect(told[0]?.detail).toContain('did you mean telemetry?')
  expect(await lettersOf('typo')).toMatchObject([
    { reason: 'UNKNOWN_TOPIC', topic: 'fleet/typo/telemtry', advice: told[0]?.advice },
  ])
  await client.endAsync(true)
})

test('an answer to a command that nobody gave is told, too', async () => {
  const client = await connectDevice(service, 'answers', await registerDevice(admin, 'answers'))
  const told = await hearErrors(client, 'answers')
  await publish(client, 'answers', '{"request_id":"cmd_404","status":"completed"}', 'command/ack')
  await until('the error', () => told.length > 0)
  expect(told[0]).toMatchObject({ code: 'UNKNOWN_COMMAND' })
  await client.endAsync(true)
})

test('a device that uses a forbidden topic is told at once, or in its next session if this one ends for it', async () => {
  const token = await registerDevice(admin, 'stranger')
  let client = await connectDevice(service, 'stranger', token)
  let told: readonly DeviceError[] = IS_EMQX ? await hearErrors(client, 'stranger') : []
  const closed = closedOf(client)
  client.publish('fleet/typo/telemetry', '{"a":1}', { qos: 1 })
  if (!IS_EMQX) {
    await closed
    await client.endAsync(true)
  }
  await until('the dead letter', async () => (await lettersOf('stranger')).length > 0)
  if (!IS_EMQX) {
    client = await connectDevice(service, 'stranger', token)
    told = await hearErrors(client, 'stranger')
  }
  await until('the error', () => told.length > 0)
  expect(told[0]).toMatchObject({ code: 'FORBIDDEN_TOPIC', topic: 'fleet/typo/telemetry' })
  await client.endAsync(true)
})

test('a device of MQTT 5 is told in the acknowledgement', async () => {
  const password = await registerDevice(admin, 'five')
  const { hostname, port } = new URL(service.mqttUrl)
  const client = await mqttJs.connectAsync({
    host: hostname,
    port: Number(port),
    protocolVersion: 5,
    clientId: 'five',
    username: 'five',
    password,
    reconnectPeriod: 0,
  })
  const codeOf = (topic: string, payload: string) =>
    client.publishAsync(topic, payload, { qos: 1 }).then(
      () => 0,
      ({ code }: { readonly code: number }) => code,
    )
  expect(await codeOf('fleet/five/telemetry', '{"a":1}')).toBe(0)
  expect(await codeOf('fleet/five/telemtry', '{"a":1}')).toBe(IS_EMQX ? 0 : 0x90)
  expect(await codeOf('fleet/five/telemetry', '{"a":')).toBe(IS_EMQX ? 0 : 0x99)
  expect(await codeOf('fleet/typo/telemetry', '{"a":1}')).toBe(0x87)
  expect(client.connected).toBe(true)
  await until('all dead letters', async () => (await lettersOf('five')).length === 3)
  expect((await lettersOf('five')).map(({ reason }) => reason).sort()).toEqual([
    'FORBIDDEN_TOPIC',
    'UNKNOWN_TOPIC',
    'not_json',
  ])
  await client.endAsync(true)
})

test('a device whose token ends soon is told so, and the device library asks for another one', async () => {
  for (const id of ['ends', 'renews']) await registerDevice(admin, id)
  const { body } = await admin.post('/auth/devices/token', { device_id: 'ends', ttl_sec: 60 })
  const renewed = await service.nobody.post('/auth/devices/token/renew', { mqtt_token: body['mqtt_token'] })
  expect(renewed.status).toBe(200)
  const { body: own } = await admin.post('/auth/devices/token', { device_id: 'renews', ttl_sec: 60 })
  const device = new FleetDevice({
    ...{ url: service.mqttUrl, deviceId: 'renews', token: String(own['mqtt_token']) },
    firmwareVersion: '1.0.0',
  })
  let connects = 0
  device.on('connected', () => connects++)
  await device.connect()
  const client = await connectDevice(service, 'ends', String(renewed.body['mqtt_token']))
  const told = await hearErrors(client, 'ends')
  // A tenth of a minute before its end.
  await until('the notice', () => told.length > 0)
  expect(told[0]).toMatchObject({ code: 'TOKEN_EXPIRES', topic: 'fleet/ends/token/get' })
  // Whoever runs the fleet finds it, too.
  await until('the entry of the audit', async () => {
    const { body } = await admin.get('/audit?action=mqtt.token&device_id=ends')
    return JSON.stringify(body['data']).includes('its credentials end at 20')
  })
  // The first token has ended then.
  await until('another connection', () => connects > 1)
  await device.telemetry({ a: 1 })
  await device.close()
  await client.endAsync(true)
})
