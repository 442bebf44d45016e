// Malicious input, and input that two parsers would read differently.
import { describe, expect, test } from 'vitest'
import { openLogger } from '../service/logging.ts'
import { openHarness } from '../testing/rest.ts'
import { uploadFirmware } from '../testing/updating-fleet.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' }

async function asAdmin(options: Parameters<typeof openHarness>[0] = {}) {
  const harness = openHarness(options)
  await harness.device('r', { group: 'a' })
  const { token } = await harness.login('admin')
  const send = (line: string, body?: unknown, headers: Readonly<Record<string, string>> = JSON_TYPE) =>
    harness.request(line, { token, body, headers })
  return { ...harness, send, token }
}

describe('keys that reach for a prototype', () => {
  test.each([
    ['POST /api/v1/devices', '{"name":"x","type":"simulator","metadata":{"__proto__":{"admin":true}}}'],
    ['POST /api/v1/devices', '{"name":"x","type":"simulator","metadata":{"a":[{"__proto__":1}]}}'],
    ['PATCH /api/v1/devices/r', '{"metadata":{"constructor":{"prototype":{"admin":true}}}}'],
    ['PUT /api/v1/shadows/r/desired', '{"\\u005f_proto__":{"admin":true}}'],
    ['PUT /api/v1/shadows/r/desired', '{"a":{"__proto__":null}}'],
    ['POST /api/v1/commands/r', '{"command":"go","data":{"__proto__":{"admin":true}}}'],
  ])('%s %s: 400, and nothing is polluted', async (line, body) => {
    const { send, engine } = await asAdmin()
    const before = engine.devices.get((await send('GET /api/v1/devices/r')).body.device_id)
    expect((await send(line, body)).body.code).toBe('BAD_REQUEST')
    expect(({} as { admin?: boolean }).admin).toBeUndefined()
    expect(engine.all()).toEqual([before])
  })

  test('that are only values are accepted', async () => {
    const { send } = await asAdmin()
    const metadata = { constructor: 'Acme', prototype: 2, toString: 'y', hasOwnProperty: 'x' }
    const { status, body } = await send('PUT /api/v1/devices/r', JSON.stringify({ metadata }))
    expect([status, body.metadata]).toEqual([200, metadata])
    const shadow = await send('PUT /api/v1/shadows/r/desired', JSON.stringify({ constructor: 'Acme' }))
    expect(shadow.body.desired).toEqual({ constructor: 'Acme' })
  })

  test('such keys in a query are unknown parameters', async () => {
    const { send } = await asAdmin()
    for (const query of ['__proto__=1', 'constructor=1', '__proto__[admin]=true', 'q[$ne]=1', 'toString=1'])
      expect((await send(`GET /api/v1/devices?${query}`)).status).toBe(422)
  })
})

