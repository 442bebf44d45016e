// Channels of alerts on a whole service: what is sent, what is refused, and what a crash leaves.
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Service, ServiceHarness, until } from './testing/service.ts'
import { connectDevice } from './testing/service-clients.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'

const CANARY = 'canary-in-a-header'
const harness = new ServiceHarness()
const seen: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = []
const sink = createServer((request, answer) => {
  let body = ''
  request.setEncoding('utf8')
  request.on('data', (part: string) => {
    body += part
  })
  request.on('end', () => {
    seen.push({ headers: request.headers, body })
    answer.end()
  })
})
let service: Service
let admin: Rest
let url: string

beforeAll(async () => {
  await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve))
  // It listens on TCP.
  const { port } = sink.address() as AddressInfo
  url = `http://127.0.0.1:${port}/hook`
  service = await harness.start({ FLEET_WEBHOOK_ALLOW: `127.0.0.1:${port}` })
  admin = await service.admin()
})
afterAll(async () => {
  sink.close()
  await harness.close()
})

test('a webhook is tested with a signature that its secret verifies, also after a crash', async () => {
  const made = await admin.post('/alerts/channels', { type: 'webhook', url, headers: { 'X-Key': CANARY } })
  expect(made.status).toBe(201)
  const { channel_id, secret } = made.body
  service.kill('SIGKILL')
  const { stdout, stderr } = await service.ended
  service = await service.again()
  admin = await service.admin()
  const tested = await admin.post(`/alerts/channels/${channel_id}/test`, {})
  expect(tested).toMatchObject({ status: 200, body: { delivered: true, status_code: 200 } })
  const [{ headers, body } = { headers: {}, body: '' }] = seen
  expect(headers).toMatchObject({ 'x-key': CANARY, 'user-agent': expect.stringMatching(/^fleet\/\d/) })
  expect(new Webhook(String(secret)).verify(body, headers as Record<string, string>)).toMatchObject({
    type: 'alert.test',
  })
  const listed = await admin.get(`/alerts/channels/${channel_id}/deliveries`)
  expect(listed.body).toMatchObject({ total: 1, data: [{ event: 'test', state: 'delivered' }] })
  const metrics = await fetch(`${service.httpUrl}/metrics`).then((answer) => answer.text())
  const read = await admin.get(`/alerts/channels/${channel_id}`)
  const letters = await admin.get('/dead-letters')
  expect(letters.status).toBe(200)
  for (const text of [stdout, stderr, metrics, listed.text, read.text, letters.text]) {
    expect(text).not.toContain(CANARY)
    expect(text).not.toContain(secret)
  }
  const audit = await until('the audit', async () => {
    const found = await admin.get('/audit?action=createChannel')
    return JSON.stringify(found.body).includes('createChannel') ? found : undefined
  })
  expect(audit.text).not.toContain(CANARY)
  expect(audit.text).not.toContain(secret)
})

test('an address that the operator did not name is refused', async () => {
  const refused = await admin.post('/alerts/channels', { type: 'webhook', url: 'http://127.0.0.1:1/' })
  expect(refused).toMatchObject({ status: 422, body: { code: 'WEBHOOK_TARGET_FORBIDDEN' } })
  const mail = await admin.post('/alerts/channels', { type: 'email', to: ['ops@example.com'] })
  expect(mail).toMatchObject({ status: 409, body: { code: 'SMTP_NOT_CONFIGURED' } })
})

test('a critical alert reaches its webhook at once, and its end does after a crash', async () => {
  const made = await admin.post('/alerts/channels', { type: 'webhook', url })
  const channel = String(made.body['channel_id'])
  const rule = {
    name: 'battery low',
    severity: 'critical',
    target: { type: 'device', value: 'pump' },
    condition: { kind: 'threshold', metric: 'battery', op: '<', value: 20 },
    channels: [channel],
  }
  const token = await registerDevice(admin, 'pump')
  expect(await admin.post('/alerts/rules', rule)).toMatchObject({ status: 201 })
  const device = await connectDevice(service, 'pump', token)
  const report = (battery: number) =>
    device.publishAsync('fleet/pump/telemetry', JSON.stringify({ battery }), { qos: 1 })
  const told = (type: string) => until(type, () => seen.find(({ body }) => body.includes(`"type":"${type}"`)))
  await report(10)
  const fired = await told('alert.fired')
  expect(
    new Webhook(String(made.body['secret'])).verify(fired.body, fired.headers as Record<string, string>),
  ).toMatchObject({
    data: {
      alert: { severity: 'critical', value: 10, threshold: 20 },
      device: { id: 'pump' },
      rule: { name: 'battery low' },
    },
  })
  device.end(true)
  service.kill('SIGKILL')
  const { stdout, stderr } = await service.ended
  for (const text of [stdout, stderr]) expect(text).not.toContain(made.body['secret'])
  service = await service.again()
  admin = await service.admin()
  const again = await connectDevice(service, 'pump', token)
  await again.publishAsync('fleet/pump/telemetry', JSON.stringify({ battery: 90 }), { qos: 1 })
  const resolved = await told('alert.resolved')
  expect(JSON.parse(resolved.body)).toMatchObject({ data: { device: { id: 'pump' }, total: 1 } })
  const firedIds = seen
    .filter(({ body }) => body.includes('"type":"alert.fired"'))
    .map(({ headers }) => headers['webhook-id'])
  expect(new Set(firedIds).size).toBe(1)
  expect(await admin.call('DELETE', `/alerts/channels/${channel}`)).toMatchObject({
    status: 409,
    body: { code: 'CHANNEL_IN_USE' },
  })
  again.end(true)
})
