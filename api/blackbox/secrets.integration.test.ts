// Uses the whole service with recognisable secrets, and then looks for them where they must not be. Among the sent texts
// are some that would forge a line of the log or an entry of the audit.
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { IndiscreetReceivers } from './testing/indiscreet-receivers.ts'
import { type Exit, type Service, ServiceHarness, until } from './testing/service.ts'
import { connectDevice, knock, publish } from './testing/service-clients.ts'
import { type Answer, type Rest, restOf } from './testing/service-rest.ts'

const harness = new ServiceHarness()
let receivers: IndiscreetReceivers
afterAll(async () => {
  receivers?.close()
  await harness.close()
})

const FORGED = 'forged-line'
const BREAK = `x\r\n{"level":"error","msg":"${FORGED}"}\n\u2028\u0000\u001b[31m`

/** All secrets that were made or sent, by their kind. */
const secrets = new Map<string, string>()
/** Secrets of channels, which the store has to keep. */
const kept = new Map<string, string>()
/** Texts of the service in which no secret may be, by their place. */
const said = new Map<string, string>()

function canary(what: string): string {
  const secret = `canary${randomBytes(12).toString('hex')}`
  secrets.set(what, secret)
  return secret
}

function channelCanary(what: string): string {
  const secret = canary(what)
  secrets.delete(what)
  kept.set(what, secret)
  return secret
}

/** The signature stands for the token. */
function isSecret(what: string, token: unknown): string {
  const text = String(token)
  expect(text.length).toBeGreaterThan(20)
  secrets.set(what, text.split('.').at(-1) ?? text)
  return text
}

let calls = 0
/** Keeps an answer in which no secret may be. */
async function quiet(call: Promise<Answer>, status?: number): Promise<Answer> {
  const answer = await call
  said.set(`answer ${calls++} (${answer.status})`, `${answer.text}${JSON.stringify([...answer.headers])}`)
  if (status !== undefined) expect(answer.status).toBe(status)
  return answer
}

/** Sends raw bodies and headers, which our own clients would not send. */
function raw(service: Service, path: string, init: RequestInit): Promise<Answer> {
  const call = fetch(`${service.httpUrl}${path}`, init)
  return call.then(async (response) => ({
    status: response.status,
    headers: response.headers,
    body: {},
    text: await response.text(),
  }))
}

async function people(service: Service): Promise<Rest> {
  const nobody = service.nobody
  const password = canary('the admin’s password')
  const account = { email: 'admin@example.com', password }
  await quiet(nobody.post('/auth/register', { ...account, name: BREAK, role: 'admin' }), 422)
  await quiet(nobody.post('/auth/register', { ...account, name: 'Admin', role: 'admin' }), 201)
  await quiet(nobody.post('/auth/register', { ...account, name: 'Again', role: 'admin' }), 409)
  const login = await nobody.post('/auth/login', account)
  const admin = nobody.as(isSecret('an access token', login.body['access_token']))
  const refresh = isSecret('a refresh token', login.body['refresh_token'])
  const renewed = await nobody.post('/auth/refresh', { refresh_token: refresh })
  isSecret('a renewed access token', renewed.body['access_token'])
  await quiet(nobody.post('/auth/login', { ...account, password: canary('a wrong password') }), 401)
  await quiet(nobody.post('/auth/login', { email: BREAK, password: canary('a password') }))
  await quiet(nobody.post('/auth/login', { email: 7, password: canary('a refused password') }), 422)
  await quiet(nobody.post('/auth/refresh', { refresh_token: canary('a wrong refresh token') }), 401)
  await quiet(
    admin.call('PATCH', '/auth/me', {
      password: canary('a new password'),
      current_password: canary('a wrong one'),
    }),
  )
  const user = await quiet(
    nobody.post('/auth/register', {
      email: 'u@example.com',
      password: canary('a user’s'),
      name: 'U',
      role: 'viewer',
    }),
    201,
  )
  await quiet(
    admin.call('PATCH', `/users/${user.body['id']}`, { password: canary('a password an admin sets') }),
    200,
  )
  await quiet(admin.get('/users'), 200)
  await quiet(admin.get('/auth/me'), 200)
  const key = await admin.post('/api-keys', { name: 'robot', role: 'admin' })
  const service_ = nobody.as(isSecret('an API key', key.body['api_key']))
  await quiet(service_.get('/devices'), 200)
  await quiet(admin.get('/api-keys'), 200)
  await quiet(admin.call('DELETE', `/api-keys/${key.body['id']}`))
  await quiet(service_.get('/devices'), 401)
  const provisioning = await admin.post('/auth/provisioning-keys', { type: 'mqtt_device', limit: 1 })
  const batch = isSecret('a provisioning key', provisioning.body['key'])
  const registered = await nobody.post('/auth/provision', { key: batch, device_id: 'provisioned' })
  isSecret('a token of a provisioned device', registered.body['mqtt_token'])
  await quiet(nobody.post('/auth/provision', { key: batch, device_id: 'beyond' }), 403)
  await quiet(admin.get(`/auth/provisioning-keys/${provisioning.body['id']}`), 200)
  await quiet(admin.post('/auth/logout', { refresh_token: refresh }), 204)
  // The logout ended this login.
  const again = await nobody.post('/auth/login', account)
  return nobody.as(isSecret('a second access token', again.body['access_token']))
}

