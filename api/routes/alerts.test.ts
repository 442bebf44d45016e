import { expect, test } from 'vitest'
import { createRule } from '../../engine/domain/alert/rule.ts'
import { newPackr } from '../../engine/domain/packing.ts'
import { NO_SAVE } from '../../engine/ports/store.ts'
import type { RuleRequestBody } from '../../schemas/alert-rule.ts'
import { ChannelId, Millis } from '../../schemas/ids.ts'
import { NOW, openHarness } from '../testing/rest.ts'
import { webhookChannel } from '../testing/webhook-channel.ts'

const RULES = '/api/v1/alerts/rules'
const packr = newPackr()
const RULE = {
  name: 'out of sync',
  target: { type: 'group', value: 'plant' },
  condition: { kind: 'out_of_sync', for_sec: 0 },
}

async function open() {
  const harness = openHarness()
  const { token, user } = await harness.login('admin')
  await harness.device('r', { group: 'plant/a' })
  const ask = async (line: string, body?: unknown, headers = {}) =>
    harness.request(line, { token, body, headers })
  /** Sets a desired state that the device has not reported. */
  const want = async () => {
    expect((await ask('PUT /api/v1/shadows/r/desired', { led: 'on' })).status).toBe(200)
  }
  return { ...harness, user, ask, want }
}

test('a rule gets its defaults, and can be read back', async () => {
  const { ask, user } = await open()
  const made = await ask(`POST ${RULES}`, RULE)
  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({
    severity: 'warning',
    enabled: true,
    for_sec: 0,
    keep_firing_for_sec: 0,
    repeat_interval_sec: 14_400,
    no_data: 'keep',
    no_data_after_sec: 300,
    group_by: 'rule',
    source: 'api',
    revision: 1,
    state: { firing: 0, pending: 0 },
    ...{ description: null, levels: null, clear: null, active: [], during_maintenance: 'mute', labels: {} },
    ...{ inhibit_when_offline: true, inhibited_by: [], send_resolved: true, channels: null, message: null },
    flap: { episodes: 3, within_sec: 600, hold_sec: 900 },
    created_by: user.id,
  })
  const { rule_id: id } = made.body
  expect(made.headers['location']).toBe(`${RULES}/${id}`)
  expect((await ask(`GET ${RULES}/${id}`)).body).toEqual(made.body)
  expect((await ask(`GET ${RULES}`)).body).toMatchObject({ total: 1, data: [{ rule_id: id }] })
  const stale = await ask(`PATCH ${RULES}/${id}`, { enabled: false }, { 'if-match': '"7"' })
  expect([stale.status, stale.body.code]).toEqual([412, 'PRECONDITION_FAILED'])
  expect(JSON.stringify(stale.body)).not.toContain('device')
  const edited = await ask(
    `PATCH ${RULES}/${id}`,
    { for_sec: 5 },
    { 'if-match': String(made.headers['etag']) },
  )
  expect(edited.body).toMatchObject({ for_sec: 5, name: 'out of sync', revision: 2 })
  expect((await ask(`DELETE ${RULES}/${id}`)).status).toBe(204)
  expect((await ask(`GET ${RULES}/${id}`)).status).toBe(404)
})

test('an edit changes what it names, and leaves what it does not name', async () => {
  const { ask } = await open()
  const { body: made } = await ask(`POST ${RULES}`, {
    ...RULE,
    ...{ enabled: false, severity: 'critical', for_sec: 5, repeat_interval_sec: 60, no_data: 'alert' },
    ...{ no_data_after_sec: 9, during_maintenance: 'off', inhibit_when_offline: false, group_by: 'none' },
    send_resolved: false,
  })
  const { body: edited } = await ask(`PATCH ${RULES}/${made.rule_id}`, { description: 'look at the fan' })
  const { etag, updated_at } = edited
  expect(edited).toEqual({ ...made, description: 'look at the fan', revision: 2, etag, updated_at })
  const moved = await ask(`PATCH ${RULES}/${made.rule_id}`, { rule_id: 'rul_other' })
  expect([moved.status, moved.body.code]).toEqual([422, 'IMMUTABLE_FIELD'])
})

