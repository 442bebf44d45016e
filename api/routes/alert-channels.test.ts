import { beforeEach, describe, expect, test } from 'vitest'
import { newPackr } from '../../engine/domain/packing.ts'
import { NO_SAVE } from '../../engine/ports/store.ts'
import { openHarness } from '../testing/rest.ts'

const CHANNELS = '/api/v1/alerts/channels'
const WEBHOOK = { type: 'webhook', name: 'hook', url: 'https://hooks.example.com/fleet' }
const CANARY = 'canary-secret'

let harness: ReturnType<typeof openHarness>
let token: string

beforeEach(async () => {
  harness = openHarness()
  token = (await harness.login('admin')).token
})

const send = (line: string, body?: unknown, headers?: Record<string, string>) =>
  harness.request(line, { token, body, ...(headers === undefined ? {} : { headers }) })
const create = async (body: object) => {
  const made = await send(`POST ${CHANNELS}`, body)
  expect(made.status).toBe(201)
  return made
}

describe('what a channel is', () => {
  test('a webhook has defaults, a Location and a secret that is shown once', async () => {
    const { body, headers } = await create(WEBHOOK)
    expect(body).toMatchObject({
      ...{
        channel_id: expect.stringMatching(/^ch_/),
        name: 'hook',
        type: 'webhook',
        state: 'ok',
        enabled: true,
      },
      ...{
        severity: ['info', 'warning', 'critical'],
        default: false,
        method: 'POST',
        template: null,
        headers: {},
      },
      ...{ group_wait_sec: 10, group_interval_sec: 60, rate_per_minute: 60, last_error: null },
    })
    expect(body.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(headers['location']).toBe(`${CHANNELS}/${body.channel_id}`)
    const read = await send(`GET ${CHANNELS}/${body.channel_id}`)
    expect(read.body.secret).toBe('••••')
    expect(read.headers['etag']).toBe('"1"')
    expect((await send(`GET ${CHANNELS}`)).body).toMatchObject({ total: 1, data: [{ secret: '••••' }] })
  })

  test.each([
    WEBHOOK,
    { type: 'chat_webhook', webhook_url: `https://hooks.slack.com/${CANARY}` },
    { type: 'email', to: ['ops@example.com'] },
  ])('one that was read, changed and sent back keeps what cannot be changed: $type', async (wish) => {
    const at = `${CHANNELS}/${(await create(wish)).body.channel_id}`
    const { body: read } = await send(`GET ${at}`)
    const sent = await send(`PATCH ${at}`, { ...read, group_wait_sec: 5 })
    const { updated_at, etag } = sent.body
    expect(sent.body).toEqual({ ...read, group_wait_sec: 5, updated_at, etag })
    for (const name of ['channel_id', 'created_by', 'created_at'])
      expect(await send(`PATCH ${at}`, { ...read, [name]: 'other' })).toMatchObject({
        status: 422,
        body: { code: 'IMMUTABLE_FIELD', errors: [{ path: `/${name}` }] },
      })
  })

  test('secrets are never returned, and sending back their mask keeps them', async () => {
    const chat = { type: 'chat_webhook', webhook_url: `https://hooks.slack.com/${CANARY}`, channel: '#ops' }
    const hook = { ...WEBHOOK, headers: { Authorization: `Bearer ${CANARY}` } }
    const made = [await create(chat), await create(hook)]
    for (const { body } of made) {
      const read = await send(`GET ${CHANNELS}/${body.channel_id}`)
      expect(read.text).not.toContain(CANARY)
      const { webhook_url, headers } = read.body
      const sent = webhook_url === undefined ? { headers } : { webhook_url }
      expect((await send(`PATCH ${CHANNELS}/${body.channel_id}`, { ...sent, name: 'x' })).status).toBe(200)
      expect((await send(`POST ${CHANNELS}/${body.channel_id}/test`)).body.delivered).toBe(true)
      const deliveries = await send(`GET ${CHANNELS}/${body.channel_id}/deliveries`)
      expect(deliveries.text).not.toContain(CANARY)
    }
    const [first, second] = harness.engine.outbound.requests
    expect(first?.url).toBe(chat.webhook_url)
    expect(second?.headers['Authorization']).toBe(`Bearer ${CANARY}`)
    expect(JSON.stringify(harness.engine.recorded)).not.toContain(CANARY)
    expect(await harness.engine.metrics()).not.toContain(CANARY)
  })

  test('operators and viewers see only the name of a channel', async () => {
    const { body } = await create(WEBHOOK)
    for (const role of ['operator', 'viewer'] as const) {
      const other = await harness.login(role)
      const read = await harness.request(`GET ${CHANNELS}/${body.channel_id}`, other)
      const { channel_id, name, type, severity, state } = body
      expect(read.body).toEqual({ channel_id, name, type, severity, state })
      const list = await harness.request(`GET ${CHANNELS}`, other)
      expect(list.body.data).toEqual([read.body])
    }
  })
})

test('a channel that is turned off is shown as disabled to everybody, and this is announced', async () => {
  const { body } = await create(WEBHOOK)
  const path = `${CHANNELS}/${body.channel_id}`
  const viewer = await harness.login('viewer')
  const state = async () => (await harness.request(`GET ${path}`, viewer)).body.state
  expect((await send(`PATCH ${path}`, { enabled: false })).body.state).toBe('disabled')
  expect(await state()).toBe('disabled')
  const summary = await harness.request('GET /api/v1/alerts/summary', viewer)
  expect(summary.body.channels).toContainEqual(expect.objectContaining({ name: 'hook', state: 'disabled' }))
  await send(`PATCH ${path}`, { enabled: true })
  expect(await state()).toBe('ok')
})

test('a channel whose fallback was deleted can be changed, but not to another fallback that does not exist', async () => {
  const { body: other } = await create(WEBHOOK)
  const { body: made } = await create({ ...WEBHOOK, fallback_channel_id: other.channel_id })
  expect((await send(`DELETE ${CHANNELS}/${other.channel_id}`)).status).toBe(204)
  const path = `${CHANNELS}/${made.channel_id}`
  const edited = await send(`PATCH ${path}`, { name: 'still a hook' })
  expect(edited).toMatchObject({
    status: 200,
    body: { name: 'still a hook', fallback_channel_id: other.channel_id },
  })
  const refused = await send(`PATCH ${path}`, { fallback_channel_id: 'ch_none' })
  expect([refused.status, refused.body.errors[0].path]).toEqual([422, '/fallback_channel_id'])
})

describe('what a channel may be', () => {
  test.each([
    [{ type: 'webhook' }, '/url'],
    [{ type: 'chat_webhook' }, '/webhook_url'],
    [{ type: 'email' }, '/to'],
    [{ ...WEBHOOK, url: 'example.com' }, '/url'],
    [{ ...WEBHOOK, headers: { 'webhook-id': 'x' } }, '/headers/webhook-id'],
    [{ ...WEBHOOK, headers: { 'Content-Type': 'x' } }, '/headers/Content-Type'],
    [{ ...WEBHOOK, headers: { 'x-a': 'a\r\nb' } }, '/headers/x-a'],
    [{ ...WEBHOOK, headers: { 'x a': 'b' } }, '/headers/x a'],
    [{ ...WEBHOOK, headers: { 'x-a': '••••' } }, '/headers/x-a'],
    [{ ...WEBHOOK, template: '{"{{alert.id}}":1}' }, '/template'],
    [{ ...WEBHOOK, fallback_channel_id: 'ch_none' }, '/fallback_channel_id'],
    [{ ...WEBHOOK, rate_per_minute: 601 }, '/rate_per_minute'],
    [{ ...WEBHOOK, severity: [] }, '/severity'],
  ])('%j is refused at %s', async (body, path) => {
    const refused = await send(`POST ${CHANNELS}`, body)
    expect(refused).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED', errors: [{ path }] } })
  })

  test('a template has at most 16 KiB, in whichever form it is sent', async () => {
    const template = { text: 'ä'.repeat(8_192) }
    for (const each of [template, JSON.stringify(template)]) {
      const refused = await send(`POST ${CHANNELS}`, { ...WEBHOOK, template: each })
      expect(refused).toMatchObject({ status: 422, body: { errors: [{ path: '/template' }] } })
    }
  })

  test('a template that is no JSON is refused with its position', async () => {
    const refused = await send(`POST ${CHANNELS}`, { ...WEBHOOK, template: '{"a": {{alert.value}}}' })
    expect(refused).toMatchObject({ status: 422, body: { code: 'VALIDATION_FAILED', position: 7 } })
  })

  test('an unknown placeholder is named', async () => {
    const template = '{"text":"{{alert.message}} {{env.HOME}}"}'
    const refused = await send(`POST ${CHANNELS}`, { ...WEBHOOK, template })
    expect(refused).toMatchObject({
      status: 422,
      body: { code: 'UNKNOWN_PLACEHOLDER', placeholder: 'env.HOME' },
    })
  })

  test.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://[::ffff:169.254.169.254]/',
    'http://localhost:9/',
  ])('the address %s is refused, and the refusal names the setting', async (url) => {
    const refused = await send(`POST ${CHANNELS}`, { ...WEBHOOK, url })
    expect(refused).toMatchObject({ status: 422, body: { code: 'WEBHOOK_TARGET_FORBIDDEN' } })
    expect(refused.body.detail).toContain('FLEET_WEBHOOK_ALLOW')
  })
})

