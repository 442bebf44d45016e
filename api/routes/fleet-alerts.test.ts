// Rules about the fleet, which the leader evaluates, over REST.
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { ChannelId } from '../../schemas/ids.ts'
import { openHarness } from '../testing/rest.ts'
import { webhookChannel } from '../testing/webhook-channel.ts'

const RULES = '/api/v1/alerts/rules'
const OFFLINE = { kind: 'state', in: ['offline'] }

async function open(groups: readonly string[] = ['eu/a', 'eu/a', 'eu/b', 'us/c']) {
  const harness = openHarness()
  const { engine, clock } = harness
  const { token } = await harness.login('admin')
  const ids = await Promise.all(groups.map((group, i) => harness.device(`d${i}`, { group })))
  for (const each of ids) await engine.publish(each, 'telemetry', { t: 1 })
  const id = (place: number) => {
    const found = ids[place]
    if (found === undefined) throw new RangeError(`no device ${place}`)
    return found
  }
  const ask = async (line: string, body?: unknown, as = token) => harness.request(line, { token: as, body })
  /** Lets the leader and the shards evaluate a few times, half a second apart. */
  const look = async (rounds = 3) => {
    for (let round = 0; round < rounds; round++) {
      clock.at += 500
      await engine.views(ids)
      for (let turn = 0; turn < 30; turn++) await setImmediate()
    }
  }
  const leave = async (each: (typeof ids)[number]) => engine.publish(each, 'status', { status: 'offline' })
  const open = async (query = '') => (await ask(`GET /api/v1/alerts${query}`)).body.data
  await look()
  return { ...harness, ids, id, ask, look, leave, open }
}

describe('a rule that counts members', () => {
  test('fires once enough members match, and recovers with them', async () => {
    const { ask, look, leave, open: alerts, id, engine } = await open()
    await engine.channels({
      op: 'create',
      id: ChannelId('ch_1'),
      settings: { ...webhookChannel, isDefault: true },
      by: 'usr_x',
    })
    const condition = { kind: 'fleet', of: OFFLINE, op: '>=', value: 50, unit: 'percent', min_members: 2 }
    const made = await ask(`POST ${RULES}`, {
      name: 'half is gone',
      severity: 'critical',
      target: { type: 'all' },
      condition,
    })
    expect(made.status).toBe(201)
    await leave(id(0))
    await look()
    expect(await alerts()).toEqual([])
    await leave(id(1))
    await look()
    const [alert] = await alerts()
    expect(alert).toMatchObject({
      scope: 'fleet',
      device_id: null,
      group: null,
      type: 'fleet',
      state: 'firing',
      value: 50,
      threshold: 50,
      message: 'fleet: fleet 50 (50)',
      link: `https://fleet.example.com/alerts/${alert.alert_id}`,
    })
    expect((await ask(`GET ${RULES}/${made.body.rule_id}`)).body.state).toEqual({ firing: 1, pending: 0 })
    expect((await ask('GET /api/v1/alerts/summary')).body.by_state.firing.critical).toBe(1)
    const metrics = (await engine.metrics()).split('\n')
    expect(metrics).toContain('fleet_alerts{state="firing",severity="critical"} 1')
    expect(metrics).toContain('fleet_alert_moves_total{to="firing"} 1')
    await engine.publish(id(0), 'telemetry', { t: 2 })
    await look()
    expect(await alerts()).toEqual([])
    const ended = await ask(`GET /api/v1/alerts/${alert.alert_id}`)
    expect(ended.body).toMatchObject({ state: 'resolved', reason: 'recovered' })
  })

  test('has an alert per group at its level, and members without that level are left out', async () => {
    const { ask, look, leave, open: alerts, ids } = await open(['eu/a', 'eu/b', 'us/c', 'us'])
    const condition = { kind: 'fleet', of: OFFLINE, op: '>=', value: 1, group_level: 2 }
    await ask(`POST ${RULES}`, { name: 'site', target: { type: 'all' }, condition })
    for (const id of ids) await leave(id)
    await look()
    expect((await alerts('?sort=fired_at:asc')).map(({ group }: { group: string }) => group).sort()).toEqual([
      'eu/a',
      'eu/b',
      'us/c',
    ])
    expect(await alerts('?group=eu')).toHaveLength(2)
  })

  test('counts alerts of another rule', async () => {
    const { ask, look, open: alerts, ids, engine } = await open()
    const hot = await ask(`POST ${RULES}`, {
      name: 'hot',
      severity: 'info',
      target: { type: 'all' },
      condition: { kind: 'threshold', metric: 't', op: '>', value: 10 },
    })
    const condition = { kind: 'fleet', of: { rule_id: hot.body.rule_id }, op: '>', value: 1 }
    const made = await ask(`POST ${RULES}`, {
      name: 'many are hot',
      target: { type: 'group', value: 'eu' },
      condition,
    })
    expect(made.status).toBe(201)
    for (const id of ids.slice(0, 2)) await engine.publish(id, 'telemetry', { t: 11 })
    await look()
    expect(await alerts(`?rule_id=${made.body.rule_id}`)).toMatchObject([
      { value: 2, group: 'eu', scope: 'fleet' },
    ])
  })

  test('waits for its for_sec, and is pending until then', async () => {
    const { ask, look, leave, open: alerts, id, clock, engine } = await open()
    const condition = { kind: 'fleet', of: OFFLINE, op: '>', value: 0 }
    const told: string[] = []
    engine.feed.listen((events) => {
      for (const event of events) if (event.kind === 'alert') told.push(event.event)
    })
    await ask(`POST ${RULES}`, { name: 'one', target: { type: 'all' }, condition, for_sec: 60 })
    await leave(id(0))
    await look()
    expect(await alerts('?state=pending')).toMatchObject([{ scope: 'fleet', alert_id: null }])
    clock.at += 50_000
    await look()
    expect(await alerts()).toEqual([])
    expect(told).toEqual(['alert.pending'])
    clock.at += 10_000
    await look()
    expect(await alerts()).toHaveLength(1)
    expect(told).toEqual(['alert.pending', 'alert.fired'])
  })
})

