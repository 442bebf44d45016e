import { describe, expect, test, vi } from 'vitest'
import { Fault } from '../../engine/ports/fault.ts'
import { emptyType } from '../testing/device-type.ts'
import { openHarness } from '../testing/rest.ts'

const DEVICES = '/api/v1/devices'
const SENSOR = { name: 'Sensor', type: 'simulator' }
async function asAdmin(options = {}) {
  const harness = openHarness(options)
  const { token } = await harness.login('admin')
  const send = (line: string, body?: unknown, headers: Record<string, string> = {}) =>
    harness.request(line, { token, body, headers })
  return { ...harness, send, token }
}

describe('registering a device', () => {
  test('a registration is 201 with credentials, whose token opens only the device’s topics', async () => {
    const { send, tokens } = await asAdmin()
    const body = {
      device_id: 'robot-7',
      name: 'Picker',
      type: 'ros2_robot',
      group: 'warehouse/a',
      tags: ['a', 'b'],
    }
    const {
      status,
      body: made,
      headers,
    } = await send(`POST ${DEVICES}`, { ...body, metadata: { a: { b: 1 } } })
    expect(status).toBe(201)
    expect(headers).toMatchObject({ location: `${DEVICES}/robot-7`, 'cache-control': 'no-store' })
    expect(made).toMatchObject({
      ...body,
      id: 'robot-7',
      status: 'provisioning',
      metadata: { a: { b: 1 } },
      mqtt_topics: { publish: 'fleet/robot-7/#', subscribe: 'fleet/robot-7/#' },
      mqtt_endpoint: 'mqtt://localhost:1883',
      created_at: '2026-03-01T12:00:00.500Z',
    })
    const verified = await tokens.verifyDevice(made.access_token)
    expect(verified).toMatchObject({
      kind: 'valid',
      claims: { deviceId: 'robot-7', mayPublish: true, maySubscribe: true },
    })
    expect(made.token_expires_at).toBe('2027-03-01T12:00:00.000Z')
  })

  test('a device that another node has just registered is found', async () => {
    const { send, engine } = await asAdmin()
    await send(`POST ${DEVICES}`, { ...SENSOR, device_id: 'new' })
    const summary = vi.spyOn(engine.devices, 'summary').mockReturnValue(undefined)
    const catchUp = vi.spyOn(engine.devices, 'catchUp').mockImplementation(async () => summary.mockRestore())
    expect((await send(`GET ${DEVICES}/new`)).status).toBe(200)
    expect((await send(`GET ${DEVICES}/none`)).status).toBe(404)
    catchUp.mockRejectedValue(new Fault('STORE_UNAVAILABLE', { retryable: true }))
    expect((await send(`GET ${DEVICES}/none`)).status).toBe(503)
    expect((await send(`GET ${DEVICES}/new`)).status).toBe(200)
  })

  test('a node that was paused answers a list only once it has caught up', async () => {
    const { send, engine } = await asAdmin()
    let isBehind = true
    const list = engine.devices.list.bind(engine.devices)
    vi.spyOn(engine.devices, 'list').mockImplementation((filter, page) =>
      isBehind ? { devices: [], total: 0 } : list(filter, page),
    )
    await send(`POST ${DEVICES}`, { ...SENSOR, device_id: 'missed' })
    expect((await send(`GET ${DEVICES}`)).body.total).toBe(0)
    vi.spyOn(engine.devices, 'freshen').mockImplementation(async () => {
      isBehind = false
    })
    expect((await send(`GET ${DEVICES}`)).body.total).toBe(1)
  })

  test('a registration without an id gets one', async () => {
    const { send } = await asAdmin()
    const { body } = await send(`POST ${DEVICES}`, { name: 'x', type: 'simulator' })
    expect(body.device_id).toMatch(/^dev_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
    expect((await send(`GET ${DEVICES}/${body.device_id}`)).status).toBe(200)
  })

  test('an id derived from an Idempotency-Key looks like any other', async () => {
    const { send } = await asAdmin()
    const { body } = await send(
      `POST ${DEVICES}`,
      { name: 'x', type: 'simulator' },
      { 'idempotency-key': 'k' },
    )
    expect(body.device_id).toMatch(/^dev_[0-7][0-9a-hjkmnp-tv-z]{25}$/)
    // An id of hexadecimal digits only would be a valid ULID just by chance.
    expect(body.device_id).toMatch(/^dev_.*[g-z]/)
  })

  test('a registration with an existing id is refused and leaves the device alone', async () => {
    const { send, device, engine } = await asAdmin()
    const id = await device('robot-7')
    const before = engine.devices.get(id)
    const { status, body } = await send(`POST ${DEVICES}`, {
      device_id: 'robot-7',
      name: 'y',
      type: 'gateway',
    })
    expect([status, body.code]).toEqual([409, 'ALREADY_EXISTS'])
    expect(engine.devices.get(id)).toBe(before)
  })

  test.each([
    ['/name', { name: undefined }, 'REQUIRED'],
    ['/name', { name: '' }, 'TOO_SHORT'],
    ['/name', { name: '   ' }, 'WRONG_FORMAT'],
    ['/name', { name: 'a\nb' }, 'WRONG_FORMAT'],
    ['/name', { name: 5 }, 'WRONG_TYPE'],
    ['/type', { type: 'toaster' }, 'NOT_ALLOWED'],
    ['/device_id', { device_id: '-a' }, 'WRONG_FORMAT'],
    ['/device_id', { device_id: 'a/b' }, 'WRONG_FORMAT'],
    ['/device_id', { device_id: 'x'.repeat(65) }, 'WRONG_FORMAT'],
    ['/group', { group: 'a//b' }, 'WRONG_FORMAT'],
    ['/group', { group: '/a' }, 'WRONG_FORMAT'],
    ['/group', { group: '../a' }, 'WRONG_FORMAT'],
    ['/group', { group: 'a/./b' }, 'WRONG_FORMAT'],
    ['/group', { group: 'a/..' }, 'WRONG_FORMAT'],
    ['/group', { group: '1/2/3/4/5/6/7/8/9' }, 'WRONG_FORMAT'],
    ['/tags', { tags: Array.from({ length: 51 }, (_, i) => `t${i}`) }, 'TOO_MANY'],
    ['/tags/0', { tags: ['x'.repeat(65)] }, 'TOO_LONG'],
    ['/metadata', { metadata: [1] }, 'WRONG_TYPE'],
    ['/metadata', { metadata: nested(11) }, 'TOO_DEEP'],
  ])('refuses a wrong %s: %j', async (path, change, code) => {
    const { send, engine } = await asAdmin()
    const { status, body } = await send(`POST ${DEVICES}`, { name: 'x', type: 'simulator', ...change })
    expect([status, body.code]).toEqual([422, 'VALIDATION_FAILED'])
    expect(body.errors).toContainEqual(expect.objectContaining({ path, code }))
    expect(engine.all().length).toBe(0)
  })

  test('a field that is not known is refused, with its pointer and the name that was probably meant', async () => {
    const { send, engine } = await asAdmin()
    const { status, body } = await send(`POST ${DEVICES}`, { ...SENSOR, gruop: 'a', metadata: { any: 1 } })
    expect([status, body.code]).toEqual([422, 'UNKNOWN_FIELD'])
    expect(body.detail).toMatch(/^\/gruop: is not known; did you mean group\? Known are device_id, name, /)
    expect(body.errors).toEqual([
      { path: '/gruop', in: 'body', code: 'UNKNOWN_FIELD', message: expect.stringContaining('group') },
    ])
    expect(engine.all().length).toBe(0)
    // It is reported before other errors, which may follow from it.
    const misspelt = await send(`POST ${DEVICES}`, { nmae: 'x', type: 'simulator' })
    expect([misspelt.body.code, misspelt.body.errors.length]).toEqual(['UNKNOWN_FIELD', 2])
  })

  test('a parent must be a gateway, and the refusal says what is wrong with another', async () => {
    const { send, device } = await asAdmin()
    await device('gw-1', { type: 'gateway' })
    await device('plain')
    await device('below', { type: 'gateway', parentId: 'gw-1' })
    await device('old', { type: 'gateway' })
    await send(`DELETE ${DEVICES}/old`)
    const registered = await send(`POST ${DEVICES}`, { ...SENSOR, parent_id: 'gw-1' })
    expect([registered.status, registered.body.parent_id]).toEqual([201, 'gw-1'])
    for (const [parent, why] of [
      ['nobody', 'is not registered'],
      ['plain', 'is of type mqtt_device'],
      ['old', 'is decommissioned'],
      ['below', 'is a sub-device of gw-1'],
      ['self', 'is the device itself'],
    ]) {
      const { status, body } = await send(`POST ${DEVICES}`, {
        ...SENSOR,
        device_id: 'self',
        parent_id: parent,
      })
      expect([status, body.errors]).toEqual([
        422,
        [
          expect.objectContaining({
            path: '/parent_id',
            code: 'NOT_ALLOWED',
            message: `must be a gateway in service; ${parent} ${why}`,
          }),
        ],
      ])
    }
    const { body } = await send(`GET ${DEVICES}?parent_id=gw-1&type=simulator`)
    expect(body.data.map((one: { device_id: string }) => one.device_id)).toEqual([registered.body.device_id])
  })

  test('all mistakes of a registration are listed at once', async () => {
    const { send } = await asAdmin()
    const { body } = await send(`POST ${DEVICES}`, { tags: 'a', group: '//' })
    expect(body.errors.map(({ path }: { path: string }) => path)).toEqual(
      expect.arrayContaining(['/name', '/type', '/tags', '/group']),
    )
  })

  test('metadata is accepted up to its limit and is 413 beyond', async () => {
    const { send } = await asAdmin()
    const metadata = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) })
    const body = { name: 'x', type: 'simulator' }
    expect((await send(`POST ${DEVICES}`, { ...body, metadata: metadata(32_768) })).status).toBe(201)
    const refused = await send(`POST ${DEVICES}`, { ...body, metadata: metadata(32_769) })
    expect(refused.status).toBe(413)
    expect(refused.body).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', limit: 32_768, actual: 32_769 })
  })

  test('a registration accepts the types of the type file', async () => {
    const { send } = await asAdmin({ customTypes: new Map([['greenhouse', emptyType('greenhouse')]]) })
    expect((await send(`POST ${DEVICES}`, { name: 'x', type: 'greenhouse' })).status).toBe(201)
  })

  test('only an admin may register a device', async () => {
    const { login, request } = openHarness()
    for (const role of ['operator', 'viewer'] as const) {
      const { token } = await login(role)
      const { status, body } = await request(`POST ${DEVICES}`, {
        token,
        body: { name: 'x', type: 'simulator' },
      })
      expect([status, body.code]).toEqual([403, 'FORBIDDEN'])
    }
  })

  test('a registration is 503 and may have happened if another node does not answer', async () => {
    const { send, engine } = await asAdmin()
    const gone = new Fault('NODE_UNREACHABLE', { retryable: true, message: 'node 10.1.2.3 is gone' })
    engine.submit = () => Promise.reject(gone)
    const { status, headers, body, text } = await send(`POST ${DEVICES}`, { name: 'x', type: 'simulator' })
    expect([status, headers['retry-after'], body.dependency]).toEqual([503, '2', 'nodes'])
    expect(body.detail).toContain('may have done it or not')
    expect(text).not.toContain('10.1.2.3')
  })

  test('a registration is 503 with Retry-After while the log cannot be written, and reads go on', async () => {
    const { send, engine, device } = await asAdmin()
    await device('robot-7')
    const full = new Fault('LOG_FULL', { retryable: true, message: 'the disk /secret/path is full' })
    engine.submit = () => Promise.reject(full)
    const refused = await send(`POST ${DEVICES}`, { name: 'x', type: 'simulator' })
    expect(refused.status).toBe(503)
    expect(refused.headers['retry-after']).toBe('2')
    expect(refused.body).toMatchObject({ code: 'DEPENDENCY_UNAVAILABLE', dependency: 'log' })
    expect(refused.text).not.toContain('secret')
    for (const line of [
      `GET ${DEVICES}`,
      `GET ${DEVICES}/robot-7`,
      'GET /api/v1/telemetry/robot-7',
      'GET /api/v1/auth/me',
    ])
      expect((await send(line)).status).toBe(200)
  })
})