test.each(['ftp://example.com/', 'file:///etc/passwd', 'https://user:pw@example.com/'])(
  'nothing is ever sent to %s',
  async (url) => {
    const refused = await send(`POST ${CHANNELS}`, { ...WEBHOOK, url })
    const body = { code: 'WEBHOOK_TARGET_FORBIDDEN', errors: [{ path: '/url' }] }
    expect(refused).toMatchObject({ status: 422, body })
  },
)

test.each(['group_wait_sec', 'group_interval_sec'])('%s is a duration of up to 30 days', async (field) => {
  expect((await create({ ...WEBHOOK, [field]: 2_592_000 })).body).toMatchObject({ [field]: 2_592_000 })
  const longer = await send(`POST ${CHANNELS}`, { ...WEBHOOK, [field]: 2_592_001 })
  expect([longer.status, longer.body.errors[0].path]).toEqual([422, `/${field}`])
})

describe('changes', () => {
  test('an edit changes what it names and the ETag', async () => {
    const { body } = await create({ ...WEBHOOK, group: 'a', template: '{"t":"{{alert.message}}"}' })
    const path = `${CHANNELS}/${body.channel_id}`
    const edited = await send(`PATCH ${path}`, { severity: ['critical'], group: null }, { 'if-match': '"1"' })
    expect(edited.body).toMatchObject({
      severity: ['critical'],
      group: null,
      template: body.template,
      name: 'hook',
    })
    expect(edited.headers['etag']).toBe('"2"')
    expect(await send(`PATCH ${path}`, { name: 'y' }, { 'if-match': '"1"' })).toMatchObject({ status: 412 })
    expect(await send(`PATCH ${path}`, { type: 'email' })).toMatchObject({
      status: 422,
      body: { code: 'IMMUTABLE_FIELD' },
    })
  })

  test('after a rotation both secrets sign', async () => {
    const { body } = await create(WEBHOOK)
    const rotated = await send(`POST ${CHANNELS}/${body.channel_id}/rotate-secret`)
    expect(rotated.body.secret).toMatch(/^whsec_/)
    expect(rotated.body.secret).not.toBe(body.secret)
    await send(`POST ${CHANNELS}/${body.channel_id}/test`)
    const [request] = harness.engine.outbound.requests
    expect(request?.headers['webhook-signature']?.split(' ')).toHaveLength(2)
  })

  test('a deleted channel is gone', async () => {
    const { body } = await create(WEBHOOK)
    const path = `${CHANNELS}/${body.channel_id}`
    expect((await send(`DELETE ${path}`)).status).toBe(204)
    for (const line of [`GET ${path}`, `DELETE ${path}`, `POST ${path}/test`, `GET ${path}/deliveries`])
      expect((await send(line)).status).toBe(404)
    expect((await send('POST /api/v1/alerts/deliveries/del_none/redeliver')).status).toBe(404)
  })

  test('the same request with an Idempotency-Key makes one channel', async () => {
    const key = { 'idempotency-key': 'once' }
    const first = await send(`POST ${CHANNELS}`, WEBHOOK, key)
    const second = await send(`POST ${CHANNELS}`, WEBHOOK, key)
    expect(second.body).toEqual(first.body)
    expect((await send(`GET ${CHANNELS}`)).body.total).toBe(1)
  })
})

