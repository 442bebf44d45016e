import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import type { HistoryRow } from '../../engine/ports/history.ts'
import { type DeviceId, Micros } from '../../schemas/ids.ts'
import type { Role } from '../../schemas/vocabulary.ts'
import { toFleetCursor } from '../http/fleet-cursor.ts'
import { NOW, openHarness } from '../testing/rest.ts'

const LOGS = '/api/v1/logs'
const EVENTS = '/api/v1/events'

async function openFleet() {
  const harness = openHarness()
  const { device, login, request } = harness
  const [a, b, c] = [
    await device('ra', { group: 'w/a' }),
    await device('rb', { group: 'w/b' }),
    await device('rc'),
  ]
  const as = async (role: Role, groups: readonly string[] = []) => {
    const { token } = await login(role, { groups })
    return (line: string) => request(line, { token })
  }
  const row = (deviceId: DeviceId, n: number, about: Partial<HistoryRow> = {}): HistoryRow => ({
    ...{ deviceId, kind: 'log', at: Micros((NOW - n) * 1000), version: 1_000 - n },
    body: { level: n % 2 === 0 ? 'info' : 'warn', message: `${n}` },
    ...about,
  })
  return { ...harness, as, a, b, c, row, send: await as('admin') }
}

const shown = ({ body }: { body: { data: readonly { device_id: string; message?: string }[] } }) =>
  body.data.map(({ device_id, message }) => `${device_id} ${message}`)

test('log lines of all devices are one list, with their device', async () => {
  const { send, engine, a, b, row } = await openFleet()
  await engine.remember(row(a, 3), row(b, 2, { body: { level: 'error', message: 'Hot', logger: 'nav' } }))
  const { status, body } = await send(`GET ${LOGS}`)
  expect([status, body]).toEqual([
    200,
    {
      data: [
        {
          ...{ device_id: 'rb', timestamp: '2026-03-01T12:00:00.498Z', level: 'error' },
          ...{ message: 'Hot', logger: 'nav', fields: {} },
        },
        {
          ...{ device_id: 'ra', timestamp: '2026-03-01T12:00:00.497Z', level: 'warn' },
          ...{ message: '3', logger: null, fields: {} },
        },
      ],
      next_cursor: null,
    },
  ])
})

test('log lines are filtered by level, text, group, device and time', async () => {
  const { send, engine, a, b, c, row } = await openFleet()
  await engine.remember(
    row(a, 1),
    row(b, 2),
    row(c, 3),
    row(a, 5_000, { body: { message: 'Wheel SLIPS', level: 'warn' } }),
  )
  expect(shown(await send(`GET ${LOGS}?level=warn`))).toEqual(['ra 1', 'rc 3', 'ra Wheel SLIPS'])
  expect(shown(await send(`GET ${LOGS}?find=wheel%20slips`))).toEqual(['ra Wheel SLIPS'])
  expect(shown(await send(`GET ${LOGS}?group=w&level=info,warn`))).toEqual(['ra 1', 'rb 2', 'ra Wheel SLIPS'])
  expect(shown(await send(`GET ${LOGS}?group=w/b`))).toEqual(['rb 2'])
  expect(shown(await send(`GET ${LOGS}?group=nowhere`))).toEqual([])
  expect(shown(await send(`GET ${LOGS}?device_id=rc`))).toEqual(['rc 3'])
  expect(shown(await send(`GET ${LOGS}?device_id=nobody`))).toEqual([])
  expect(shown(await send(`GET ${LOGS}?from=-3s`))).toEqual(['ra 1', 'rb 2', 'rc 3'])
  expect(shown(await send(`GET ${LOGS}?to=-3s`))).toEqual(['ra Wheel SLIPS'])
})

