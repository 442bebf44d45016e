import { describe, expect, test } from 'vitest'
import { Fault } from '../../engine/ports/fault.ts'
import { openLogger } from '../service/logging.ts'
import { openHarness, SECRET } from '../testing/rest.ts'

const REGISTER = 'POST /api/v1/auth/register'
const json = { 'content-type': 'application/json' }

describe('a request that cannot be read', () => {
  test.each([
    ['malformed', '{"email":'],
    ['nothing like JSON', 'hello'],
    ['a prototype key', '{"__proto__":{"admin":true}}'],
    ['an escaped prototype key', '{"\\u005f_proto__":{"admin":true}}'],
    ['a constructor key', '{"constructor":{"prototype":{"admin":true}}}'],
    ['invalid UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ])('%s: 400', async (_, body) => {
    const { request } = openHarness()
    const { status, body: problem } = await request(REGISTER, { body, headers: json })
    expect([status, problem.code]).toEqual([400, 'BAD_REQUEST'])
    expect(({} as { admin?: boolean }).admin).toBeUndefined()
  })

  test.each([
    ['5 000 levels deep', `${'['.repeat(5000)}${']'.repeat(5000)}`],
    ['5 000 levels deep inside a field', `{"metadata":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`],
    ['5 000 levels deep and not closed', '['.repeat(5000)],
  ])('%s: 422, unparsed', async (_, body) => {
    const { request } = openHarness()
    const { status, body: problem } = await request(REGISTER, { body, headers: json })
    expect([status, problem.code, problem.errors[0].code]).toEqual([422, 'VALIDATION_FAILED', 'TOO_DEEP'])
  })

  test.each([
    ['another type', 'application/x-www-form-urlencoded'],
    ['text', 'text/plain'],
    ['a tab in the type', 'application/json\ta'],
    ['xml', 'application/xml'],
  ])('%s: 415', async (_, type) => {
    const { request } = openHarness()
    const { status, body } = await request(REGISTER, { body: 'a=b', headers: { 'content-type': type } })
    expect([status, body.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
  })

  test('a body over the limit: 413 with both figures', async () => {
    const { request } = openHarness()
    const body = `{"email":"${'x'.repeat(1024 * 1024)}"}`
    const { status, body: problem } = await request(REGISTER, { body, headers: json })
    expect(status).toBe(413)
    expect(problem).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', limit: 1024 * 1024, actual: body.length })
  })

  test.each(['""', '[]', 'null', '5', ''])('a body that is no object: %j: 422', async (body) => {
    const { request } = openHarness()
    expect((await request(REGISTER, { body, headers: json })).status).toBe(422)
  })

  test('a large invalid body gets only its first error explained', async () => {
    const { login, request } = openHarness()
    const { token } = await login('admin')
    const body = { name: 'x', type: 'simulator', tags: Array(100_000).fill(1) }
    const { status, body: problem } = await request('POST /api/v1/devices', { token, body })
    expect([status, problem.errors.length]).toEqual([422, 1])
  })

  test('a part of a path that is longer than any name: 400', async () => {
    const { request } = openHarness()
    const { status, body, headers } = await request(`GET /api/v1/devices/${'x'.repeat(1_025)}`)
    expect([status, body.code, body.detail, headers['content-type']]).toEqual([
      400,
      'BAD_REQUEST',
      'a part of the path is longer than any name',
      'application/problem+json; charset=utf-8',
    ])
  })

  test('a path that cannot be decoded: 400', async () => {
    const { request } = openHarness()
    expect((await request('GET /api/v1/devices/%zz')).status).toBe(400)
  })
})

describe('a slash at the end of a path', () => {
  test('a trailing slash changes nothing', async () => {
    const { request, login, device } = openHarness()
    await device('r')
    const { token } = await login('admin')
    expect((await request('GET /api/v1/devices/?per_page=1', { token })).body.data).toHaveLength(1)
    expect((await request('GET /api/v1/devices/r/', { token })).body.device_id).toBe('r')
    expect((await request('DELETE /api/v1/devices/', { token })).status).toBe(405)
  })

  test('a slash at the end of a query is part of the query', async () => {
    const { request, login } = openHarness()
    const { token } = await login('admin')
    expect((await request('GET /api/v1/devices?group=hall/', { token })).status).toBe(422)
  })
})

test('a browser that opens the service is led to its documentation', async () => {
  const { app } = openHarness()
  const open = (accept: string) => app.inject({ method: 'GET', url: '/', headers: { accept } })
  const page = await open('text/html,application/xhtml+xml,*/*;q=0.8')
  expect([page.statusCode, page.headers['location']]).toEqual([302, '/docs'])
  expect((await open('*/*')).statusCode).toBe(404)
})

test('a request for the document at the root is redirected to it', async () => {
  const { app } = openHarness()
  const { statusCode, headers } = await app.inject({ method: 'GET', url: '/openapi.json' })
  expect([statusCode, headers['location']]).toEqual([302, '/api/v1/openapi.json'])
})

describe('a query parameter that is not known', () => {
  test.each([
    [
      '/api/v1/devices?staus=online',
      '/staus',
      /is not known; did you mean status\? Known are page, per_page, status, /,
    ],
    ['/api/v1/auth/me?verbose=1', '/verbose', /is not known; known are none/],
    ['/api/v1/devices/r?__proto__=1', '/__proto__', /is not known/],
  ])('%s: 422 that names it and the known ones', async (url, path, message) => {
    const { request, login, device } = openHarness()
    await device('r')
    const { token } = await login('admin')
    const { status, body } = await request(`GET ${url}`, { token })
    expect([status, body.errors[0].path, body.errors[0].code]).toEqual([422, path, 'UNKNOWN_PARAMETER'])
    expect(body.errors[0].message).toMatch(message)
  })

  test('is ignored by a probe', async () => {
    const { request } = openHarness()
    expect((await request('GET /livez?x=1')).status).toBe(200)
  })
})

describe('a path or method that is not there', () => {
  test.each([
    '/',
    '/api/v1',
    '/api/v1/nothing',
    '/api/v2/devices',

    '/api/v1/devices/a/b',
  ])('%s: 404', async (path) => {
    const { request } = openHarness()
    const { status, body } = await request(`GET ${path}?token=secret`)
    expect([status, body.code, body.instance]).toEqual([404, 'NOT_FOUND', path])
  })

  test.each([
    ['DELETE /api/v1/devices', 'GET, HEAD, POST'],
    ['POST /api/v1/devices/r', 'GET, HEAD, PUT, PATCH, DELETE'],
    ['GET /api/v1/auth/login', 'POST'],
    ['PUT /metrics', 'GET, HEAD'],
  ])('%s: 405 and what is allowed', async (line, allow) => {
    const { request } = openHarness()
    const { status, headers, body } = await request(line)
    expect([status, headers['allow'], body.code]).toEqual([405, allow, 'METHOD_NOT_ALLOWED'])
  })

  test.each(['/ws', '/api/v1/ws'])('GET %s without an upgrade, as behind some proxies: 426', async (path) => {
    const { request } = openHarness()
    const { status, headers, body } = await request(`GET ${path}`)
    expect([status, headers['upgrade'], body.code]).toEqual([426, 'websocket', 'UPGRADE_REQUIRED'])
  })

  test('OPTIONS tells the methods; there are no CORS headers', async () => {
    const { request } = openHarness()
    const { status, headers } = await request('OPTIONS /api/v1/devices', {
      headers: { origin: 'http://evil.example' },
    })
    expect([status, headers['allow'], headers['access-control-allow-origin']]).toEqual([
      204,
      'GET, HEAD, POST',
      undefined,
    ])
  })

  test.each([
    ['/commands/$broadcast', 'GET, HEAD, POST'],
    ['/devices/robot', 'DELETE, GET, HEAD, PATCH, PUT'],
    // A device may have that name.
    ['/devices/bulk', 'DELETE, GET, HEAD, PATCH, POST, PUT'],
  ])('OPTIONS tells all methods that %s takes', async (path, methods) => {
    const { request } = openHarness()
    const { headers } = await request(`OPTIONS /api/v1${path}`)
    expect(String(headers['allow']).split(', ').sort().join(', ')).toBe(methods)
  })

  test('HEAD is GET without its body', async () => {
    const { request } = openHarness()
    const { status, text } = await request('HEAD /livez')
    expect([status, text]).toEqual([200, ''])
  })
})

describe('every answer', () => {
  test('carries the request’s id, or a new one if that is not safe', async () => {
    const { request } = openHarness()
    const idFor = async (id: string) => {
      const { headers, body } = await request('GET /nowhere', { headers: { 'x-request-id': id } })
      expect(body.request_id).toBe(headers['x-request-id'])
      return headers['x-request-id']
    }
    expect(await idFor('abc-1:2')).toBe('abc-1:2')
    for (const unsafe of ['a b', '<x>', 'x'.repeat(129), ''])
      expect(await idFor(unsafe)).toMatch(/^req_[0-9a-z]{26}$/)
  })

  test('carries the security headers', async () => {
    const { request } = openHarness()
    for (const line of ['GET /livez', 'GET /nowhere', 'GET /api/v1/devices', 'GET /%zz'])
      expect((await request(line)).headers).toMatchObject({
        'content-security-policy': expect.stringContaining("default-src 'none'"),
        'referrer-policy': 'no-referrer',
      })
  })

  test('the answer to an internal error reveals nothing, and the log has the error with the request’s id', async () => {
    const lines: string[] = []
    const logger = openLogger({ level: 'debug', to: { write: (line) => void lines.push(line) } })
    const { request, login, engine, device } = openHarness({ logger })
    await device('r')
    const { token } = await login('admin')
    engine.view = () => Promise.reject(new Error('SELECT secret FROM /etc/passwd'))
    const { status, body, text } = await request('GET /api/v1/devices/r', { token })
    expect([status, body.code]).toEqual([500, 'INTERNAL'])
    expect(text).not.toMatch(/SELECT|passwd|at .*\.ts/)
    const logged = lines.map((line) => JSON.parse(line)).find(({ level }) => level === 'error')
    expect(logged).toMatchObject({ request_id: body.request_id, path: '/api/v1/devices/r' })
  })

  test('the reason of a 503 is in the log, for the operator, and not in the answer', async () => {
    const lines: string[] = []
    const logger = openLogger({ level: 'debug', to: { write: (line) => void lines.push(line) } })
    const { request, login, engine, device } = openHarness({ logger })
    await device('r')
    const { token } = await login('admin')
    const message = 'the S3 service cannot be used: it answers 403 SignatureDoesNotMatch'
    engine.view = () => Promise.reject(new Fault('BLOBS_UNAVAILABLE', { retryable: false, message }))
    const { status, body, text } = await request('GET /api/v1/devices/r', { token })
    expect([status, body.code]).toEqual([503, 'DEPENDENCY_UNAVAILABLE'])
    expect(text).not.toContain('403')
    const logged = lines.map((line) => JSON.parse(line)).find(({ level }) => level === 'warn')
    expect(logged).toMatchObject({ request_id: body.request_id, fault: 'BLOBS_UNAVAILABLE', reason: message })
  })
})

describe('observation', () => {
  test('each request is measured once, under its route’s pattern', async () => {
    const { request, done } = openHarness()
    await request('GET /api/v1/devices/some-device')
    await request('GET /nowhere/at/all')
    expect(done).toEqual([
      { method: 'GET', route: '/api/v1/devices/{device_id}', status: 401, seconds: expect.any(Number) },
      { method: 'GET', route: 'unmatched', status: 404, seconds: expect.any(Number) },
    ])
  })

  test('no secret reaches the log, and no probe does', async () => {
    const lines: string[] = []
    const logger = openLogger({ level: 'trace', to: { write: (line) => void lines.push(line) } })
    const { request, login } = openHarness({ logger })
    const { token } = await login('admin')
    const canary = 'canary-password'
    await request(REGISTER, { body: { email: 'a@b.c', password: canary, name: 'x' } })
    const { body } = await request('POST /api/v1/auth/login', { body: { email: 'a@b.c', password: canary } })
    await request(`GET /api/v1/devices?token=${body.access_token}`, { token })
    await request('GET /livez')
    await request('GET /metrics')
    logger.info({ password: canary, user: { password: canary, access_token: token } }, 'careless')
    const all = lines.join('')
    expect(lines.length).toBe(4)
    for (const secret of [canary, token, body.access_token, body.refresh_token, SECRET])
      expect(all).not.toContain(secret)
    expect(JSON.parse(lines[2] ?? '')).toMatchObject({ msg: 'request', path: '/api/v1/devices', status: 422 })
  })
})

test('a node that may have missed revocations answers reads and changes nothing until it hears of them again', async () => {
  const harness = openHarness()
  await harness.device('r', { group: 'a' })
  const { token } = await harness.login('admin')
  const rename = () =>
    harness.request('PATCH /api/v1/devices/r', {
      token,
      body: { name: 'new' },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
  const { users } = harness.engine
  const isUp = users.isUp.bind(users)
  users.isUp = () => false
  const refused = await rename()
  expect([refused.status, refused.headers['retry-after'], refused.body.code]).toEqual([
    503,
    expect.any(String),
    expect.any(String),
  ])
  expect((await harness.request('GET /api/v1/devices/r', { token })).body.name).not.toBe('new')
  users.isUp = isUp
  expect((await rename()).status).toBe(200)
})

test('metrics are rendered at most once a second, however often they are requested', async () => {
  const { request, engine, clock } = openHarness()
  let times = 0
  const put = engine.metrics.bind(engine)
  engine.metrics = () => {
    times += 1
    return put()
  }
  const ask = () => Promise.all(Array.from({ length: 20 }, () => request('GET /metrics')))
  const [first, ...others] = await ask()
  expect([first?.status, others.every(({ text }) => text === first?.text), times]).toEqual([200, true, 1])
  clock.at += 999
  await ask()
  expect(times).toBe(1)
  clock.at += 1
  await ask()
  expect(times).toBe(2)
})