describe('the test button', () => {
  test('a sample is sent marked as a test, and is listed', async () => {
    const { body } = await create({ type: 'email', to: ['ops@example.com'], subject: 'Fleet' })
    const tested = await send(`POST ${CHANNELS}/${body.channel_id}/test`)
    expect(tested.body).toMatchObject({ delivered: true, status_code: 200, latency_ms: expect.any(Number) })
    const [mail] = harness.engine.outbound.mails
    expect(mail?.subject).toBe('TEST: Fleet')
    const { data } = (await send(`GET ${CHANNELS}/${body.channel_id}/deliveries`)).body
    expect(data).toMatchObject([{ event: 'test', state: 'delivered', notification_id: mail?.messageId }])
    const again = await send(`POST /api/v1/alerts/deliveries/${data[0].delivery_id}/redeliver`)
    expect(again).toMatchObject({ status: 202, body: { notification_id: mail?.messageId } })
  })

  test('a refusing receiver is reported with its status', async () => {
    const { body } = await create(WEBHOOK)
    harness.engine.outbound.status = 404
    const tested = await send(`POST ${CHANNELS}/${body.channel_id}/test`)
    expect(tested.body).toMatchObject({ delivered: false, status_code: 404, error: { code: 'HTTP_404' } })
  })

  test('an address that is not public any more is blocked', async () => {
    const { body } = await create(WEBHOOK)
    harness.engine.outbound.address = '10.0.0.1'
    const tested = await send(`POST ${CHANNELS}/${body.channel_id}/test`)
    const error = { code: 'WEBHOOK_TARGET_FORBIDDEN' }
    expect(tested.body).toMatchObject({ delivered: false, status_code: null, error })
    const { data } = (await send(`GET ${CHANNELS}/${body.channel_id}/deliveries`)).body
    expect(data).toMatchObject([{ event: 'test', state: 'blocked' }])
  })

  test('a channel is tested at most six times a minute', async () => {
    const { body } = await create(WEBHOOK)
    const path = `POST ${CHANNELS}/${body.channel_id}/test`
    for (let n = 0; n < 6; n++) expect((await send(path)).status).toBe(200)
    expect(await send(path)).toMatchObject({ status: 429, headers: { 'retry-after': expect.any(String) } })
    harness.clock.at += 60_000
    expect((await send(path)).status).toBe(200)
  })
})

test('there are at most 200 channels', async () => {
  const mail = { type: 'email', to: ['ops@example.com'] }
  for (let n = 0; n < 200; n++) await create(mail)
  const refused = await send(`POST ${CHANNELS}`, mail)
  expect(refused).toMatchObject({ status: 409, body: { code: 'LIMIT_REACHED', limit: 200 } })
})

test('a channel that rules name is deleted only by force', async () => {
  const { body } = await create(WEBHOOK)
  const bytes = newPackr().pack({ rule_id: 'rul_1', channels: [body.channel_id] })
  await harness.engine.store.save({
    ...NO_SAVE,
    documents: [{ collection: 'alert-rules', id: 'rul_1', bytes }],
  })
  const path = `${CHANNELS}/${body.channel_id}`
  const refused = await send(`DELETE ${path}`)
  expect(refused).toMatchObject({
    status: 409,
    body: { code: 'CHANNEL_IN_USE', rules: ['rul_1'], policies: [] },
  })
  expect((await send(`DELETE ${path}?force=true`)).status).toBe(204)
})