describe('reading a device', () => {
  test('a device shows its record and its live state', async () => {
    const { send, device, engine } = await asAdmin()
    const id = await device('robot-7', { group: 'a' })
    for (let n = 0; n < 12; n++) await engine.connect(id)
    const { body } = await send(`GET ${DEVICES}/robot-7`)
    expect(body).toMatchObject({
      device_id: 'robot-7',
      group: 'a',
      description: null,
      heartbeat_timeout_sec: 60,
      last_seen_at: '2026-03-01T12:00:00.500Z',
      last_telemetry_at: null,
      connectivity: {
        connected: true,
        since: '2026-03-01T12:00:00.500Z',
        reason: 'connect',
        ip: '127.0.0.1',
        flapping: true,
      },
      issues: [],
    })
    expect(body).not.toHaveProperty('access_token')
  })

  test('a current copy is 304, and a device that has sent a message is answered in full', async () => {
    const { send, device, engine } = await asAdmin()
    const id = await device('robot-7')
    const etag = String((await send(`GET ${DEVICES}/robot-7`)).headers['etag'])
    const again = (tag: string) => send(`GET ${DEVICES}/robot-7`, undefined, { 'if-none-match': tag })
    expect((await again(etag)).status).toBe(304)
    expect((await again(`"x", W/${etag}`)).status).toBe(304)
    expect((await again('*')).status).toBe(304)
    await engine.publish(id, 'status', {})
    expect((await again(etag)).status).toBe(200)
  })

  test.each(['nobody', 'b%2Fc', '%00', '$broadcast', 'x'.repeat(900)])(
    'the device id %s is 404',
    async (id) => {
      const { send } = await asAdmin()
      const { status, body } = await send(`GET ${DEVICES}/${id}`)
      expect([status, body.code]).toEqual([404, 'NOT_FOUND'])
    },
  )

  test('a device outside an operator’s groups looks absent, and groups end at slashes', async () => {
    const { login, request, device } = openHarness()
    await device('in', { group: 'warehouse/a' })
    await device('deep', { group: 'warehouse/a/x' })
    await device('look-alike', { group: 'warehouse/ab' })
    await device('parent', { group: 'warehouse' })
    await device('none')
    const { token } = await login('operator', { groups: ['warehouse/a'] })
    const statusOf = async (line: string) => (await request(line, { token })).status
    expect(await statusOf(`GET ${DEVICES}/in`)).toBe(200)
    expect(await statusOf(`GET ${DEVICES}/deep`)).toBe(200)
    for (const id of ['look-alike', 'parent', 'none']) {
      expect(await statusOf(`GET ${DEVICES}/${id}`)).toBe(404)
      expect(await statusOf(`GET /api/v1/telemetry/${id}`)).toBe(404)
      expect(await statusOf(`GET /api/v1/telemetry/${id}/history?metric=m`)).toBe(404)
    }
    const { body } = await request(`GET ${DEVICES}`, { token })
    expect(body.total).toBe(2)
  })
})