describe('JSON that readers disagree about', () => {
  test('the last of two equal keys counts, for checks and for what is kept', async () => {
    const { send } = await asAdmin()
    const wrong = await send('PATCH /api/v1/devices/r', '{"name":"a","name":""}', MERGE_PATCH)
    expect(wrong.status).toBe(422)
    const right = await send('PATCH /api/v1/devices/r', '{"name":"","name":"b"}', MERGE_PATCH)
    expect([right.status, right.body.name]).toEqual([200, 'b'])
  })

  test.each(['1e999', '-1e999', `1${'0'.repeat(400)}`, `${'9'.repeat(215)}e99`, '[{"a":1E+400}]'])(
    'a number beyond all numbers is refused: %s',
    async (number) => {
      const { send } = await asAdmin()
      const { status, body } = await send('PUT /api/v1/shadows/r/desired', `{"a":${number}}`)
      expect([status, body.detail]).toEqual([400, 'a number is too large'])
    },
  )

  test('many long numbers are looked through in a moment, even if nobody has logged in', async () => {
    const { request } = openHarness()
    const body = JSON.stringify({ email: 'a@b.c', password: 'x', more: `${'9'.repeat(308)} `.repeat(3_300) })
    const login = () => request('POST /api/v1/auth/login', { body, headers: JSON_TYPE })
    expect((await login()).status).toBe(401)
    // The fastest of a few tries, because CPU time is that of the whole process.
    const cpuMs: number[] = []
    for (let tries = 0; tries < 4; tries++) {
      const before = process.cpuUsage()
      await login()
      cpuMs.push(process.cpuUsage(before).user / 1_000)
    }
    expect(Math.min(...cpuMs)).toBeLessThan(100)
  })

  test('large and small numbers are kept as they are', async () => {
    const { send } = await asAdmin()
    const body = '{"a":1e308,"b":5e-324,"c":-0.1,"d":9007199254740991,"e":"1e999"}'
    const { status, text } = await send('PUT /api/v1/shadows/r/desired', body)
    expect([status, text]).toEqual([200, expect.stringContaining('"e":"1e999"')])
    expect(JSON.parse(text).desired).toEqual(JSON.parse(body))
  })

  test.each(['NaN', 'Infinity', '01', '.5', '0x10', '1_000', "{'a':1}", '{a:1}', '[1,]', '{"a":1}x'])(
    '%s is no JSON: 400',
    async (body) => {
      const { send } = await asAdmin()
      expect((await send('PUT /api/v1/shadows/r/desired', body)).status).toBe(400)
    },
  )

  test('a byte order mark is no part of the text', async () => {
    const { send } = await asAdmin()
    const { status, body } = await send('PUT /api/v1/shadows/r/desired', '\ufeff{"a":1}')
    expect([status, body.desired]).toEqual([200, { a: 1 }])
  })

  test.each([
    ['application/json; charset=utf-8', 200],
    ['application/json;charset="UTF8"', 200],
    ['application/json; charset=iso-8859-1', 415],
    ['application/json; charset=utf-16', 415],
    ['application/json; charset=utf-7', 415],
  ])('%s: %i', async (type, status) => {
    const { send } = await asAdmin()
    const answer = await send('PUT /api/v1/shadows/r/desired', '{"a":1}', { 'content-type': type })
    expect(answer.status).toBe(status)
  })

  test.each([
    ['gzip', 415],
    ['GZIP', 415],
    ['br', 415],
    ['identity', 200],
  ])('Content-Encoding %s: %i', async (encoding, status) => {
    const { send } = await asAdmin()
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
    const { status: got, body } = await send('PUT /api/v1/shadows/r/desired', '{"a":1}', headers)
    expect(got).toBe(status)
    if (status === 415)
      expect(body).toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE', detail: 'send the body uncompressed' })
  })
})

describe('what a caller writes', () => {
  test('never becomes a header', async () => {
    const { send } = await asAdmin()
    const evil = '%0d%0aSet-Cookie:%20a=b'
    const { headers, status } = await send(`GET /api/v1/devices?q=${evil}&per_page=1`)
    expect([status, headers['set-cookie']]).toEqual([200, undefined])
    expect(headers['link']).toContain('q=%0D%0ASet-Cookie%3A+a%3Db')
    for (const line of [`GET /api/v1/devices/${evil}`, `GET /problems/${evil}`, `GET /${evil}`]) {
      const answer = await send(line)
      expect([answer.status, answer.headers['set-cookie']]).toEqual([404, undefined])
    }
  })

  test('never breaks a line of the log, and never adds one', async () => {
    const lines: string[] = []
    const logger = openLogger({ level: 'trace', to: { write: (line) => void lines.push(line) } })
    const { send } = await asAdmin({ logger })
    const evil = encodeURIComponent('r\n{"level":"fatal","msg":"forged"}\u2028\u0000\u001b[2J')
    await send(`GET /api/v1/devices/${evil}`)
    await send('GET /api/v1/devices', undefined, { 'x-request-id': 'a {"b"}', 'user-agent': '\u001b[2J' })
    await send('POST /api/v1/auth/login', JSON.stringify({ email: 'a\n@b.c', password: 'x\ny' }))
    expect(lines).toHaveLength(3)
    for (const line of lines) {
      expect(line.trimEnd()).not.toMatch(/\p{Cc}|\u2028/u)
      expect(JSON.parse(line)).toMatchObject({ msg: 'request', level: 'debug' })
    }
  })

  test('is shown back as JSON or as escaped text only', async () => {
    const { send } = await asAdmin()
    const evil = encodeURIComponent('<script>alert(1)</script>')
    for (const line of [`GET /problems/${evil}`, `GET /api/v1/devices/${evil}`, `GET /${evil}`]) {
      const { headers } = await send(line, undefined, { accept: 'text/html' })
      expect(headers).toMatchObject({
        'content-type': 'application/problem+json; charset=utf-8',
        'x-content-type-options': 'nosniff',
      })
    }
  })
})

