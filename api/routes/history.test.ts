import { describe, expect, test } from 'vitest'
import { HISTORY_KINDS } from '../../engine/domain/history/row.ts'
import type { HistoryRow } from '../../engine/ports/history.ts'
import { Micros } from '../../schemas/ids.ts'
import type { Role } from '../../schemas/vocabulary.ts'
import { parseCursor, toCursor } from '../http/cursor.ts'
import { NOW, openHarness } from '../testing/rest.ts'

const LOGS = '/api/v1/devices/r/logs'
const EVENTS = '/api/v1/devices/r/events'
const at = (iso: string) => Date.parse(iso)

async function setUp(role: Role = 'operator') {
  const harness = openHarness()
  const id = await harness.device('r', { group: 'a' })
  const { token } = await harness.login(role)
  const row = (n: number, about: Partial<HistoryRow>): HistoryRow => ({
    deviceId: id,
    kind: 'log',
    at: Micros((NOW - n) * 1000 + 7),
    version: 2 ** 40 - n,
    body: { level: 'info', message: `${n}` },
    ...about,
  })
  return { ...harness, id, row, send: (line: string) => harness.request(line, { token }) }
}

test('a log entry has all fields, also those that the device left out', async () => {
  const { send, engine, row } = await setUp()
  await engine.remember(
    row(0, { body: { level: 'error', message: 'hot', logger: 'nav', fields: { t: [1] } } }),
    row(1, {}),
  )
  const { body } = await send(`GET ${LOGS}`)
  expect(body).toEqual({
    device_id: 'r',
    data: [
      {
        timestamp: '2026-03-01T12:00:00.500Z',
        level: 'error',
        message: 'hot',
        logger: 'nav',
        fields: { t: [1] },
      },
      { timestamp: '2026-03-01T12:00:00.499Z', level: 'info', message: '1', logger: null, fields: {} },
    ],
    next_cursor: null,
  })
  expect(engine.askedHistory).toEqual([expect.objectContaining({ deviceId: 'r', kinds: ['log'], limit: 51 })])
})

test('the timeline has status, commands and shadow, or a selection of them', async () => {
  const { send, engine, row } = await setUp()
  const moved = { from: 'online', to: 'offline', reason: 'no heartbeat' }
  await engine.remember(row(0, { kind: 'status', body: moved }), row(2, {}), row(3, { kind: 'shadow' }))
  const { body } = await send(`GET ${EVENTS}`)
  expect(body.data).toEqual([
    { timestamp: '2026-03-01T12:00:00.500Z', kind: 'status', data: moved },
    { timestamp: '2026-03-01T12:00:00.497Z', kind: 'shadow', data: row(3, {}).body },
  ])
  const some = await send(`GET ${EVENTS}?kind=shadow,command`)
  expect(some.body.data).toHaveLength(1)
  expect(engine.askedHistory.map(({ kinds }) => kinds)).toEqual([
    ['status', 'command', 'shadow', 'ota', 'alert'],
    ['command', 'shadow'],
  ])
})

test('pages are read by cursor to the last one, and links keep the filters', async () => {
  const { send, engine, row } = await setUp()
  for (let n = 0; n < 7; n++) await engine.remember(row(n, {}))
  const seen: string[] = []
  let line = `${LOGS}?limit=3&level=info`
  for (let page = 0; page < 3; page++) {
    const { body, headers } = await send(`GET ${line}`)
    seen.push(...body.data.map(({ message }: { message: string }) => message))
    expect(body.next_cursor === null).toBe(page === 2)
    const link = /^<(.*)>; rel="next"$/.exec(String(headers['link'] ?? ''))?.[1]
    expect(link === undefined).toBe(page === 2)
    line = link ?? ''
  }
  expect(seen).toEqual(['0', '1', '2', '3', '4', '5', '6'])
  expect(engine.askedHistory[1]).toMatchObject({
    before: { at: row(2, {}).at, version: 2 ** 40 - 2, kind: 'log' },
    limit: 4,
    labels: ['info'],
  })
})