test('a rule that was read, changed and sent back keeps what cannot be changed', async () => {
  const { ask } = await open()
  const { body: made } = await ask(`POST ${RULES}`, RULE)
  for (const method of ['PUT', 'PATCH']) {
    const { body: read } = await ask(`GET ${RULES}/${made.rule_id}`)
    const sent = await ask(`${method} ${RULES}/${made.rule_id}`, { ...read, for_sec: read.for_sec + 5 })
    const { revision, updated_at, etag } = sent.body
    expect(sent).toMatchObject({ status: 200 })
    expect(sent.body).toEqual({ ...read, for_sec: read.for_sec + 5, revision, updated_at, etag })
    expect(revision).toBe(read.revision + 1)
    for (const name of ['rule_id', 'source', 'created_by', 'created_at']) {
      const { status, body } = await ask(`${method} ${RULES}/${made.rule_id}`, { ...read, [name]: 'other' })
      expect([status, body.code, body.errors[0].path]).toEqual([422, 'IMMUTABLE_FIELD', `/${name}`])
    }
    const misspelt = await ask(`${method} ${RULES}/${made.rule_id}`, { ...read, for_secs: 5 })
    expect([misspelt.status, misspelt.body.code]).toEqual([422, 'UNKNOWN_FIELD'])
  }
})

test('a rule whose channel was deleted can be changed, but not to another channel that does not exist', async () => {
  const { ask, engine } = await open()
  const id = ChannelId('ch_1')
  await engine.channels({ op: 'create', id, settings: webhookChannel, by: 'usr_x' })
  const { body: made } = await ask(`POST ${RULES}`, { ...RULE, channels: [id] })
  expect((await ask(`DELETE /api/v1/alerts/channels/${id}?force=true`)).status).toBe(204)
  const edited = await ask(`PATCH ${RULES}/${made.rule_id}`, { name: 'still out of sync' })
  expect(edited).toMatchObject({ status: 200, body: { name: 'still out of sync', channels: [id] } })
  const refused = await ask(`PATCH ${RULES}/${made.rule_id}`, { channels: [id, 'ch_2'] })
  expect([refused.status, refused.body.errors[0].path]).toEqual([422, '/channels/1'])
})

test('an operator writes rules only within their own groups, and nothing outside of these exists for them', async () => {
  const { ask, login, device, request } = await open()
  await device('s', { group: 'elsewhere' })
  const { token } = await login('operator', { groups: ['plant'] })
  const status = async (line: string, target: object) =>
    (await request(line, { token, body: { ...RULE, target } })).status
  const about = (type: string, value?: unknown) => status(`POST ${RULES}`, { type, value })
  expect([await about('group', 'plant/a'), await about('device', 'r')]).toEqual([201, 201])
  expect(await about('query', { group: 'plant' })).toBe(201)
  const outside = [about('group', 'elsewhere'), about('group', 'plants'), about('devices', ['r', 's'])]
  expect(await Promise.all(outside)).toEqual([404, 404, 404])
  expect(await Promise.all([about('all'), about('type', 'mqtt_device')])).toEqual([403, 403])
  const { body: made } = await ask(`POST ${RULES}`, RULE)
  expect(await status(`PUT ${RULES}/${made.rule_id}`, { type: 'group', value: 'elsewhere' })).toBe(404)
})

test('rules are listed from the newest to the oldest', async () => {
  const { ask, clock } = await open()
  for (const name of ['first', 'second', 'third']) {
    await ask(`POST ${RULES}`, { ...RULE, name })
    clock.at += 1_000
  }
  const { data } = (await ask(`GET ${RULES}`)).body
  expect(data.map(({ name }: { readonly name: string }) => name)).toEqual(['third', 'second', 'first'])
})