async function devices(service: Service, admin: Rest): Promise<void> {
  const made = await admin.post('/devices', { device_id: 'd', name: 'D', type: 'mqtt_device' })
  const token = isSecret('a device’s token', made.body['access_token'])
  const issued = await admin.post('/auth/devices/token', { device_id: 'd', scopes: ['publish'] })
  isSecret('an issued device token', issued.body['mqtt_token'])
  await quiet(admin.get('/devices/d'), 200)
  await quiet(admin.call('PATCH', '/devices/d', { access_token: canary('an access token in a body') }), 422)
  await quiet(admin.call('PATCH', '/devices/d', { name: BREAK }), 422)
  await quiet(admin.call('PATCH', '/devices/d', { status: canary('a status') }), 422)
  await quiet(admin.call('PATCH', '/devices/d', { description: BREAK }), 200)
  const bulk = await raw(service, '/api/v1/devices/bulk', {
    method: 'POST',
    headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'text/csv' },
    body: 'name,type\nA,simulator\n',
  })
  isSecret('a token of a bulk', /"access_token":"([^"]+)"/.exec(bulk.text)?.[1])
  await quiet(admin.get('/devices/export?format=csv'), 200)
  await quiet(admin.get('/devices'), 200)
  const client = await connectDevice(service, 'd', token)
  await publish(client, 'd', { t: 1 })
  await publish(client, 'd', `{"broken": ${BREAK}`)
  await client.subscribeAsync('fleet/other/#').catch(() => undefined)
  await client.endAsync()
  const password = (text: string) => Buffer.from(text)
  await knock(service, { clientId: 'd', username: 'd', password: password(canary('a device’s wrong token')) })
  await knock(service, { clientId: BREAK, username: canary('a user name'), password: password('x') })
  await knock(service, {
    clientId: canary('a token as client id').repeat(3),
    username: 'x',
    password: password('x'),
  })
}