test('the newest values of members are summed by group, and stale ones are left out', async () => {
  const { ask, look, open: alerts, id, engine } = await open(['a', 'a', 'b'])
  const condition = {
    ...{ kind: 'fleet_metric', metric: 't', agg: 'avg', op: '>', value: 10, clear_value: 8 },
    ...{ every_sec: 10, stale_after_sec: 60, group_level: 1 },
  }
  const made = await ask(`POST ${RULES}`, { name: 'warm', target: { type: 'all' }, condition })
  expect(made.status).toBe(201)
  const pass = () => look(20)
  await engine.publish(id(0), 'telemetry', { t: 30 })
  await pass()
  expect(await alerts()).toMatchObject([{ group: 'a', value: 15.5, metric: 't', type: 'fleet_metric' }])
  await engine.publish(id(0), 'telemetry', { t: 17 })
  await pass()
  // Nine is no longer above ten, but has not reached eight either.
  expect(await alerts()).toMatchObject([{ group: 'a', value: 9 }])
  await engine.publish(id(0), 'telemetry', { t: 1 })
  await pass()
  expect(await alerts()).toEqual([])
})

describe('what people do to an alert of the fleet', () => {
  async function fired(target: object = { type: 'all' }) {
    const world = await open()
    const condition = { kind: 'fleet', of: OFFLINE, op: '>', value: 0 }
    const made = await world.ask(`POST ${RULES}`, { name: 'one', target, condition })
    await world.leave(world.id(0))
    await world.look()
    const [alert] = await world.open()
    return { ...world, alertId: alert.alert_id as string, ruleId: made.body.rule_id as string }
  }

  test('is stored, and a resolved alert stays resolved until its condition was false once', async () => {
    const { ask, alertId, look, open: alerts, leave, id, engine } = await fired()
    expect((await ask(`POST /api/v1/alerts/${alertId}/ack`, { comment: 'mine' })).body).toMatchObject({
      acknowledged: true,
      comments: [{ text: 'mine' }],
    })
    expect((await ask(`POST /api/v1/alerts/${alertId}/resolve`)).body).toMatchObject({
      state: 'resolved',
      reason: 'user',
    })
    expect((await ask(`POST /api/v1/alerts/${alertId}/ack`)).body.code).toBe('INVALID_STATE_TRANSITION')
    await look()
    expect(await alerts()).toEqual([])
    await engine.publish(id(0), 'telemetry', { t: 2 })
    await look()
    await leave(id(0))
    await look()
    const [next] = await alerts()
    expect(next.alert_id).not.toBe(alertId)
  })

  test('is visible to those who may see its group', async () => {
    const { request, login, alertId } = await fired({ type: 'group', value: 'eu' })
    const { token: outside } = await login('operator', { groups: ['us'] })
    const { token: inside } = await login('operator', { groups: ['eu'] })
    expect((await request(`GET /api/v1/alerts/${alertId}`, { token: outside })).status).toBe(404)
    expect((await request(`POST /api/v1/alerts/${alertId}/ack`, { token: outside })).status).toBe(404)
    expect((await request('GET /api/v1/alerts', { token: outside })).body.total).toBe(0)
    expect((await request(`POST /api/v1/alerts/${alertId}/ack`, { token: inside })).body.acknowledged).toBe(
      true,
    )
  })

  test('ends with its rule', async () => {
    const { ask, alertId, ruleId, look } = await fired()
    expect((await ask(`DELETE ${RULES}/${ruleId}`)).status).toBe(204)
    await look()
    expect((await ask(`GET /api/v1/alerts/${alertId}`)).body).toMatchObject({
      state: 'resolved',
      reason: 'rule_deleted',
    })
  })
})