test('a device that matches more than 100 rules is counted, and the oldest 100 are applied', async () => {
  const { ask, want, engine, login, request } = await open()
  const keep = (from: number, to: number) => {
    const documents = Array.from({ length: to - from }, (_, i) => {
      const made = createRule({ ...RULE, name: `${from + i}` } as RuleRequestBody, {
        ...{ id: `rul_${from + i}`, by: 'usr_x', now: Millis(NOW + from + i) },
      })
      return {
        collection: 'alert-rules',
        id: `rul_${from + i}`,
        bytes: packr.pack(made.kind === 'rule' && made.rule),
      }
    })
    return engine.store.save({ ...NO_SAVE, documents })
  }
  const overloaded = async () => (await ask('GET /api/v1/alerts/summary')).body.overloaded
  await keep(0, 100)
  expect(await overloaded()).toBe(0)
  await keep(100, 101)
  expect(await overloaded()).toBe(1)
  const { token: elsewhere } = await login('operator', { groups: ['office'] })
  const unseen = await request('GET /api/v1/alerts/summary', { token: elsewhere })
  expect(unseen.body.overloaded).toBe(0)
  await want()
  const { data, total } = (await ask('GET /api/v1/alerts?per_page=200')).body
  const names = data.map(({ rule_name: name }: { readonly rule_name: string }) => name)
  expect([total, names.includes('0'), names.includes('100')]).toEqual([100, true, false])
  await ask(`DELETE ${RULES}/rul_0`)
  expect(await overloaded()).toBe(0)
})

test('there are at most 1 000 rules and 1 000 silences', async () => {
  const { ask, engine } = await open()
  const documents = Array.from({ length: 1_000 }, (_, i) => [
    {
      collection: 'alert-rules',
      id: `rul_${i}`,
      bytes: packr.pack({ rule_id: `rul_${i}`, source: 'api', enabled: false, ...RULE }),
    },
    {
      collection: 'alert-silences',
      id: `sil_${i}`,
      bytes: packr.pack({
        silence_id: `sil_${i}`,
        ends_at: NOW + 1_000,
        windows: [],
        matchers: { device_id: 'r' },
      }),
    },
  ]).flat()
  await engine.store.save({ ...NO_SAVE, documents })
  expect((await ask(`POST ${RULES}`, RULE)).body).toMatchObject({ code: 'LIMIT_REACHED', limit: 1_000 })
  const silence = { matchers: { device_id: 'r' }, ends_at: '2026-03-01T13:00:00Z', comment: 'rewiring' }
  const made = await ask('POST /api/v1/alerts/silences', silence)
  expect(made).toMatchObject({ status: 409, body: { code: 'LIMIT_REACHED', limit: 1_000 } })
})

test.each([
  [{ kind: 'wrong' }, '/condition/kind'],
  [{ kind: 'threshold', metric: 'm', op: '>', value: 5, clear_value: 6 }, '/condition/clear_value'],
  [{ kind: 'threshold', metric: 'm', op: '>', value: 5, clear: 6 }, '/condition/clear'],
  [{ all: [{ kind: 'absence' }] }, '/condition/all/0/for_sec'],
  [{ any: [{ not: { kind: 'state', in: ['gone'] } }] }, '/condition/any/0/not/in'],
  [{ kind: 'repeat', condition: { all: [] }, times: 2, within_sec: 9 }, '/condition/condition'],
])('a mistake in a condition is told with its place: %j', async (condition, path) => {
  const { ask } = await open()
  const { status, body } = await ask(`POST ${RULES}`, { ...RULE, condition })
  expect([status, body.code, body.errors[0].path]).toEqual([422, 'VALIDATION_FAILED', path])
})

const LEAF = { kind: 'flapping' }
const count = (of: object) => ({ kind: 'fleet', op: '>', value: 1, of: { kind: 'flapping' }, ...of })
const many = (length: number) => Array.from({ length }, (_, i) => `n${i}`)

