// Alerts from the history, which devices no longer keep.
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Fault } from '../../engine/ports/fault.ts'
import { openHarness } from '../testing/rest.ts'

const EPISODES = 20
/** An interval too long to count as flapping. */
const APART_MS = 700_000

/** `comment` is written when somebody acknowledges the first alert of `a`. */
async function open({ comment }: { readonly comment?: string } = {}) {
  const harness = openHarness()
  const { engine, clock } = harness
  const ids = [await harness.device('a', { group: 'plant/a' }), await harness.device('b', { group: 'mill' })]
  const condition = { kind: 'threshold', metric: 't', op: '>', value: 10 }
  const rule = { name: 'hot', target: { type: 'all' }, condition }
  const early = await harness.login('admin')
  await harness.request('POST /api/v1/alerts/rules', { token: early.token, body: rule })
  for (let episode = 0; episode < EPISODES; episode++) {
    clock.at += APART_MS
    for (const id of ids) await engine.publish(id, 'telemetry', { t: 11 + episode })
    if (episode === 0 && comment !== undefined) {
      const { body } = await harness.request('GET /api/v1/alerts?device_id=a', { token: early.token })
      const path = `/api/v1/alerts/${body.data[0].alert_id}/ack`
      await harness.request(`POST ${path}`, { token: early.token, body: { comment } })
    }
    for (const id of ids) await engine.publish(id, 'telemetry', { t: 5 })
  }
  // The first token has expired.
  const { token } = await harness.login('admin')
  const ask = async (line: string, as = token) => harness.request(line, { token: as })
  const send = (line: string, body?: unknown) => harness.request(line, { token, body })
  const list = async (query: string, as = token) => (await ask(`GET /api/v1/alerts?${query}`, as)).body
  for (let turn = 0; (await list('state=resolved')).total !== 2 * EPISODES; turn++) {
    if (turn === 2_000) throw new Error('the history never has them all')
    clock.at += 100
    await setImmediate()
  }
  return { ...harness, ask, send, list }
}

test('resolved alerts are listed beyond those that devices keep, each once', async () => {
  const { list, ask, send } = await open()
  const all = await list('state=resolved&device_id=a&per_page=100')
  expect(all.total).toBe(EPISODES)
  expect(new Set(all.data.map(({ alert_id: id }: { alert_id: string }) => id)).size).toBe(EPISODES)
  const first = await list('state=resolved&device_id=a&per_page=15&page=1')
  const second = await list('state=resolved&device_id=a&per_page=15&page=2')
  expect([...first.data, ...second.data]).toEqual(all.data)
  const oldest = all.data.at(-1)
  expect(oldest).toMatchObject({ state: 'resolved', reason: 'recovered', comments: [], device_id: 'a' })
  expect(await list('state=resolved&device_id=a&sort=fired_at:asc&per_page=1')).toMatchObject({
    total: EPISODES,
    data: [{ alert_id: oldest.alert_id }],
  })
  const read = await ask(`GET /api/v1/alerts/${oldest.alert_id}`)
  expect(read.body).toMatchObject({
    alert_id: oldest.alert_id,
    timeline: [{ event: 'alert.resolved' }, { event: 'alert.fired' }],
  })
  // The device no longer keeps it.
  const acts = [['ack'], ['unack'], ['resolve'], ['comments', { text: 'seen' }]] as const
  for (const [act, body] of acts)
    expect(await send(`POST /api/v1/alerts/${oldest.alert_id}/${act}`, body)).toMatchObject({
      status: 409,
      body: { code: 'INVALID_STATE_TRANSITION', allowed: [] },
    })
  const unknown = `alt_${'0'.repeat(16)}_a`
  expect(await send(`POST /api/v1/alerts/${unknown}/ack`)).toMatchObject({ status: 404 })
  const early = `device_id=a&to=${all.data.at(-2).fired_at}`
  expect(await list(`state=firing,resolved&${early}`)).toMatchObject({ total: 1, data: [{ count: 1 }] })
  expect((await list('state=firing&device_id=a')).total).toBe(0)
})

test('what people wrote to an alert can be read when its device no longer keeps it', async () => {
  const { list, ask } = await open({ comment: 'the fan was dirty' })
  const { data } = await list('state=resolved&device_id=a&sort=fired_at:asc&per_page=1')
  const { body } = await ask(`GET /api/v1/alerts/${data[0].alert_id}`)
  const by = body.acknowledged_by
  expect(by).toMatch(/^usr_/)
  expect(body.comments).toEqual([{ at: body.acknowledged_at, by, text: 'the fan was dirty' }])
  expect(body.timeline).toMatchObject([
    { event: 'alert.resolved' },
    { event: 'alert.acknowledged', comment: 'the fan was dirty', actor: { id: by } },
    { event: 'alert.fired' },
  ])
  expect([body, ...data].filter((alert) => 'comment' in alert)).toEqual([])
})

test('a caller sees past alerts of the own groups only', async () => {
  const { list, login } = await open()
  const { token } = await login('viewer', { groups: ['plant'] })
  const seen = await list('state=resolved&per_page=100', token)
  expect(seen.total).toBe(EPISODES)
  expect(new Set(seen.data.map(({ device_id: id }: { device_id: string }) => id))).toEqual(new Set(['a']))
})

test('past alerts of a device that changes its group are seen, and counted, in its new group only', async () => {
  const { list, login, send } = await open()
  const readers = [await login('viewer', { groups: ['plant'] }), await login('viewer', { groups: ['mill'] })]
  expect(await send('PATCH /api/v1/devices/a', { group: 'mill/a' })).toMatchObject({ status: 200 })
  const [left, entered] = await Promise.all(
    readers.map(({ token }) => list('state=resolved&per_page=100', token)),
  )
  expect(left).toMatchObject({ total: 0, data: [] })
  expect([entered.total, entered.data.length]).toEqual([2 * EPISODES, 2 * EPISODES])
})

test('alerts that devices keep are listed and shown while the history cannot be read', async () => {
  const { list, engine, send } = await open()
  const [kept] = (await list('state=resolved&device_id=a')).data
  const away = () =>
    Promise.reject(new Fault('TELEMETRY_UNAVAILABLE', { retryable: true, message: 'the history is away' }))
  engine.telemetry.pastAlerts = away
  engine.telemetry.alertMoves = away
  expect((await list('state=resolved&device_id=a')).total).toBe(16)
  const body = { alert_id: kept.alert_id, state: 'resolved', timeline: [] }
  expect(await send(`GET /api/v1/alerts/${kept.alert_id}`)).toMatchObject({ status: 200, body })
  const unkept = `alt_${'0'.repeat(16)}_a`
  expect(await send(`GET /api/v1/alerts/${unkept}`)).toMatchObject({ status: 503 })
})
