import { expect, test } from 'vitest'
import { openHarness } from '../testing/rest.ts'

const ORIGIN = 'https://fleet.example.com'
const preflight = (origin: string) => ({
  headers: {
    origin,
    'access-control-request-method': 'PATCH',
    'access-control-request-headers': 'authorization',
  },
})

test('without origins nothing is allowed, and no Vary header is sent', async () => {
  const { request } = openHarness()
  for (const line of ['GET /livez', 'OPTIONS /api/v1/devices/r']) {
    const { headers } = await request(line, preflight(ORIGIN))
    expect(
      Object.keys(headers).filter((name) => name.startsWith('access-control') || name === 'vary'),
    ).toEqual([])
  }
})

test('a page of an allowed origin may send requests, and read the headers that it needs', async () => {
  const { request } = openHarness({ corsOrigins: [ORIGIN] })
  const { status, headers } = await request('OPTIONS /api/v1/devices/r', preflight(ORIGIN))
  expect(status).toBe(204)
  expect(headers).toMatchObject({
    vary: 'Origin',
    'access-control-allow-origin': ORIGIN,
    'access-control-allow-methods': 'GET, HEAD, PUT, PATCH, DELETE',
    'access-control-allow-headers': expect.stringContaining('Authorization'),
    'access-control-max-age': '600',
  })
  expect(headers).not.toHaveProperty('access-control-allow-credentials')
  // Refusals also carry the headers, because the page must be able to read the reason.
  const refused = await request('GET /api/v1/devices', { headers: { origin: ORIGIN } })
  expect(refused.status).toBe(401)
  expect(refused.headers).toMatchObject({
    'access-control-allow-origin': ORIGIN,
    'access-control-expose-headers':
      'ETag, Idempotency-Replayed, Link, Location, Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, X-Total-Count',
  })
})

test.each([
  'https://evil.example',
  'https://fleet.example.com.evil.example',
  'null',
  'http://fleet.example.com',
])('a page of %s is told nothing', async (origin) => {
  const { request } = openHarness({ corsOrigins: [ORIGIN] })
  for (const line of ['GET /livez', 'OPTIONS /api/v1/devices']) {
    const { headers } = await request(line, preflight(origin))
    expect(headers['vary']).toBe('Origin')
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  }
})

test('* allows pages of any origin', async () => {
  const { request } = openHarness({ corsOrigins: ['*'] })
  const { headers } = await request('GET /livez', { headers: { origin: 'https://any.example' } })
  expect([headers['access-control-allow-origin'], headers['vary']]).toEqual(['*', undefined])
})

test('an answer that already varies by another header varies by both', async () => {
  const { request, login } = openHarness({ corsOrigins: [ORIGIN] })
  const { token } = await login('admin')
  for (const path of ['/problems', '/api/v1/devices/export'])
    expect((await request(`GET ${path}`, { token })).headers['vary']).toBe('Origin, accept')
})