test('every bound of a rule is reported with its place', async () => {
  const { ask } = await open()
  const window = { start: '22:00', duration_min: 1 }
  const wishes: readonly (readonly [path: string, wish: object])[] = [
    ...['', 'n'.repeat(129), 'a\nb'].map((name) => ['/name', { name }] as const),
    ...[-1, 2_592_001, 1.5].map((sec) => ['/for_sec', { for_sec: sec }] as const),
    ...[-1, 2_592_001].map((sec) => ['/keep_firing_for_sec', { keep_firing_for_sec: sec }] as const),
    ...[59, 604_801].map((sec) => ['/repeat_interval_sec', { repeat_interval_sec: sec }] as const),
    ...[0, 2_592_001].map((sec) => ['/no_data_after_sec', { no_data_after_sec: sec }] as const),
    ...[1, 21].map((episodes) => ['/flap/episodes', { flap: { episodes } }] as const),
    ...[59, 86_401].map((sec) => ['/flap/within_sec', { flap: { within_sec: sec } }] as const),
    ...[9, 86_401].map((sec) => ['/flap/hold_sec', { flap: { hold_sec: sec } }] as const),
    ['/severity', { severity: 'fatal' }],
    ['/no_data', { no_data: 'maybe' }],
    ['/during_maintenance', { during_maintenance: 'ignore' }],
    ['/group_by', { group_by: 'tag' }],
    ['/active', { active: many(15).map(() => window) }],
    ['/active/0/duration_min', { active: [{ ...window, duration_min: 1_441 }] }],
    ['/active/0/tz', { active: [{ ...window, tz: 'Mars/Olympus' }] }],
    ['/labels', { labels: Object.fromEntries(many(17).map((name) => [name, 'x'])) }],
    ['/message', { message: 'm'.repeat(1_025) }],
    ['/message', { message: '{{secret}}' }],
    ['/channels/0', { channels: ['ch_none'] }],
    ['/levels', { levels: [{ severity: 'warning', value: 5 }] }],
    ['/target/type', { target: { type: 'planet', value: 'x' } }],
    ['/target/value', { target: { type: 'device' } }],
    ['/target/value', { target: { type: 'devices', value: many(1_001) } }],
    ['/target/value/planet', { target: { type: 'query', value: { planet: 'mars' } } }],
  ]
  const threshold = { kind: 'threshold', metric: 'm', op: '>', value: 1 }
  const conditions: readonly (readonly [path: string, condition: object])[] = [
    ['/op', { ...threshold, op: '=>' }],
    ['/op', { ...threshold, value: 'hot' }],
    ['/clear_value', { ...threshold, op: '<', clear_value: 0 }],
    ['/clear_value', { ...threshold, op: '==', clear_value: 1 }],
    ['', { kind: 'range', metric: 'm' }],
    ['/max', { kind: 'range', metric: 'm', min: 2, max: 1 }],
    ['/for_sec', { kind: 'absence', for_sec: 0 }],
    ['', { kind: 'state' }],
    ['/in', { kind: 'state', in: [] }],
    ...[0, 86_401].map(
      (sec) => ['/window_sec', { kind: 'rate', metric: 'm', op: '>', per_sec: 1, window_sec: sec }] as const,
    ),
    ...[1, 101].map(
      (times) => ['/times', { kind: 'repeat', condition: LEAF, times, within_sec: 9 }] as const,
    ),
    ['/level', { kind: 'log', level: 'loud' }],
    ['/statuses', { kind: 'command_failed', statuses: ['completed'] }],
    ['/of', { kind: 'deployment_failed', of: ['group'] }],
    ['/why', { kind: 'dead_letter', why: 'x' }],
    ['/when', { kind: 'heartbeat', when: 'x' }],
    ['/all/0/any/0/not/all/0', { all: [{ any: [{ not: { all: [LEAF] } }] }] }],
    ['', { any: [{ all: many(16).map(() => LEAF) }, LEAF] }],
    ['/all', { all: [] }],
    ['', { all: [LEAF, count({})] }],
    ['/unit', count({ unit: 'share' })],
    ['/value', count({ unit: 'percent', value: 101 })],
    ['/min_members', count({ min_members: 0 })],
    ['/of', count({ of: threshold })],
  ]
  const told: string[] = []
  const expected: string[] = []
  const all = [...wishes, ...conditions.map(([at, condition]) => [`/condition${at}`, { condition }] as const)]
  for (const [path, wish] of all) {
    const { status, body } = await ask(`POST ${RULES}`, { ...RULE, ...wish })
    const name = JSON.stringify(wish).slice(0, 80)
    told.push(`${name}: ${status} ${body.errors?.[0].path}`)
    expected.push(`${name}: 422 ${path}`)
  }
  expect(told).toEqual(expected)
})

test('a rule about events keeps its alert for five minutes unless it says otherwise', async () => {
  const { ask } = await open()
  const condition = { kind: 'log', level: 'error' }
  expect((await ask(`POST ${RULES}`, { ...RULE, condition })).body.keep_firing_for_sec).toBe(300)
  const own = await ask(`POST ${RULES}`, { ...RULE, condition, keep_firing_for_sec: 9 })
  expect(own.body.keep_firing_for_sec).toBe(9)
})

