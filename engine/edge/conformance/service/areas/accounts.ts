// AUTH: login, tokens and the rights of each role.
import { randomUUID } from 'node:crypto'
import type { JsonObject } from '../../../../../schemas/json.ts'
import { parsePayload } from '../../../payload.ts'
import { UnmetCheck } from '../../verdict.ts'
import { expectStatus, expectSuccess, type Run } from '../run.ts'
import { check, expectRefused, messageOn, type ServiceCheck } from '../steps.ts'

const REVOKED_MS = 2_000

export const ACCOUNTS: readonly ServiceCheck[] = [
  {
    ...check('AUTH-01', 'Accounts', 'requests without a token or with a wrong one are answered 401'),
    isRead: true,
    run: async ({ rest }) => {
      for (const token of [null, 'wrong'])
        for (const path of ['/devices', '/users', '/audit', '/auth/me'])
          expectStatus(await rest.get(path, { token }), 401, `GET ${path} with ${token ?? 'no token'}`)
    },
  },
  {
    ...check('AUTH-02', 'Accounts', 'the session of a device ends within 2 s after its tokens are revoked'),
    run: async (run) => {
      const device = await run.register()
      const { client } = await run.connect(device)
      const at = Date.now()
      const revoked = await run.rest.post(`/auth/devices/${device.id}/revoke`, {})
      expectSuccess(revoked, 'POST /auth/devices/{id}/revoke')
      await run.until('the session ends', () => !client.connected)
      if (Date.now() - at > REVOKED_MS) throw new UnmetCheck(`the session ended after ${Date.now() - at} ms`)
      await expectRefused(run, { ...device })
    },
  },
  {
    ...check('AUTH-03', 'Accounts', 'a login can be renewed with its refresh token until the logout'),
    run: logins,
  },
  {
    ...check('AUTH-04', 'Accounts', 'each role has exactly its rights, and only in its groups'),
    run: roles,
  },
  {
    ...check(
      'AUTH-05',
      'Accounts',
      'a device can renew its token, and a new token can revoke the earlier ones',
    ),
    run: tokens,
  },
]

const TTL_SEC = 600

async function tokens(run: Run): Promise<void> {
  const { rest } = run
  const { id, token: first } = await run.register()
  const issue = async (more: JsonObject): Promise<string> => {
    const made = await rest.post('/auth/devices/token', { device_id: id, ttl_sec: TTL_SEC, ...more })
    expectStatus(made, 200, 'POST /auth/devices/token')
    return String(made.body['mqtt_token'])
  }
  const issued = await issue({})
  expectOwnClaims(issued, id)
  const session = await run.connect({ id, token: issued })
  await run.subscribe(session, { id, token: issued }, 'token/accepted')
  await session.publish('token/get', { client_token: 'conformance' })
  const { mqtt_token: second, client_token } = await messageOn(run, session, 'token/accepted')
  if (client_token !== 'conformance') throw new UnmetCheck('the answer does not repeat the client_token')
  await session.client.endAsync()
  const renewed = await rest.post(
    '/auth/devices/token/renew',
    { mqtt_token: String(second) },
    { token: null },
  )
  expectStatus(renewed, 200, 'POST /auth/devices/token/renew')
  for (const token of [String(second), String(renewed.body['mqtt_token'])]) {
    expectOwnClaims(token, id)
    await (await run.connect({ id, token })).client.endAsync()
  }
  const last = await issue({ revoke_previous: true })
  for (const token of [first, issued]) await expectRefused(run, { id, token })
  await (await run.connect({ id, token: last })).client.endAsync()
}

/** Checks the claims of a device token, which a broker may verify without the service. */
function expectOwnClaims(token: string, id: string): void {
  const [, part = ''] = token.split('.')
  const claims = parsePayload(Buffer.from(part, 'base64url')) ?? {}
  const { sub, scope, topics, exp, iat } = claims
  const { publish, subscribe } = Object(topics)
  const isOwn = [publish, subscribe].every((list) => JSON.stringify(list) === `["fleet/${id}/#"]`)
  const lastsSec = Number(exp) - Number(iat)
  if (sub !== id || scope !== 'device' || !isOwn || !(lastsSec > 0 && lastsSec <= TTL_SEC))
    throw new UnmetCheck('the claims of a token do not match its device, its topics or its lifetime', claims)
}

