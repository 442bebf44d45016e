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

test('what a device was then decides, whatever it is now', async () => {
  const { ask, engine, id, points, login, request } = await open()
  const { token } = await login('admin')
  await engine.publish(id, 'status', { status: 'online' })
  const edited = await request(`PATCH /api/v1/devices/${id}`, { token, body: { status: 'maintenance' } })
  expect(edited.body.status).toBe('maintenance')
  const move = (at: number, from: string, to: string) =>
    engine.remember({
      ...{ deviceId: id, kind: 'status', at: Micros((NOW - at) * 1_000), version: 10_000_000 - at },
      body: { from, to, cause: 'heartbeat' },
    })
  await move(7_200_000, 'provisioning', 'online')
  await move(60_000, 'online', 'maintenance')
  await points({ t: [5, 11] })
  const at = { to: '2026-03-01T11:58:00Z' }
  const still = await ask({ condition: { kind: 'state', in: ['maintenance'] } }, at)
  expect(still.body.episodes).toEqual([])
  const muted = await ask({ condition: HOT })
  expect([muted.body.episodes.length, muted.body.notifications]).toEqual([1, 0])
  await move(30_000, 'maintenance', 'online')
  const told = await ask({ condition: HOT })
  expect([told.body.episodes.length, told.body.notifications]).toEqual([1, 1])
})

test('a device has no episodes from before its registration', async () => {
  const { ask, engine, id, request, login, clock } = await open()
  const { token } = await login('admin')
  clock.at += 1_000
  await engine.publish(id, 'status', { status: 'online' })
  await expect
    .poll(async () => {
      clock.at += 100
      return (await request(`GET /api/v1/devices/${id}/events`, { token })).body.data.length
    })
    .toBeGreaterThan(1)
  const always = await ask({ condition: { kind: 'heartbeat' } })
  expect(always.body.episodes).toMatchObject([{ started_at: '2026-03-01T12:00:00.500Z' }])
  const online = await ask({ condition: { kind: 'state', in: ['online'] } })
  expect(online.body.episodes).toMatchObject([{ started_at: '2026-03-01T12:00:01.500Z', resolved_at: null }])
  const silent = await ask({ condition: { kind: 'absence', for_sec: 60 } })
  expect(silent.body.episodes).toEqual([])
})

test('the peak is one of the values that the alert is about', async () => {
  const { ask, points } = await open()
  await points({ t: [5, 20, 30], u: [90, 70, 80] })
  const both = {
    all: [
      { kind: 'threshold', metric: 't', op: '>', value: 10 },
      { kind: 'threshold', metric: 'u', op: '<', value: 75 },
    ],
  }
  expect((await ask({ condition: both })).body.episodes).toMatchObject([{ peak: 30 }])
})

test('the peak of a range lies on the side that the value left it, and is no value from inside', async () => {
  const { ask, points } = await open()
  await points({ t: [5, -1, -4, 9] })
  const range = { kind: 'range', metric: 't', min: 0, max: 10 }
  expect((await ask({ condition: range })).body.episodes).toMatchObject([{ peak: -4 }])
  const isZero = { kind: 'threshold', metric: 't', op: '==', value: -1 }
  expect((await ask({ condition: isZero })).body.episodes).toMatchObject([{ peak: -1 }])
})

test.each(['log', 'dead_letter', 'fleet_metric', 'out_of_sync', 'deployment_failed'])(
  'a rule about %s cannot be tried',
  async (kind) => {
    const { ask } = await open()
    const fields = {
      log: { level: 'error' },
      dead_letter: {},
      fleet_metric: { metric: 't', agg: 'avg', op: '>', value: 1 },
      out_of_sync: { for_sec: 1 },
      deployment_failed: { of: 'deployment' },
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