describe('a condition about the fleet', () => {
  const refused = [
    { all: [{ kind: 'fleet', of: OFFLINE, op: '>', value: 1 }, { kind: 'flapping' }] },
    { kind: 'fleet', of: { kind: 'threshold', metric: 't', op: '>', value: 1 }, op: '>', value: 1 },
    { kind: 'fleet', of: OFFLINE, op: '>', value: 101, unit: 'percent' },
    { kind: 'fleet', of: { rule_id: 'rul_nobody' }, op: '>', value: 1 },
    { kind: 'fleet', of: OFFLINE, op: '>', value: 1, extra: 1 },
    { kind: 'fleet_metric', metric: 't', agg: 'median', op: '>', value: 1 },
    { kind: 'fleet_metric', metric: 't', agg: 'avg', op: '>', value: 1, every_sec: 9 },
    { kind: 'repeat', condition: { kind: 'fleet', of: OFFLINE, op: '>', value: 1 }, times: 2, within_sec: 9 },
    { kind: 'deployment_failed', of: 'fleet' },
    {
      any: [
        { kind: 'deployment_failed', of: 'deployment' },
        { kind: 'fleet', of: OFFLINE, op: '>', value: 1 },
      ],
    },
  ]
  test.each(refused)('%j is refused with its place', async (condition) => {
    const { ask } = await open(['a'])
    const { status, body } = await ask(`POST ${RULES}`, { name: 'x', target: { type: 'all' }, condition })
    expect([status, body.errors[0].path]).toEqual([422, expect.stringMatching(/^\/condition/)])
  })

  test.each(['device', ['device'], 'deployment', ['deployment']])(
    'a failed deployment of %j is taken',
    async (of) => {
      const { ask } = await open(['a'])
      const condition = { kind: 'deployment_failed', of }
      const { body } = await ask(`POST ${RULES}`, { name: 'x', target: { type: 'all' }, condition })
      expect(body.keep_firing_for_sec).toBe(300)
    },
  )
})
