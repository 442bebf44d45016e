// Testing a rule against the past.
import { expect, test } from 'vitest'
import { Micros } from '../../schemas/ids.ts'
import { NOW } from '../testing/rest.ts'
import { openTelemetry } from './testing/telemetry.ts'

const PATH = 'POST /api/v1/alerts/rules/test'
const HOT = { kind: 'threshold', metric: 't', op: '>', value: 10, clear_value: 8 }

async function open() {
  const world = await openTelemetry()
  const { token } = await world.login('admin')
  const ask = async (rule: object, more: object = {}) =>
    world.request(PATH, {
      token,
      body: {
        rule: { name: 'x', target: { type: 'all' }, ...rule },
        from: '2026-03-01T11:00:00Z',
        to: '2026-03-01T12:01:00Z',
        ...more,
      },
    })
  return { ...world, ask }
}

test('stored points yield the episodes that the rule would have raised, and nothing is stored', async () => {
  const { ask, points, engine } = await open()
  await points({ t: [5, 11, 15, 9, 7, 12, 3], u: [100] })
  const { status, body } = await ask({ condition: HOT })
  expect(status).toBe(200)
  expect(body).toMatchObject({
    devices: 1,
    points: 7,
    notifications: 4,
    truncated: false,
    episodes: [
      {
        device_id: 'r',
        fired_at: '2026-03-01T12:00:00.101Z',
        resolved_at: '2026-03-01T12:00:00.104Z',
        peak: 15,
      },
      {
        device_id: 'r',
        fired_at: '2026-03-01T12:00:00.105Z',
        resolved_at: '2026-03-01T12:00:00.106Z',
        peak: 12,
      },
    ],
  })
  expect(engine.alerts.rules()).toEqual([])
  expect((await engine.alerts.list({ states: ['firing', 'resolved'], limit: 9 })).total).toBe(0)
})

test('timers use the times of the points', async () => {
  const { ask, points } = await open()
  await points({ t: [11] })
  const late = await ask({ condition: HOT, for_sec: 30 })
  expect(late.body.episodes).toMatchObject([{ fired_at: '2026-03-01T12:00:30.100Z', resolved_at: null }])
  const never = await ask({ condition: HOT, for_sec: 120 })
  expect(never.body.episodes).toEqual([])
})

test('states come from the timeline', async () => {
  const { ask, engine, id } = await open()
  const move = (at: number, from: string, to: string) =>
    engine.remember({
      ...{ deviceId: id, kind: 'status', at: Micros((NOW - at) * 1_000), version: 1_000_000 - at },
      body: { from, to, cause: 'silence' },
    })
  await move(600_000, 'online', 'offline')
  await move(300_000, 'offline', 'online')
  const { body } = await ask({ condition: { kind: 'state', in: ['offline'] }, for_sec: 60 })
  expect(body.episodes).toMatchObject([
    {
      started_at: '2026-03-01T11:50:00.500Z',
      fired_at: '2026-03-01T11:51:00.500Z',
      resolved_at: '2026-03-01T11:55:00.500Z',
    },
  ])
})

test.each(['log', 'dead_letter', 'fleet_metric', 'out_of_sync'])(
  'a rule about %s cannot be tried',
  async (kind) => {
    const { ask } = await open()
    const fields = {
      log: { level: 'error' },
      dead_letter: {},
      fleet_metric: { metric: 't', agg: 'avg', op: '>', value: 1 },
      out_of_sync: { for_sec: 1 },
    }[kind]
    const { status, body } = await ask({ condition: { kind, ...fields } })
    expect([status, body.code]).toEqual([422, 'NOT_TESTABLE'])
  },
)

test('errors are reported with their place', async () => {
  const { ask } = await open()
  expect((await ask({ condition: { kind: 'nothing' } })).body.errors[0].path).toBe('/rule/condition/kind')
  expect((await ask({ condition: HOT }, { from: '2026-02-20T11:00:00Z' })).body.errors[0].path).toBe('/to')
  expect((await ask({ condition: HOT }, { device_ids: ['nobody'] })).status).toBe(404)
})

test('failures count however many commands the device got after them', async () => {
  const { ask, engine, id } = await open()
  const step = (n: number, status: string) => ({
    ...({ deviceId: id, kind: 'command', at: Micros((NOW - 600_000) * 1_000 + n), version: n } as const),
    body: { command_id: `cmd_${n}`, command: 'dock', status },
  })
  await engine.remember(
    step(0, 'failed'),
    ...Array.from({ length: 10_000 }, (_, n) => step(n + 1, 'completed')),
  )
  const { body } = await ask({ condition: { kind: 'command_failed' } })
  expect(body).toMatchObject({ episodes: [{ device_id: 'r' }], truncated: false })
})