async function logins(run: Run): Promise<void> {
  const { rest } = run
  const email = `conf-${run.id}@conformance.example`
  const account = { email, password: `conf ${randomUUID()}`, name: `conf-${run.id}`, role: 'viewer' }
  const made = await rest.post('/auth/register', account)
  expectStatus(made, 201, 'POST /auth/register by an admin')
  run.atEnd(() => rest.call('DELETE', `/users/${made.body['id']}`))
  const nobody = { token: null }
  for (const wrong of [
    { email, password: 'wrong' },
    { email: `x${email}`, password: account.password },
  ])
    expectStatus(
      await rest.post('/auth/login', wrong, nobody),
      401,
      'POST /auth/login with wrong credentials',
    )
  const first = await rest.post('/auth/login', { email, password: account.password }, nobody)
  expectStatus(first, 200, 'POST /auth/login')
  const second = await rest.post('/auth/refresh', refreshOf(first.body), nobody)
  expectStatus(second, 200, 'POST /auth/refresh')
  const token = String(second.body['access_token'])
  const me = await rest.get('/auth/me', { token })
  expectStatus(me, 200, 'GET /auth/me')
  if (me.body['role'] !== 'viewer')
    throw new UnmetCheck('GET /auth/me has another role than the user was given', me.body)
  const last = refreshOf(second.body)
  const left = await rest.post('/auth/logout', last, { token })
  expectSuccess(left, 'POST /auth/logout')
  expectStatus(await rest.post('/auth/refresh', last, nobody), 401, 'POST /auth/refresh after the logout')
}

function refreshOf(body: JsonObject): JsonObject {
  return { refresh_token: String(body['refresh_token']) }
}

/** The expected statuses. `outside` is an operator of another group. */
type ExpectedStatuses = readonly [admin: number, operator: number, outside: number, viewer: number]

async function roles(run: Run): Promise<void> {
  const { id } = await run.register()
  const keyOf = async (role: string, groups: readonly string[]): Promise<string> => {
    const name = `conformance ${run.id}`
    const made = await run.rest.post('/api-keys', { name, role, groups: [...groups] })
    expectStatus(made, 201, 'POST /api-keys')
    run.atEnd(() => run.rest.call('DELETE', `/api-keys/${made.body['id']}`))
    return String(made.body['api_key'])
  }
  const tokens = await Promise.all([
    ...[keyOf('admin', []), keyOf('operator', [run.group])],
    ...[keyOf('operator', [`${run.group}-elsewhere`]), keyOf('viewer', [run.group])],
  ])
  const desired: JsonObject = { led: 'on' }
  const routes: readonly (readonly [string, string, JsonObject | undefined, ExpectedStatuses])[] = [
    ['GET', `/devices/${id}`, undefined, [200, 200, 404, 200]],
    ['GET', `/shadows/${id}`, undefined, [200, 200, 404, 200]],
    ['GET', `/telemetry/${id}`, undefined, [200, 200, 404, 200]],
    ['GET', '/users', undefined, [200, 403, 403, 403]],
    ['GET', '/audit', undefined, [200, 403, 403, 403]],
    ['GET', '/dead-letters', undefined, [200, 403, 403, 403]],
    ['GET', '/api-keys', undefined, [200, 403, 403, 403]],
    ['POST', '/devices', { device_id: id, name: id, type: 'mqtt_device' }, [409, 403, 403, 403]],
    ['PUT', `/shadows/${id}/desired`, desired, [200, 200, 404, 403]],
    ['POST', `/commands/${id}`, { command: 'go', timeout_sec: 1 }, [202, 202, 404, 403]],
    ['POST', '/auth/devices/token', { device_id: id }, [200, 200, 404, 403]],
  ]
  const names = ['an admin', 'an operator', 'an operator of another group', 'a viewer']
  for (const [method, path, body, row] of routes)
    for (const [n, wanted] of row.entries()) {
      const answer = await run.rest.call(method, path, {
        ...(body === undefined ? {} : { body }),
        token: tokens[n] ?? null,
      })
      expectStatus(answer, wanted, `${method} ${path} by ${names[n]}`)
    }
}
