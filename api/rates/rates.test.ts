import { describe, expect, test } from 'vitest'
import { API_LIMITS } from '../limits.ts'
import { openHarness } from '../testing/rest.ts'

const LOGIN = 'POST /api/v1/auth/login'
const wrong = { email: 'a@example.com', password: 'x' }

describe('requests over a limit', () => {
  test('requests of one user are 429 with what is left and when to retry, whatever they ask for', async () => {
    const { request, login, clock } = openHarness({ requestRates: { perUser: 3 } })
    const [{ token }, other] = [await login('viewer'), await login('viewer')]
    const first = await request('GET /api/v1/devices', { token })
    expect(first.headers).toMatchObject({ 'ratelimit-policy': '"user";q=3;w=1', ratelimit: '"user";r=2;t=1' })
    // A refused request counts, too.
    expect((await request('GET /api/v1/dead-letters', { token })).status).toBe(403)
    expect((await request('GET /api/v1/devices?page=0', { token })).status).toBe(422)
    const { status, headers, body } = await request('GET /api/v1/auth/me', { token })
    expect([status, body.code, body.limited]).toEqual([429, 'RATE_LIMIT_EXCEEDED', 'user'])
    expect(headers).toMatchObject({ ratelimit: '"user";r=0;t=1', 'retry-after': '1' })
    expect((await request('GET /api/v1/auth/me', { token: other.token })).status).toBe(200)
    clock.at += 334
    expect((await request('GET /api/v1/auth/me', { token })).status).toBe(200)
    expect((await request('GET /api/v1/auth/me', { token })).status).toBe(429)
  })

  test('requests about one device are counted over all its paths, separately for each user', async () => {
    const { request, login, device } = openHarness({ requestRates: { perUser: 100, perDevice: 2 } })
    await device('r', { group: 'a' })
    await device('s', { group: 'a' })
    const admin = await login('admin')
    const { headers } = await request('GET /api/v1/devices/r', admin)
    expect(headers).toMatchObject({
      'ratelimit-policy': '"user";q=100;w=1, "device";q=2;w=1',
      ratelimit: '"user";r=99;t=1, "device";r=1;t=1',
    })
    const inside = await login('operator', { groups: ['a'] })
    for (let i = 0; i < 2; i++) expect((await request('GET /api/v1/shadows/r', inside)).status).toBe(200)
    expect((await request('GET /api/v1/shadows/r', inside)).status).toBe(429)
    expect((await request('GET /api/v1/shadows/r', admin)).status).toBe(200)
    const { status, body } = await request('GET /api/v1/telemetry/r', admin)
    expect([status, body.limited]).toEqual([429, 'device'])
    expect((await request('GET /api/v1/telemetry/s', admin)).status).toBe(200)
    expect((await request('GET /api/v1/devices', admin)).status).toBe(200)
  })

  test('critical commands and cancellations do not count against a device', async () => {
    const { request, login, device } = openHarness({ requestRates: { perDevice: 1 } })
    await device('r')
    const { token } = await login('operator')
    const send = (priority: string) =>
      request('POST /api/v1/commands/r', { token, body: { command: 'go', priority } })
    const { status, body } = await send('normal')
    expect(status).toBe(202)
    expect([(await send('high')).status, (await send('normal')).status]).toEqual([429, 429])
    for (let i = 0; i < 5; i++) expect((await send('critical')).status).toBe(202)
    const cancelled = await request(`DELETE /api/v1/commands/r/${body.command_id}`, { token })
    expect(cancelled.status).toBe(200)
    expect((await request('GET /api/v1/commands/r', { token })).status).toBe(429)
  })

  test('requests of unknown callers are counted by address; a valid token and a probe are let through', async () => {
    const { request, login } = openHarness({ requestRates: { perAddress: 2 } })
    const { token } = await login('admin')
    expect((await request('GET /api/v1/devices')).status).toBe(401)
    expect((await request('GET /api/v1/devices', { token: 'forged' })).status).toBe(401)
    const { status, body, headers } = await request('GET /api/v1/devices', { token: 'forged' })
    expect([status, body.limited, headers['retry-after']]).toEqual([429, 'address', '1'])
    expect((await request(LOGIN, { body: wrong })).status).toBe(429)
    expect((await request('GET /api/v1/devices', { token })).status).toBe(200)
    for (const probe of ['livez', 'healthz']) expect((await request(`GET /${probe}`)).status).toBe(200)
  })

  test('probes of an address have a limit of their own, which does not affect other requests', async () => {
    const { request } = openHarness({ requestRates: { perAddress: 2 } })
    const probe = () => request('GET /livez')
    for (let i = 0; i < API_LIMITS.probesPerSecMax; i++) expect((await probe()).status).toBe(200)
    for (const path of ['livez', 'readyz', 'healthz'])
      expect((await request(`GET /${path}`)).status).toBe(429)
    expect((await request(LOGIN, { body: wrong })).status).toBe(401)
  })

  test('0 is no limit, and then there are no headers', async () => {
    const { request, login } = openHarness()
    const { token } = await login('admin')
    for (let i = 0; i < 50; i++) expect((await request('GET /api/v1/auth/me', { token })).status).toBe(200)
    expect((await request('GET /api/v1/auth/me', { token })).headers).not.toHaveProperty('ratelimit')
  })
})

describe('the address of a caller', () => {
  const from = (forwarded: string) => ({ headers: { 'x-forwarded-for': forwarded } })

  test('is the socket’s, whatever a header says', async () => {
    const { request } = openHarness({ requestRates: { perAddress: 2 } })
    const statuses = []
    for (const forged of ['1.1.1.1', '2.2.2.2', '3.3.3.3, 127.0.0.1'])
      statuses.push((await request('GET /docs', from(forged))).status)
    expect(statuses).toEqual([200, 200, 429])
  })

  test('is what a trusted proxy saw, not what the client claims', async () => {
    const { request } = openHarness({
      requestRates: { perAddress: 2 },
      trustedProxies: ['127.0.0.1', '10.0.0.0/8'],
    })
    const status = async (forwarded: string) => (await request('GET /docs', from(forwarded))).status
    // The caller's address is the last one before the proxies. The caller may have written those before it.
    expect([await status('1.1.1.1, 9.9.9.9, 10.1.2.3'), await status('2.2.2.2, 9.9.9.9')]).toEqual([200, 200])
    expect(await status('3.3.3.3, 9.9.9.9')).toBe(429)
    expect(await status('9.9.9.8')).toBe(200)
  })

  test('an IPv6 address counts by its /64', async () => {
    const { request } = openHarness({ requestRates: { perAddress: 2 }, trustedProxies: ['127.0.0.1'] })
    const status = async (forwarded: string) => (await request('GET /docs', from(forwarded))).status
    expect([await status('2001:db8::1'), await status('2001:db8:0:0:f::2')]).toEqual([200, 200])
    expect(await status('2001:db8:0:0:1:2:3:4')).toBe(429)
    expect(await status('2001:db8:0:1::1')).toBe(200)
    expect([await status('::ffff:8.8.8.8'), await status('8.8.8.8'), await status('8.8.8.8')]).toEqual([
      200, 200, 429,
    ])
  })
})