test.each([
  ['level=warn,error', { labels: ['warn', 'error'] }],
  [
    'from=2026-03-01&to=2026-03-01T13:00:00%2B01:00',
    { from: at('2026-03-01T00:00Z'), to: at('2026-03-01T12:00Z') },
  ],
  ['from=2026-03-01', { from: at('2026-03-01T00:00Z'), to: undefined }],
  ['limit=200', { limit: 201 }],
])('logs?%s', async (query, asked) => {
  const { send, engine } = await setUp()
  expect((await send(`GET ${LOGS}?${query}`)).status).toBe(200)
  expect(engine.askedHistory[0]).toMatchObject(asked)
})

test.each([
  [`${LOGS}?limit=0`, '/limit', 'OUT_OF_RANGE'],
  [`${LOGS}?limit=201`, '/limit', 'OUT_OF_RANGE'],
  [`${LOGS}?limit=x`, '/limit', 'WRONG_TYPE'],
  [`${LOGS}?level=loud`, '/level', 'WRONG_FORMAT'],
  [`${LOGS}?level=warn,`, '/level', 'WRONG_FORMAT'],
  [`${LOGS}?level=`, '/level', 'WRONG_FORMAT'],
  [`${LOGS}?from=yesterday`, '/from', 'WRONG_FORMAT'],
  [`${LOGS}?to=`, '/to', 'WRONG_FORMAT'],
  [`${LOGS}?from=2026-03-01&to=2026-03-01`, '/from', 'OUT_OF_RANGE'],
  [`${LOGS}?page=2`, '/page', 'UNKNOWN_PARAMETER'],
  [`${EVENTS}?kind=log`, '/kind', 'WRONG_FORMAT'],
  [`${EVENTS}?kind=audit`, '/kind', 'WRONG_FORMAT'],
  [`${EVENTS}?level=info`, '/level', 'UNKNOWN_PARAMETER'],
])('refuses %s', async (line, path, code) => {
  const { send, engine } = await setUp()
  const { status, body } = await send(`GET ${line}`)
  expect([status, body.code]).toEqual([422, 'VALIDATION_FAILED'])
  expect(body.errors).toContainEqual(expect.objectContaining({ path, code }))
  expect(engine.askedHistory).toEqual([])
})

test.each([
  '',
  'x',
  '%00',
  'MTIz',
  Buffer.from('1 2 nothing').toString('base64url'),
  Buffer.from('9999999999999999 1 log').toString('base64url'),
])('a cursor of somebody else is a bad request: %j', async (cursor) => {
  const { send, engine } = await setUp()
  const { status, body } = await send(`GET ${LOGS}?cursor=${cursor}`)
  expect([status, body.code]).toEqual([400, 'BAD_REQUEST'])
  expect(engine.askedHistory).toEqual([])
})

describe('a device', () => {
  test('a device that is unknown or outside the user’s groups has no history', async () => {
    const { request, login, engine } = await setUp()
    const { token } = await login('operator', { groups: ['b'] })
    for (const line of [LOGS, EVENTS, '/api/v1/devices/x/logs', '/api/v1/devices/a%2Fb/events'])
      expect((await request(`GET ${line}`, { token })).status).toBe(404)
    expect(engine.askedHistory).toEqual([])
  })
})

test('a cursor encodes its place among entries of any kind', () => {
  for (const kind of HISTORY_KINDS) {
    const place = { at: Micros(2 ** 53 - 1), version: 2 ** 53 - 1, kind }
    expect(parseCursor(toCursor(place))).toEqual(place)
  }
})

test('a viewer’s timeline has no commands, even on request', async () => {
  const { send, engine, row } = await setUp('viewer')
  await engine.remember(row(0, { kind: 'command' }), row(1, { kind: 'shadow' }))
  const kindsOf = async (query: string) => {
    const { body } = await send(`GET ${EVENTS}${query}`)
    return body.data.map((event: { kind: string }) => event.kind)
  }
  expect(await kindsOf('')).toEqual(['shadow'])
  expect(await kindsOf('?kind=command')).toEqual([])
})
