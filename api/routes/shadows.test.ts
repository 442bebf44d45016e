import { describe, expect, test } from 'vitest'
import type { FeedEvent } from '../../engine/index.ts'
import { Fault } from '../../engine/ports/fault.ts'
import { Micros, Millis } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { NOW, openHarness } from '../testing/rest.ts'

const SHADOW = '/api/v1/shadows/r'
const DESIRED = `PUT ${SHADOW}/desired`

async function asOperator() {
  const harness = openHarness()
  const { token, user } = await harness.login('operator')
  const id = await harness.device('r')
  const send = (line: string, body?: unknown, headers: Record<string, string> = {}) =>
    harness.request(line, { token, body, headers })
  const reported = (patch: JsonObject) => harness.engine.publish(id, 'shadow/reported', patch)
  return { ...harness, send, user, id, reported }
}

describe('reading a shadow', () => {
  test('a shadow that was never written is empty, has version 0 and is in sync', async () => {
    const { send } = await asOperator()
    const { status, body, headers } = await send(`GET ${SHADOW}`)
    expect([status, headers['etag']]).toEqual([200, '"0"'])
    expect(body).toEqual({
      device_id: 'r',
      version: 0,
      desired: {},
      reported: {},
      delta: {},
      metadata: { desired: {}, reported: {} },
      in_sync: true,
      updated_at: null,
    })
  })

  test('a shadow shows both sides, the delta per field, and when each field changed', async () => {
    const { send, reported, clock } = await asOperator()
    await send(DESIRED, { light: { on: true, level: 5 }, mode: 'eco' })
    clock.at += 1_000
    await reported({ light: { on: true, level: 3 }, battery: 80 })
    const { body } = await send(`GET ${SHADOW}`)
    expect(body).toMatchObject({
      version: 2,
      delta: { light: { level: 5 }, mode: 'eco' },
      in_sync: false,
      updated_at: '2026-03-01T12:00:01.500Z',
    })
    expect(body.metadata.desired['light.level']).toEqual({ timestamp: '2026-03-01T12:00:00.500Z' })
    expect(body.metadata.reported['light.level']).toEqual({ timestamp: '2026-03-01T12:00:01.500Z' })
    const delta = await send(`GET ${SHADOW}/delta`)
    expect(delta.body).toEqual({
      device_id: 'r',
      version: 2,
      delta: body.delta,
      metadata: {
        'light.level': { timestamp: '2026-03-01T12:00:00.500Z' },
        mode: { timestamp: '2026-03-01T12:00:00.500Z' },
      },
    })
    expect(delta.headers['etag']).toBe('"2"')
  })

  test('a copy of the current version is answered with 304', async () => {
    const { send } = await asOperator()
    await send(DESIRED, { a: 1 })
    for (const path of [SHADOW, `${SHADOW}/delta`]) {
      const same = await send(`GET ${path}`, undefined, { 'if-none-match': '"1"' })
      expect([same.status, same.headers['etag'], same.text]).toEqual([304, '"1"', ''])
      expect((await send(`GET ${path}`, undefined, { 'if-none-match': '"0"' })).status).toBe(200)
    }
  })
})

