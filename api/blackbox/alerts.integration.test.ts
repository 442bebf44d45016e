// Alerts of the whole service: rules, kills, silence of devices, and silences of people.
import { expect } from 'vitest'
import { type Service, until } from './testing/service.ts'
import { connectDevice, publish } from './testing/service-clients.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

let service: Service
let admin: Rest

test.beforeAll(async ({ service: given }) => {
  service = given
  admin = await service.admin()
})

type Body = Readonly<Record<string, unknown>>

async function rule(deviceId: string, wish: object): Promise<string> {
  const target = { type: 'device', value: deviceId }
  const made = await admin.post('/alerts/rules', { name: `about ${deviceId}`, target, ...wish })
  expect([made.status, made.text]).toEqual([201, expect.anything()])
  return String(made.body['rule_id'])
}

async function alertsOf(deviceId: string, state = 'firing,recovering'): Promise<readonly Body[]> {
  const { body } = await admin.get(`/alerts?device_id=${deviceId}&state=${state}`)
  // A page, by its schema.
  return body['data'] as readonly Body[]
}

test('a threshold fires with the message that crosses it, and recovers with the one that goes back', async () => {
  const token = await registerDevice(admin, 'hot')
  await rule('hot', { condition: { kind: 'threshold', metric: 't', op: '>', value: 10, clear_value: 8 } })
  const device = await connectDevice(service, 'hot', token)
  await publish(device, 'hot', { t: 11 })
  await until('the alerts are as expected', async () => (await alertsOf('hot')).length === 1)
  const [alert] = await alertsOf('hot')
  expect(alert).toMatchObject({
    state: 'firing',
    value: 11,
    threshold: 10,
    message: 'hot: threshold 11 (10)',
  })
  await publish(device, 'hot', { t: 9 })
  await publish(device, 'hot', { t: 7 })
  await until('the alerts are as expected', async () => (await alertsOf('hot', 'resolved')).length === 1)
  expect(await alertsOf('hot', 'resolved')).toMatchObject([
    { alert_id: alert?.['alert_id'], reason: 'recovered' },
  ])
  await device.endAsync()
})

test('a kill changes neither what is open nor when what is pending fires', async () => {
  const token = await registerDevice(admin, 'killed')
  await rule('killed', { condition: { kind: 'threshold', metric: 't', op: '>', value: 10 } })
  await rule('killed', { condition: { kind: 'threshold', metric: 'u', op: '>', value: 10 }, for_sec: 8 })
  const device = await connectDevice(service, 'killed', token)
  await publish(device, 'killed', { t: 11, u: 11 })
  const sentAt = Date.now()
  await until('the alerts are as expected', async () => (await alertsOf('killed')).length === 1)
  const [before] = await alertsOf('killed')
  service.kill('SIGKILL')
  await service.ended
  service = await service.again()
  admin = await service.admin()
  await until('the alerts are as expected', async () => (await alertsOf('killed')).length === 2)
  expect(Date.now() - sentAt).toBeGreaterThanOrEqual(8_000)
  const after = await alertsOf('killed')
  expect(after.map(({ alert_id: id }) => id)).toContain(before?.['alert_id'])
  const late = after.find(({ metric }) => metric === 'u')
  const waited = Date.parse(String(late?.['fired_at'])) - Date.parse(String(late?.['started_at']))
  expect(waited).toBeGreaterThanOrEqual(8_000)
})

test('a device that says nothing has an alert, and the next word ends it', async () => {
  const token = await registerDevice(admin, 'mute')
  const device = await connectDevice(service, 'mute', token)
  await publish(device, 'mute', { t: 1 })
  await rule('mute', { condition: { kind: 'absence', for_sec: 2 } })
  await until('the alerts are as expected', async () => (await alertsOf('mute')).length === 1)
  await publish(device, 'mute', { t: 1 })
  await until('the alerts are as expected', async () => (await alertsOf('mute')).length === 0)
  await device.endAsync()
})

test('maintenance and silences mute an alert and say so', async () => {
  const token = await registerDevice(admin, 'quiet')
  await rule('quiet', { condition: { kind: 'threshold', metric: 't', op: '>', value: 10 } })
  const device = await connectDevice(service, 'quiet', token)
  await publish(device, 'quiet', { t: 1 })
  const ends = new Date(Date.now() + 3_600_000).toISOString()
  const silence = { matchers: { device_id: 'quiet' }, ends_at: ends, comment: 'rewiring' }
  const made = await admin.post('/alerts/silences', silence)
  expect(made.status).toBe(201)
  await admin.call('PATCH', '/devices/quiet', { status: 'maintenance' })
  await publish(device, 'quiet', { t: 11 })
  await until('the alerts are as expected', async () => (await alertsOf('quiet')).length === 1)
  expect((await alertsOf('quiet'))[0]?.['suppressed_by']).toEqual([
    `silence:${made.body['silence_id']}`,
    'maintenance',
  ])
  await device.endAsync()
})