describe('listing devices', () => {
  async function fleet() {
    const harness = await asAdmin()
    for (let i = 0; i < 7; i++) {
      harness.clock.at += 1000
      await harness.device(`d${i}`, {
        group: i < 4 ? 'a/b' : 'c',
        tags: i % 2 ? ['odd'] : ['even', `n${i}`],
        name: `D ${9 - i}`,
      })
    }
    return harness
  }
  const idsOf = (body: { data: { device_id: string }[] }) => body.data.map(({ device_id }) => device_id)

  test('devices are listed in pages, newest first, with links that keep the filters', async () => {
    const { send } = await fleet()
    const { body, headers } = await send(`GET ${DEVICES}?page=2&per_page=3&q=d`)
    expect(body).toMatchObject({ page: 2, per_page: 3, total: 7, total_pages: 3 })
    expect(idsOf(body)).toEqual(['d3', 'd2', 'd1'])
    expect(headers['x-total-count']).toBe('7')
    expect(headers['link']).toBe(
      ['first', 'prev', 'next', 'last']
        .map((rel, i) => `<${DEVICES}?page=${[1, 1, 3, 3][i]}&per_page=3&q=d>; rel="${rel}"`)
        .join(', '),
    )
  })

  test('a page beyond the last one is empty and links back', async () => {
    const { send } = await fleet()
    const { body, headers } = await send(`GET ${DEVICES}?page=9&per_page=5`)
    expect([body.data, body.total]).toEqual([[], 7])
    expect(headers['link']).toContain('page=2&per_page=5>; rel="prev"')
    expect(headers['link']).not.toContain('rel="next"')
  })

  test('all filters apply together, and all tags must match', async () => {
    const { send } = await fleet()
    const only = async (query: string) => idsOf((await send(`GET ${DEVICES}?${query}`)).body)
    expect(await only('group=a')).toEqual(['d3', 'd2', 'd1', 'd0'])
    expect(await only('group=a&group_exact=true')).toEqual([])
    expect(await only('group=a/b&group_exact=true&tag=odd')).toEqual(['d3', 'd1'])
    expect(await only('tag=even&tag=n2')).toEqual(['d2'])
    expect(await only('tag=even&tag=odd')).toEqual([])
    expect(await only('q=D%209')).toEqual(['d0'])
    expect(await only('status=provisioning&type=mqtt_device&per_page=1')).toEqual(['d6'])
    expect(await only('status=online')).toEqual([])
    expect(await only('sort=name:ASC&per_page=2')).toEqual(['d6', 'd5'])
    expect(await only('sort=name&per_page=1')).toEqual(['d6'])
    expect(await only('sort=name:desc&per_page=1')).toEqual(['d0'])
  })

  test.each([
    ['per_page=201', '/per_page', 'OUT_OF_RANGE'],
    ['per_page=0', '/per_page', 'OUT_OF_RANGE'],
    ['page=0', '/page', 'OUT_OF_RANGE'],
    ['page=x', '/page', 'WRONG_TYPE'],
    ['page=', '/page', 'WRONG_TYPE'],
    ['page=1.5', '/page', 'WRONG_TYPE'],
    ['page=1&page=2', '/page', 'WRONG_TYPE'],
    ['status=asleep', '/status', 'NOT_ALLOWED'],
    ['type=toaster', '/type', 'NOT_ALLOWED'],
    ['group=a%00', '/group', 'WRONG_FORMAT'],
    ['group_exact=maybe', '/group_exact', 'WRONG_TYPE'],
    ['sort=password', '/sort', 'WRONG_FORMAT'],
    ['sort=name:SIDEWAYS', '/sort', 'WRONG_FORMAT'],
    ['stauts=online', '/stauts', 'UNKNOWN_PARAMETER'],
    ['__proto__=1', '/__proto__', 'UNKNOWN_PARAMETER'],
  ])('refuses ?%s', async (query, path, code) => {
    const { send } = await asAdmin()
    const { status, body } = await send(`GET ${DEVICES}?${query}`)
    expect([status, body.code]).toEqual([422, 'VALIDATION_FAILED'])
    expect(body.errors).toContainEqual(expect.objectContaining({ path, code, in: 'query' }))
  })
})

function nested(levels: number): object {
  let value: object = {}
  for (let i = 1; i < levels; i++) value = { a: value }
  return value
}