describe('the timeline of all devices', () => {
  test('has everything but logs, or a selection, and no commands for viewers', async () => {
    const { send, as, engine, a, b, c, row } = await openFleet()
    const moved = { from: 'online', to: 'offline' }
    await engine.remember(
      row(a, 1, { kind: 'status', body: moved }),
      row(b, 2, { kind: 'command' }),
      row(c, 3, { kind: 'shadow' }),
      row(c, 4),
    )
    const kindsOf = async (line: string, sender = send) => {
      const { body } = await sender(line)
      return body.data.map((each: { kind: string }) => each.kind)
    }
    expect((await send(`GET ${EVENTS}`)).body.data[0]).toEqual({
      ...{ device_id: 'ra', timestamp: '2026-03-01T12:00:00.499Z', kind: 'status', data: moved },
    })
    expect(await kindsOf(`GET ${EVENTS}`)).toEqual(['status', 'command', 'shadow'])
    expect(await kindsOf(`GET ${EVENTS}?kind=shadow,command`)).toEqual(['command', 'shadow'])
    const viewer = await as('viewer')
    expect(await kindsOf(`GET ${EVENTS}`, viewer)).toEqual(['status', 'shadow'])
    expect(await kindsOf(`GET ${EVENTS}?kind=command`, viewer)).toEqual([])
  })
})

test('pages continue by cursor, and links keep the filters', async () => {
  const { send, engine, a, b, row } = await openFleet()
  await engine.remember(...[1, 2, 3, 4, 5, 6, 7].flatMap((n) => [row(a, n), row(b, n)]))
  const seen: string[] = []
  let line = `${LOGS}?limit=3&group=w`
  for (;;) {
    const answered = await send(`GET ${line}`)
    seen.push(...shown(answered))
    const link = /^<([^>]+)>; rel="next"$/.exec(String(answered.headers['link'] ?? ''))
    expect(link === null).toBe(answered.body.next_cursor === null)
    if (link === null) break
    line = link[1] ?? ''
  }
  expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7].flatMap((n) => [`rb ${n}`, `ra ${n}`]))
})

test('an operator sees the entries of devices in their groups, also if these are too many to name', async () => {
  const { as, engine, device, a, b, row } = await openFleet()
  await engine.remember(row(a, 1), row(b, 2), row(a, 3))
  const send = await as('operator', ['w/a'])
  expect(shown(await send(`GET ${LOGS}`))).toEqual(['ra 1', 'ra 3'])
  expect(shown(await send(`GET ${LOGS}?device_id=rb`))).toEqual([])
  for (let n = 0; n < LIMITS.groupDevicesMax; n++) await device(`d${n}`, { group: 'w/a' })
  expect(shown(await send(`GET ${LOGS}?limit=1`))).toEqual(['ra 1'])
  expect(shown(await send(`GET ${LOGS}`))).toEqual(['ra 1', 'ra 3'])
  expect(shown(await send(`GET ${LOGS}?group=w`))).toEqual(['ra 1', 'ra 3'])
})

test.each([
  [`${LOGS}?cursor=bogus`, 400],
  [`${LOGS}?cursor=${Buffer.from('1 2 rain ra').toString('base64url')}`, 400],
  [`${LOGS}?level=loud`, 422],
  [`${LOGS}?find=`, 422],
  [`${LOGS}?from=now&to=-1h`, 422],
  [`${EVENTS}?kind=log`, 422],
  [`${EVENTS}?find=x`, 422],
])('%s is %i', async (line, status) => {
  const { send } = await openFleet()
  expect((await send(`GET ${line}`)).status).toBe(status)
})

test('the longest possible cursor fits into a query', () => {
  const longest = {
    at: Micros(Number.MAX_SAFE_INTEGER),
    version: Number.MAX_SAFE_INTEGER,
    kind: 'command' as const,
    // The test supplies a valid id.
    deviceId: 'x'.repeat(64) as DeviceId,
  }
  expect(toFleetCursor(longest).length).toBeLessThanOrEqual(LIMITS.cursorCharsMax)
})
