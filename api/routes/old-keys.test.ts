// An Idempotency-Key is remembered for a day. After that, a request with the same key is a new one.
import { expect, test } from 'vitest'
import { openHarness } from '../testing/rest.ts'
import { NDJSON, setUp } from './testing/bulk.ts'

const DAY_MS = 86_400_000
const RULE = {
  name: 'hot',
  target: { type: 'all' },
  condition: { kind: 'threshold', metric: 't', op: '>', value: 10 },
}

test.each([
  [
    'alerts/silences',
    'silence_id',
    { matchers: { tag: 'x' }, ends_at: '2026-03-10T00:00:00Z', comment: 'x' },
  ],
  ['alerts/rules', 'rule_id', RULE],
  ['alerts/channels', 'channel_id', { name: 'ops', type: 'webhook', url: 'https://hooks.example.com/x' }],
])('%s: a key that was used days ago makes another one', async (path, idField, body) => {
  const { request, login, tokens, clock } = openHarness()
  const { user } = await login('admin')
  const create = async () => {
    const { token } = await tokens.issueAccess({ userId: user.id, at: clock.now() })
    return request(`POST /api/v1/${path}`, { token, body, headers: { 'idempotency-key': 'nightly' } })
  }
  const first = await create()
  clock.at += DAY_MS - 60_000
  expect((await create()).body).toEqual(first.body)
  clock.at += 120_000
  const second = await create()
  expect(second.status).toBe(201)
  expect(second.body[idField]).not.toBe(first.body[idField])
  expect(second.headers['location']).toBe(`/api/v1/${path}/${second.body[idField]}`)
})

test('a bulk registration with a key of days ago makes devices of rows without an id, and compares the others', async () => {
  const { tokens, login, request, clock } = await setUp()
  const { user } = await login('admin')
  const send = async (row: object) => {
    const { token } = await tokens.issueAccess({ userId: user.id, at: clock.now() })
    const headers = { ...NDJSON, 'idempotency-key': 'nightly' }
    const line = 'POST /api/v1/devices/bulk?upsert=true'
    const { results } = (await request(line, { token, headers, body: JSON.stringify(row) })).body
    return results[0].status
  }
  const nameless = { name: 'R', type: 'simulator' }
  const named = { ...nameless, device_id: 'r1' }
  expect([await send(named), await send(nameless)]).toEqual(['created', 'created'])
  clock.at += 2 * DAY_MS
  expect([await send(named), await send(nameless)]).toEqual(['unchanged', 'created'])
})