describe('writing the desired state', () => {
  test('a write merges, null removes a field, and a write without a change keeps the version', async () => {
    const { send } = await asOperator()
    await send(DESIRED, { a: { b: 1, c: [1, 2] }, d: 'x' })
    const { body, headers } = await send(DESIRED, { a: { b: null, c: [3] } })
    expect([body.desired, body.version, headers['etag']]).toEqual([{ a: { c: [3] }, d: 'x' }, 2, '"2"'])
    const again = await send(DESIRED, { a: { c: [3], z: null } })
    expect([again.status, again.body.version]).toEqual([200, 2])
  })

  test('a write with mode=replace removes fields that are left out', async () => {
    const { send } = await asOperator()
    await send(DESIRED, { a: 1, b: 2 })
    expect((await send(`${DESIRED}?mode=replace`, { b: 3 })).body.desired).toEqual({ b: 3 })
    expect((await send(`${DESIRED}?mode=overwrite`, { b: 3 })).status).toBe(422)
  })

  test('a write for another version is refused with the data for a new attempt', async () => {
    const { send } = await asOperator()
    await send(DESIRED, { a: 1 }, { 'if-match': '"0"' })
    const { status, body } = await send(DESIRED, { a: 2 }, { 'if-match': '"0"' })
    expect(status).toBe(409)
    expect(body).toMatchObject({
      code: 'DEVICE_SHADOW_CONFLICT',
      detail: 'expected version 1, got 0',
      expected: 1,
      got: 0,
      delta: { a: 1 },
    })
    expect((await send(DESIRED, { a: 2 }, { 'if-match': `"${body.expected}"` })).body.version).toBe(2)
  })

  test('one of a hundred writers who read the same version succeeds', async () => {
    const { send } = await asOperator()
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => send(DESIRED, { i }, { 'if-match': '"0"' })),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(99)
  })

  test.each(['*', '"1"', '1', 'W/"1"'])('If-Match %s matches version 1', async (header) => {
    const { send } = await asOperator()
    await send(DESIRED, { a: 1 })
    expect((await send(DESIRED, { a: 2 }, { 'if-match': header })).status).toBe(200)
  })

  test.each(['"x"', '"1", "2"', '"-1"', '""', '"1e3"', `"${'9'.repeat(40)}"`])(
    'an If-Match of %s is 400 and does not mean any version',
    async (header) => {
      const { send } = await asOperator()
      await send(DESIRED, { a: 1 })
      const { status, body } = await send(DESIRED, { a: 2 }, { 'if-match': header })
      expect([status, body.code]).toEqual([400, 'BAD_REQUEST'])
    },
  )

  test('a write reaches the engine with its author and the request’s id', async () => {
    const { send, engine, user, id } = await asOperator()
    const device = await engine.connect(id)
    device.subscribe('fleet/r/shadow/desired')
    const told: FeedEvent[] = []
    engine.feed.listen((events) => void told.push(...events))
    await send(DESIRED, { a: 1 }, { 'x-request-id': 'mine' })
    await expect
      .poll(() => told)
      .toContainEqual(
        expect.objectContaining({
          kind: 'shadow',
          change: expect.objectContaining({
            version: 1,
            by: { kind: 'user', id: user.id },
            requestId: 'mine',
            patch: { a: 1 },
          }),
        }),
      )
    await expect
      .poll(() => device.received)
      .toContainEqual(expect.objectContaining({ suffix: 'shadow/desired', qos: 1 }))
  })

  test.each([
    ['an empty key', '{"":1}', '/', 'TOO_SHORT'],
    ['an empty key inside', '{"a":{"":1}}', '/a/', 'TOO_SHORT'],
    ['half a surrogate pair in a key', '{"\\ud800":1}', expect.any(String), 'WRONG_FORMAT'],
    ['half a surrogate pair', '{"a":"\\udc00x"}', '/a', 'WRONG_FORMAT'],
    ['a key of 129 characters', `{"${'k'.repeat(129)}":1}`, expect.any(String), 'TOO_LONG'],
    ['eleven levels', `${'{"a":'.repeat(11)}1${'}'.repeat(11)}`, '/a/a/a/a/a/a/a/a/a/a', 'TOO_DEEP'],
  ])('%s: 422, and nothing is written', async (_, text, path, code) => {
    const { send, engine, id } = await asOperator()
    const { status, body } = await send(DESIRED, text, { 'content-type': 'application/json' })
    expect(status).toBe(422)
    expect(body.errors).toContainEqual(expect.objectContaining({ path, code }))
    expect((await engine.shadow(id))?.version).toBe(0)
  })

  test.each(['{"__proto__":{"a":1}}', '{"a":{"__proto__":1}}', '{"\\u005f_proto__":1}'])(
    'a prototype key is refused: %s',
    async (text) => {
      const { send } = await asOperator()
      const { status } = await send(DESIRED, text, { 'content-type': 'application/json' })
      expect(status).toBe(400)
    },
  )

  test.each(['[]', 'null', '"x"', '5'])('the body %s is no state: 422', async (text) => {
    const { send } = await asOperator()
    expect((await send(DESIRED, text, { 'content-type': 'application/json' })).status).toBe(422)
  })

  test('a side beyond 64 KiB is 413 with both sizes', async () => {
    const { send } = await asOperator()
    await send(DESIRED, { a: 'x'.repeat(60_000) })
    const { status, body } = await send(DESIRED, { b: 'x'.repeat(10_000) })
    expect([status, body.code, body.limit]).toEqual([413, 'PAYLOAD_TOO_LARGE', 65_536])
    expect(body.actual).toBeGreaterThan(65_536)
  })

  test('a decommissioned device’s shadow can be read but not written', async () => {
    const { send, engine, id } = await asOperator()
    await send(DESIRED, { a: 1 })
    await engine.submit(id, { kind: 'decommission' }, { by: { kind: 'user', id: 'usr_x' } })
    expect((await send(DESIRED, { a: 2 })).body.code).toBe('DEVICE_DECOMMISSIONED')
    expect((await send(`GET ${SHADOW}`)).body.version).toBe(1)
  })

  test('a write is 503 while the log cannot be written', async () => {
    const { send, engine } = await asOperator()
    engine.submit = () => Promise.reject(new Fault('LOG_UNAVAILABLE', { retryable: true }))
    expect((await send(DESIRED, { a: 1 })).status).toBe(503)
  })
})