/** Channels of every type, each of which fails in its own way with an alert that fires, and with a sample. */
async function channels(service: Service, admin: Rest): Promise<void> {
  const { host } = receivers
  const hook = (what: string, path: string) => ({
    type: 'webhook',
    url: `http://${host}${path}?token=${channelCanary(`the address of ${what}`)}`,
    headers: { Authorization: `Bearer ${channelCanary(`a header of ${what}`)}` },
  })
  const chat = (webhook_url: string) => ({ type: 'chat_webhook', webhook_url })
  const wishes = [
    hook('one that fails', '/failing'),
    hook('one that moved', '/moved'),
    hook('one that cuts', '/cut'),
    chat(`http://${host}/chat/${channelCanary('a chat that fails')}`),
    chat(`http://${host}/gone/${channelCanary('a chat that is gone')}`),
    chat(`https://${host}/${channelCanary('a chat without TLS')}`),
    chat(`https://nobody.invalid/${channelCanary('a chat without a host')}`),
    { type: 'email', to: ['ops@example.com'] },
  ]
  const ids: string[] = []
  for (const wish of wishes) {
    const more = { default: true, group_wait_sec: 0, group_interval_sec: 0 }
    const { status, body } = await admin.post('/alerts/channels', { ...wish, ...more })
    expect(status).toBe(201)
    ids.push(String(body['channel_id']))
    if (wish.type === 'webhook') kept.set(`a key of ${body['channel_id']}`, String(body['secret']))
  }
  const [first = ''] = ids
  const rotated = await admin.post(`/alerts/channels/${first}/rotate-secret`, {})
  kept.set('a new key', String(rotated.body['secret']))
  const wrong = [
    chat(`ftp://example.com/${canary('a chat by ftp')}`),
    chat(`https://user:${canary('a password in an address')}@example.com/`),
    chat(`http://10.0.0.1/${canary('a chat inside')}`),
    { ...hook('a refused one', '/'), url: `http://[::1]/${canary('a webhook inside')}` },
    { ...hook('one with a template', '/'), template: `{"a": "{{${canary('a placeholder')}` },
    { ...hook('one with a bad header', '/'), headers: { 'x-a': `${canary('a bad header')}\r\nx: y` } },
  ]
  for (const wish of wrong) await quiet(admin.post('/alerts/channels', wish), 422)
  const target = { type: 'device', value: 'd' }
  const condition = { kind: 'threshold', metric: 'hot', op: '>', value: 1 }
  const rule = { name: 'hot', severity: 'critical', target, condition }
  await quiet(admin.post('/alerts/rules', rule), 201)
  const token = await admin.post('/auth/devices/token', { device_id: 'd', scopes: ['publish'] })
  const client = await connectDevice(service, 'd', isSecret('a third token', token.body['mqtt_token']))
  await publish(client, 'd', { hot: 2 })
  await client.endAsync()
  for (const id of ids) {
    await until('a failed delivery', async () => {
      const { text } = await admin.get(`/alerts/channels/${id}/deliveries`)
      return text.includes('"error_code":"')
    })
    const tested = await quiet(admin.post(`/alerts/channels/${id}/test`, {}), 200)
    expect(tested.body).toMatchObject({ delivered: false, error: { code: expect.any(String) } })
    await quiet(admin.get(`/alerts/channels/${id}/deliveries`), 200)
  }
  const mail = await quiet(admin.get(`/alerts/channels/${ids.at(-1)}/deliveries`), 200)
  expect(mail.text).toContain('"error_code":"SMTP_AUTH"')
  const listed = await admin.get('/alerts/channels')
  // The address of a webhook is no secret from admins.
  said.set('channels', listed.text.replaceAll(/\?token=\w+/g, ''))
  for (const path of ['/alerts', '/alerts/summary', '/alerts/rules']) await quiet(admin.get(path), 200)
}