test('an alert fires, is acknowledged, commented on and resolved', async () => {
  const { ask, want, user } = await open()
  await ask(`POST ${RULES}`, RULE)
  expect((await ask('GET /api/v1/alerts')).body.total).toBe(0)
  await want()
  const { body } = await ask('GET /api/v1/alerts?severity=warning&group=plant')
  expect(body).toMatchObject({
    total: 1,
    data: [
      { state: 'firing', type: 'out_of_sync', threshold: 0, device_id: 'r', group: 'plant/a', count: 1 },
    ],
  })
  const { alert_id: id, link } = body.data[0]
  expect(link).toBe('https://fleet.example.com/devices/r')
  expect((await ask('GET /api/v1/devices/r')).body.alerts).toEqual({ critical: 0, warning: 1, info: 0 })
  expect((await ask('GET /api/v1/alerts/summary')).body).toMatchObject({
    by_state: { firing: { warning: 1 } },
    by_group: [{ group: 'plant/a', counts: { warning: 1 } }],
  })
  const acked = await ask(`POST /api/v1/alerts/${id}/ack`, { comment: 'mine' })
  expect(acked.body).toMatchObject({ acknowledged: true, comments: [{ text: 'mine' }], state: 'firing' })
  expect((await ask(`POST /api/v1/alerts/${id}/unack`)).body.acknowledged).toBe(false)
  const assigned = await ask(`POST /api/v1/alerts/${id}/assign`, { user_id: user.id })
  expect(assigned.body.assignee).toBe(user.id)
  expect((await ask(`POST /api/v1/alerts/${id}/resolve`)).body).toMatchObject({
    state: 'resolved',
    reason: 'user',
  })
  expect((await ask(`POST /api/v1/alerts/${id}/ack`)).body.code).toBe('INVALID_STATE_TRANSITION')
  expect((await ask(`POST /api/v1/alerts/${id}/comments`, { text: 'done' })).status).toBe(200)
  expect((await ask('GET /api/v1/alerts?state=resolved')).body.data).toMatchObject([
    { alert_id: id, reason: 'user' },
  ])
  expect((await ask('GET /api/v1/alerts')).body.total).toBe(0)
})

test('the metrics count rules, alerts by state, moves and judgements', async () => {
  const { ask, want, engine } = await open()
  const figure = async (name: string) => {
    const line = (await engine.metrics()).split('\n').find((each) => each.startsWith(`${name} `))
    return line === undefined ? undefined : Number(line.slice(name.length + 1))
  }
  const firing = 'fleet_alerts{state="firing",severity="warning"}'
  expect([await figure('fleet_alert_rules'), await figure(firing)]).toEqual([0, 0])
  await ask(`POST ${RULES}`, RULE)
  await want()
  const { data } = (await ask('GET /api/v1/alerts')).body
  expect([await figure('fleet_alert_rules'), await figure(firing)]).toEqual([1, 1])
  expect(await figure('fleet_alert_moves_total{to="firing"}')).toBe(1)
  expect(await figure('fleet_alert_moves_total{to="resolved"}')).toBe(0)
  expect(await figure('fleet_alert_evaluations_total')).toBeGreaterThan(0)
  expect(await figure('fleet_stage_seconds_total{stage="alerts"}')).toBeGreaterThanOrEqual(0)
  await ask(`POST /api/v1/alerts/${data[0].alert_id}/resolve`)
  await ask('GET /api/v1/alerts')
  expect([await figure(firing), await figure('fleet_alert_moves_total{to="resolved"}')]).toEqual([0, 1])
})

test('a silenced alert says so, and is still listed', async () => {
  const { ask, want } = await open()
  const silence = { matchers: { device_id: 'r' }, ends_at: '2026-03-01T13:00:00Z', comment: 'rewiring' }
  const made = await ask('POST /api/v1/alerts/silences', silence)
  expect([made.status, made.body.state]).toEqual([201, 'active'])
  await ask(`POST ${RULES}`, RULE)
  await want()
  const { body } = await ask('GET /api/v1/alerts')
  expect(body.data[0].suppressed_by).toEqual([`silence:${made.body.silence_id}`])
  expect((await ask(`DELETE /api/v1/alerts/silences/${made.body.silence_id}`)).status).toBe(204)
  expect((await ask('GET /api/v1/alerts')).body.data[0].suppressed_by).toEqual([])
  expect((await ask(`GET /api/v1/alerts/silences/${made.body.silence_id}`)).body.state).toBe('expired')
})
