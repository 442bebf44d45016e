// Alerts while the service dies: between firing and telling, with many that wait, and while it waits to try again. And
// while ClickHouse is away, and in a storm.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PROFILE, type Service, ServiceHarness, until } from './testing/service.ts'
import { connectDevice, publish, watch } from './testing/service-clients.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'
import { WebhookSink } from './testing/webhook-sink.ts'

const CANARY = 'canary-in-a-header'
const RULES = 40
/** What may be under way when the service dies. */
const UNDER_WAY_MAX = 32

const harness = new ServiceHarness()
let sink: WebhookSink
let service: Service
let admin: Rest
let channel: string
let secret: string

beforeAll(async () => {
  sink = await WebhookSink.open()
  service = await harness.start({ FLEET_WEBHOOK_ALLOW: sink.host })
  admin = await service.admin()
  const made = await admin.post('/alerts/channels', {
    type: 'webhook',
    url: sink.url,
    ...{ headers: { 'X-Key': CANARY }, group_wait_sec: 0, group_interval_sec: 0, rate_per_minute: 600 },
  })
  channel = String(made.body['channel_id'])
  secret = String(made.body['secret'])
})
afterAll(async () => {
  sink.close()
  await harness.close()
})

async function killed(): Promise<void> {
  service.kill('SIGKILL')
  await service.ended
  service = await service.again()
  admin = await service.admin()
}

const rule = async (deviceId: string, more: object = {}) => {
  const made = await admin.post('/alerts/rules', {
    ...{ name: deviceId, severity: 'critical', group_by: 'none', channels: [channel] },
    target: { type: 'device', value: deviceId },
    condition: { kind: 'threshold', metric: 't', op: '>', value: 10 },
    ...more,
  })
  expect(made.status, made.text).toBe(201)
}

async function openAlerts(deviceId: string): Promise<readonly string[]> {
  const { body } = await admin.get(`/alerts?device_id=${deviceId}&per_page=100`)
  // A page, by its schema.
  return (body['data'] as readonly { readonly alert_id: string }[]).map(({ alert_id: id }) => id)
}

test('alerts that wait for a slow receiver outlive a kill, each under one id', async () => {
  const token = await registerDevice(admin, 'storm')
  await Promise.all(Array.from({ length: RULES }, () => rule('storm')))
  const device = await connectDevice(service, 'storm', token)
  // It takes messages and answers none of them.
  sink.answer = () => 0
  await publish(device, 'storm', { t: 11 })
  await until('alerts are under way', () => sink.taken.length > 0)
  device.end(true)
  await killed()
  const alerts = await until('all fire', async () => {
    const open = await openAlerts('storm')
    return open.length === RULES && open
  })
  sink.answer = () => 200
  sink.cut()
  const isTold = (id: string) =>
    sink.taken.some(({ alerts, status }) => status === 200 && alerts.includes(id))
  await until('all are told of', () => alerts.every(isTold))
  for (const id of alerts) expect(sink.idsOf(id, 'alert.fired')).toHaveLength(1)
  expect(sink.taken.length - RULES).toBeLessThanOrEqual(UNDER_WAY_MAX)
})

test('what waits to be tried again is tried after a kill, under its id', async () => {
  const token = await registerDevice(admin, 'later')
  await rule('later')
  const device = await connectDevice(service, 'later', token)
  sink.taken.length = 0
  sink.answer = () => 503
  await publish(device, 'later', { t: 11 })
  await until('it was refused', () => sink.taken.length > 0)
  device.end(true)
  await killed()
  sink.answer = () => 200
  await until('it is told', () => sink.taken.some(({ status }) => status === 200))
  expect(new Set(sink.taken.map(({ id }) => id)).size).toBe(1)
  const again = await connectDevice(service, 'later', token)
  await publish(again, 'later', { t: 1 })
  await until('its end is told', () => sink.taken.some(({ type }) => type === 'alert.resolved'))
  expect(sink.taken.filter(({ type, status }) => type === 'alert.fired' && status === 200)).toHaveLength(1)
  again.end(true)
})

test.runIf(PROFILE === 'embedded')(
  'alerts fire, are told of and end while ClickHouse is away, and are in the history afterwards',
  async () => {
    const token = await registerDevice(admin, 'alone')
    await rule('alone')
    const device = await connectDevice(service, 'alone', token)
    sink.taken.length = 0
    sink.answer = () => 200
    const database = service.databasePid()
    process.kill(database, 'SIGSTOP')
    let alert = ''
    try {
      await publish(device, 'alone', { t: 11 })
      await until('it is told', () => sink.taken.some(({ type }) => type === 'alert.fired'))
      alert = (await openAlerts('alone'))[0] ?? ''
      await publish(device, 'alone', { t: 1 })
      await until('its end is told', () => sink.taken.some(({ type }) => type === 'alert.resolved'))
    } finally {
      process.kill(database, 'SIGCONT')
    }
    const moves = await until('its moves are stored', async () => {
      const { body } = await admin.get(`/alerts/${alert}`)
      // An alert, by its schema.
      const timeline = body['timeline'] as readonly { readonly event: string }[] | undefined
      return timeline !== undefined && timeline.length >= 2 && timeline
    })
    expect(moves.map(({ event }) => event).sort()).toEqual(['alert.fired', 'alert.resolved'])
    device.end(true)
  },
)

test('what is told on /ws of alerts and channels has no secret', async () => {
  const watcher = await watch(service, admin)
  await watcher.subscribe('alerts', 'alerts', { filter: {}, snapshot: true })
  const token = await registerDevice(admin, 'seen')
  await rule('seen')
  const device = await connectDevice(service, 'seen', token)
  // The receiver wants no more, so the channel is given up, which is told.
  sink.answer = () => 410
  await publish(device, 'seen', { t: 11 })
  await until('the channel is given up', () =>
    watcher.frames.some((frame) => JSON.stringify(frame).includes('"channel.state"')),
  )
  const text = JSON.stringify(watcher.frames)
  expect(text).toContain('alert.fired')
  expect(text).not.toContain(CANARY)
  expect(text).not.toContain(secret)
  watcher.socket.close()
  device.end(true)
})