describe('the history of a shadow', () => {
  const entry = (version: number, section: string) => ({
    version,
    timestamp: '2026-03-01T12:00:00.000Z',
    section,
    actor: { type: 'user', id: 'usr_1' },
    patch: { a: version },
    previous: { a: version - 1 },
    request_id: null,
  })

  test('the history comes in pages, newest first', async () => {
    const { send, engine, id } = await asOperator()
    for (let version = 3; version > 0; version--)
      await engine.remember({
        deviceId: id,
        kind: 'shadow',
        at: Micros(NOW * 1000 + version),
        version,
        body: entry(version, 'desired'),
      })
    const { body, headers } = await send(`GET ${SHADOW}/history?per_page=2`)
    expect(body).toEqual({
      data: [entry(3, 'desired'), entry(2, 'desired')],
      page: 1,
      per_page: 2,
      total: 3,
      total_pages: 2,
      next_cursor: expect.any(String),
    })
    expect(headers['link']).toContain('rel="next"')
    const rest = await send(`GET ${SHADOW}/history?limit=2&cursor=${body.next_cursor}`)
    expect(rest.body).toEqual({ data: [entry(1, 'desired')], next_cursor: null })
    expect((await send(`GET ${SHADOW}/history?cursor=x`)).status).toBe(400)
  })

  test('the history is filtered by side and time', async () => {
    const { send, engine } = await asOperator()
    const query = 'section=reported&from=2026-03-01T00:00:00Z&to=2026-03-02&page=3&per_page=10'
    await send(`GET ${SHADOW}/history?${query}`)
    expect(engine.askedHistory).toEqual([
      {
        deviceId: 'r',
        kinds: ['shadow'],
        labels: ['reported'],
        from: Millis(Date.UTC(2026, 2, 1)),
        to: Millis(Date.UTC(2026, 2, 2)),
        offset: 20,
        limit: 10,
      },
    ])
  })

  test.each([
    'section=both',
    'from=yesterday',
    'from=2026-03-02&to=2026-03-01',
    'per_page=201',
    'nonsense=1',
  ])('%s: 422', async (query) => {
    const { send } = await asOperator()
    expect((await send(`GET ${SHADOW}/history?${query}`)).status).toBe(422)
  })
})

test.each(['$broadcast', '%23', 'a%2Fb', '..%2F..%2Fetc', 'x'.repeat(1_000), '%00', 'r%20', 'ｒ'])(
  'the device id %s does not exist: 404',
  async (text) => {
    const { send } = await asOperator()
    const path = `/api/v1/shadows/${encodeURIComponent(decodeURIComponent(text))}`
    for (const line of [`GET ${path}`, `GET ${path}/delta`, `GET ${path}/history`])
      expect((await send(line)).status).toBe(404)
    expect((await send(`PUT ${path}/desired`, { a: 1 })).status).toBe(404)
  },
)