describe('lists', () => {
  const { routes } = openHarness()
  const paged = routes.filter(({ query }) => JSON.stringify(query ?? {}).includes('"per_page"'))

  test.each(paged.map((route) => [route.operationId, route] as const))(
    '%s has its bounds',
    async (_, route) => {
      const harness = await asAdmin()
      const { send } = harness
      const make = async (line: string, body: object) => (await send(line, JSON.stringify(body))).body
      const broadcast = await make('POST /api/v1/commands/$broadcast', { group: 'a', command: 'go' })
      const channel = await make('POST /api/v1/alerts/channels', {
        type: 'webhook',
        url: 'https://hooks.example.com/',
      })
      await uploadFirmware(harness, '2.0')
      const deployment = await make('POST /api/v1/ota/deployments', {
        firmware_version: '2.0',
        target: { type: 'device', value: 'r' },
      })
      const path = route.path
        .replace('{device_id}', 'r')
        .replace('{broadcast_id}', broadcast.broadcast_id)
        .replace('{channel_id}', channel.channel_id)
        .replace('{deployment_id}', deployment.deployment_id)
      for (const query of [
        'per_page=201',
        'per_page=0',
        'page=0',
        'page=x',
        'per_page=1.5',
        'page=-1',
        'page=1e9',
      ]) {
        const { status, body } = await send(`${route.method} ${path}?${query}`)
        expect([query, status, body.code]).toEqual([query, 422, 'VALIDATION_FAILED'])
      }
      const needed = JSON.stringify(route.query).includes('"metric"') ? '&metric=m' : ''
      const { status, body, headers } = await send(`${route.method} ${path}?per_page=200&page=3${needed}`)
      expect(status).toBe(200)
      // A broadcast holds the page of its commands.
      const page = body.commands?.data === undefined ? body : body.commands
      expect(page).toMatchObject({ data: [], page: 3, per_page: 200, total: expect.any(Number) })
      if (page !== body) return
      expect(headers['x-total-count']).toBe(String(page.total))
      expect(headers['link']).toContain('rel="first"')
    },
  )

  test('HEAD answers as GET does, without the body', async () => {
    const { send } = await asAdmin()
    for (const path of [
      '/api/v1/devices',
      '/api/v1/devices/r',
      '/api/v1/shadows/r',
      '/api/v1/devices/none',
      '/problems',
    ]) {
      const [get, head] = [await send(`GET ${path}`), await send(`HEAD ${path}`)]
      expect([head.status, head.text, head.headers['etag']]).toEqual([get.status, '', get.headers['etag']])
    }
  })
})

test('a text that is far too long is called too long, and no pattern looks at it', async () => {
  const { send } = await asAdmin()
  const name = ' '.repeat(16_000)
  const body = JSON.stringify({ email: 'x@example.com', password: 'correct horse battery', name })
  const { status, body: problem } = await send('POST /api/v1/auth/register', body)
  expect([status, problem.errors]).toEqual([
    422,
    [expect.objectContaining({ path: '/name', code: 'TOO_LONG' })],
  ])
})