async function oddities(service: Service, admin: Rest): Promise<void> {
  const wrong = canary('a bearer token')
  await quiet(service.nobody.as(wrong).post('/devices', {}), 401)
  await quiet(service.nobody.get(`/devices?token=${canary('a token in a query')}`), 401)
  await quiet(admin.get(`/devices?access_token=${canary('a refused query')}`), 422)
  for (const authorization of [`Basic ${canary('basic')}`, `Bearer ${canary('two')} ${canary('parts')}`])
    await quiet(
      raw(service, '/api/v1/devices', { headers: { authorization, cookie: canary('a cookie') } }),
      401,
    )
  const json = { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' }
  const post = (body: string) => raw(service, '/api/v1/auth/login', { method: 'POST', headers: json, body })
  await quiet(post(`{"email":"a@b","password":"${canary('a broken body')}"`), 400)
  await quiet(post(`{"__proto__":{"password":"${canary('a prototype')}"}}`), 400)
  await quiet(post(`"${canary('a large body')}${'x'.repeat(2_000_000)}"`), 413)
  await quiet(raw(service, `/ws?token=${canary('a token for /ws')}`, { headers: {} }))
  const socket = new WebSocket(`${service.wsUrl}?token=${canary('a token of /ws')}`)
  let closed = false
  socket.on('message', (data) => said.set('/ws', String(data)))
  socket.on('error', () => undefined).on('close', () => (closed = true))
  await until('the socket is closed', () => closed)
}

let service: Service
let exit: Exit

beforeAll(async () => {
  receivers = await IndiscreetReceivers.open()
  const mailPassword = canary('the password of mail')
  service = await harness.start({
    FLEET_WEBHOOK_ALLOW: receivers.host,
    FLEET_SMTP_URL: `smtp://fleet:${mailPassword}@${receivers.mailHost}`,
    FLEET_SMTP_FROM: 'fleet@example.com',
    FLEET_LOG_LEVEL: 'trace',
    FLEET_REGISTRATION: 'open',
    FLEET_JWT_SECRET: canary('the key of tokens').repeat(2),
  })
  const admin = await people(service)
  await devices(service, admin)
  await channels(service, admin)
  expect(receivers.passwords).toContain(mailPassword)
  await oddities(service, admin)
  await until('the audit of it all', async () => {
    const { status, text } = await admin.get('/audit?action=mqtt.message')
    return status === 200 && text.includes('aud_')
  })
  for (let cursor: unknown = ''; cursor !== null; ) {
    const page = await quiet(admin.get(`/audit?limit=200${cursor ? `&cursor=${cursor}` : ''}`), 200)
    cursor = page.body['next_cursor']
  }
  await quiet(admin.get('/dead-letters'), 200)
  await quiet(admin.get('/devices/d/events'), 200)
  await quiet(restOf(service.httpUrl).get('//metrics'), 200)
  await quiet(restOf(service.httpUrl).get('//readyz?verbose'), 200)
  service.kill('SIGTERM')
  exit = await service.ended
  said.set('stdout', exit.stdout)
  said.set('stderr', exit.stderr)
})

test('no secret is in a log, a metric, the audit or an answer that should not have it', () => {
  expect(secrets.size).toBeGreaterThan(30)
  expect(said.size).toBeGreaterThan(40)
  expect(exit.stdout).toContain('"msg":"request"')
  expect(receivers.asked.length).toBeGreaterThan(8)
  expect(said.get('stdout')).toContain('alerts/channels')
  const leaks = [...said].flatMap(([where, text]) =>
    [...secrets, ...kept]
      .filter(([, secret]) => text.includes(secret))
      .map(([what]) => `${what} in ${where}`),
  )
  expect(leaks).toEqual([])
})

test('no secret is in a file of the service, but those of channels in the store', () => {
  const files = readdirSync(service.dataDir, { recursive: true, withFileTypes: true }).filter((file) =>
    file.isFile(),
  )
  expect(files.length).toBeGreaterThan(3)
  const leaks = files.flatMap((file) => {
    const bytes = readFileSync(join(file.parentPath, file.name))
    return [...secrets, ...(file.name === 'store.mdb' ? [] : kept)]
      .filter(([, secret]) => bytes.includes(secret))
      .map(([what]) => `${what} in ${file.name}`)
  })
  expect(leaks).toEqual([])
})

test('no sent text can forge a line of the log', () => {
  const lines = exit.stdout.split('\n').filter((line) => line !== '')
  for (const line of lines) {
    const { level, msg } = JSON.parse(line)
    expect(typeof level).toBe('string')
    expect(msg).not.toBe(FORGED)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test checks that there are none
    expect(line).not.toMatch(/[\u0000-\u001f\u2028\u2029]/)
  }
  expect(exit.stderr).toBe('')
})
