import { expect, test } from 'vitest'
import { auditBlock } from '../../engine/adapters/telemetry/testing/telemetry.ts'
import { auditRow } from '../../engine/domain/audit/entry.ts'
import type { FeedEvent } from '../../engine/index.ts'
import { FLEET } from '../../engine/ports/feed.ts'
import { Millis, parseDeviceId } from '../../schemas/ids.ts'
import { NOW, openHarness } from '../testing/rest.ts'

const AUDIT = '/api/v1/audit'

async function setUp() {
  const harness = openHarness()
  const { token } = await harness.login('admin')
  const add = (n: number) => {
    const row = auditRow(
      {
        actor: { type: 'user', id: 'usr_a', name: 'a@example.com' },
        action: 'editDevice',
        target: 'devices/r',
        deviceId: parseDeviceId('r'),
        outcome: 'refused',
        code: 'FORBIDDEN',
        requestId: 'req_1',
        ip: '10.0.0.1',
        detail: { fields: ['name'] },
      },
      { at: Millis(NOW - n), number: 2 ** 50 - n, count: 1 },
    )
    return harness.engine.telemetry.insert(auditBlock([row]))
  }
  return { ...harness, add, send: (query = '') => harness.request(`GET ${AUDIT}${query}`, { token }) }
}

test('an entry holds author, action, object and outcome', async () => {
  const { add, send } = await setUp()
  await add(0)
  expect((await send()).body).toEqual({
    data: [
      {
        id: 'aud_mm7p6z1wb33j9ynrb4',
        at: '2026-03-01T12:00:00.500Z',
        actor: { type: 'user', id: 'usr_a', name: 'a@example.com' },
        action: 'editDevice',
        target: 'devices/r',
        device_id: 'r',
        outcome: 'refused',
        code: 'FORBIDDEN',
        request_id: 'req_1',
        ip: '10.0.0.1',
        count: 1,
        detail: { fields: ['name'] },
      },
    ],
    next_cursor: null,
    page: 1,
    per_page: 50,
    total: 1,
    total_pages: 1,
  })
})

test('all filters apply together', async () => {
  const { engine, send } = await setUp()
  const query = 'actor=a@example.com&action=login&target=users/u&device_id=r&outcome=failed&ip=::1'
  await send(`?${query}&from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z&limit=7`)
  expect(engine.askedAudit).toEqual([
    {
      actor: 'a@example.com',
      action: 'login',
      target: 'users/u',
      deviceId: 'r',
      outcome: 'failed',
      ip: '::1',
      from: Date.UTC(2026, 0, 1),
      to: Date.UTC(2026, 0, 2),
      before: undefined,
      limit: 8,
    },
  ])
})

test('pages have a number, a total and a cursor', async () => {
  const { add, send } = await setUp()
  for (let n = 0; n < 5; n++) await add(n)
  const first = await send('?per_page=2')
  expect(first.body).toMatchObject({ page: 1, per_page: 2, total: 5, total_pages: 3 })
  expect(first.headers['x-total-count']).toBe('5')
  expect(first.headers['link']).toContain(`<${AUDIT}?per_page=2&page=2>; rel="next"`)
  const second = await send('?per_page=2&page=2')
  expect((await send(`?per_page=2&cursor=${first.body.next_cursor}`)).body.data).toEqual(second.body.data)
  const last = await send('?per_page=2&page=3')
  expect([last.body.data.length, last.body.next_cursor]).toEqual([1, null])
})

test('pages together hold every entry, by cursor and by link', async () => {
  const { add, send } = await setUp()
  for (let n = 0; n < 5; n++) await add(n)
  const first = await send('?limit=2&outcome=refused')
  const rest = await send(`?limit=200&cursor=${first.body.next_cursor}`)
  expect(first.headers['link']).toBe(
    `<${AUDIT}?limit=2&outcome=refused&cursor=${first.body.next_cursor}>; rel="next"`,
  )
  const ids = [...first.body.data, ...rest.body.data].map(({ id }: { id: string }) => id)
  expect(new Set(ids).size).toBe(5)
  expect(rest.body.next_cursor).toBeNull()
})

test.each([
  ['cursor=nonsense', 400],
  ['limit=201', 422],
  ['outcome=maybe', 422],
  ['actor=', 422],
  ['from=yesterday', 422],
  ['user=x', 422],
])('a query of %s is refused', async (query, status) => {
  const { send } = await setUp()
  expect((await send(`?${query}`)).status).toBe(status)
})

test('only admins may read the audit', async () => {
  const { login, request } = await setUp()
  for (const role of ['operator', 'viewer'] as const) {
    const { token } = await login(role)
    expect((await request(`GET ${AUDIT}`, { token })).status).toBe(403)
  }
  expect((await request(`GET ${AUDIT}`)).status).toBe(401)
})

test('listeners of the feed receive recorded entries and dead letters', async () => {
  const { engine, device, login, request } = openHarness()
  const heard: FeedEvent[] = []
  engine.feed.listen((events) => heard.push(...events))
  const { token } = await login('admin')
  const id = await device('ra')
  await request('PATCH /api/v1/devices/ra', { token, body: { name: 'renamed' } })
  await request('POST /api/v1/auth/login', { body: { email: 'nobody@example.com', password: 'wrong wrong' } })
  await engine.publish(id, 'status', ['rubbish'])
  const ofKind = <Kind extends FeedEvent['kind']>(kind: Kind) =>
    heard.filter((event): event is Extract<FeedEvent, { kind: Kind }> => event.kind === kind)
  await expect.poll(() => ofKind('audit').map(({ row }) => JSON.parse(row.body).action)).toContain('login')
  const entries = ofKind('audit').map(({ deviceId, row }) => [deviceId, JSON.parse(row.body).action])
  expect(entries).toContainEqual(['ra', 'editDevice'])
  expect(entries).toContainEqual([FLEET, 'login'])
  expect(entries).toContainEqual(['ra', 'mqtt.message'])
  expect(ofKind('dead_letter').map(({ letter }) => letter.reason)).toEqual(['MALFORMED_STATUS'])
})
