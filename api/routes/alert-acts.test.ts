// Snoozing alerts, and acting on many at once.
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { ChannelId } from '../../schemas/ids.ts'
import { openHarness } from '../testing/rest.ts'
import { webhookChannel } from '../testing/webhook-channel.ts'

const HOT = { kind: 'threshold', metric: 't', op: '>', value: 10 }

async function open(devices: readonly string[] = ['a', 'b', 'c']) {
  const harness = openHarness()
  const { engine, clock } = harness
  const { token, user } = await harness.login('admin')
  const ids = await Promise.all(devices.map((id) => harness.device(id, { group: `plant/${id}` })))
  const settings = { ...webhookChannel, isDefault: true, groupWaitSec: 0, groupIntervalSec: 0 }
  await engine.channels({ op: 'create', id: ChannelId('ch_1'), settings, by: 'usr_x' })
  const ask = async (line: string, body?: unknown, as = token) => harness.request(line, { token: as, body })
  const rule = { name: 'hot', target: { type: 'all' }, condition: HOT }
  await ask('POST /api/v1/alerts/rules', rule)
  for (const id of ids) await engine.publish(id, 'telemetry', { t: 11 })
  const alerts = async (query = '?sort=fired_at:asc') => (await ask(`GET /api/v1/alerts${query}`)).body.data
  /** Lets the notifier send whatever is due. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 500) {
      clock.at += Math.min(500, left)
      for (let turn = 0; turn < 8; turn++) await setImmediate()
    }
    await engine.views(ids)
    for (let turn = 0; turn < 20; turn++) await setImmediate()
  }
  return { ...harness, user, ids, ask, alerts, pass }
}

describe('a snooze', () => {
  test('sends no reminder until it ends, and then one if the alert still fires', async () => {
    const { ask, alerts, pass } = await open(['a'])
    await pass(2_000)
    const [{ alert_id: id }] = await alerts()
    expect((await alerts())[0].notified).toMatchObject([
      { channel_id: 'ch_1', event: 'fired', state: 'delivered' },
    ])
    const { body } = await ask(`POST /api/v1/alerts/${id}/snooze`, { for_sec: 60 })
    expect(body).toMatchObject({
      snoozed_until: expect.any(String),
      snoozed_by: expect.stringMatching(/^usr_/),
      suppressed_by: ['snooze'],
      state: 'firing',
    })
    await pass(30_000)
    expect((await alerts('?snoozed=true'))[0].notified).toHaveLength(1)
    await pass(40_000)
    const [awake] = await alerts('?snoozed=false')
    expect(awake).toMatchObject({ snoozed_until: null, snoozed_by: null, suppressed_by: [] })
    expect(awake.notified.map(({ event }: { event: string }) => event)).toEqual(['fired', 'repeat'])
  })

  test('ends when it is cancelled, and with the alert', async () => {
    const { ask, alerts, engine, ids } = await open(['a'])
    const [{ alert_id: id }] = await alerts()
    const until = '2026-03-01T18:00:00Z'
    expect((await ask(`POST /api/v1/alerts/${id}/snooze`, { until })).body.snoozed_until).toBe(
      '2026-03-01T18:00:00.000Z',
    )
    expect((await ask(`DELETE /api/v1/alerts/${id}/snooze`)).body).toMatchObject({ snoozed_until: null })
    await ask(`POST /api/v1/alerts/${id}/snooze`, { until })
    for (const device of ids) await engine.publish(device, 'telemetry', { t: 1 })
    expect((await ask(`POST /api/v1/alerts/${id}/snooze`, { until })).body.code).toBe(
      'INVALID_STATE_TRANSITION',
    )
  })

  test.each([
    {},
    { until: '2026-02-01T00:00:00Z' },
    { for_sec: 1, until: '2026-03-01T18:00:00Z' },
    { for_sec: 0 },
    { until: '2036-03-01T18:00:00Z' },
  ])('a snooze of %j is refused', async (body) => {
    const { ask, alerts } = await open(['a'])
    const [{ alert_id: id }] = await alerts()
    expect((await ask(`POST /api/v1/alerts/${id}/snooze`, body)).status).toBe(422)
  })
})

test('a comment on an alert that was acknowledged and is over does not acknowledge it again', async () => {
  const { ask, alerts, pass } = await open(['a'])
  const [{ alert_id: id }] = await alerts()
  await ask(`POST /api/v1/alerts/${id}/ack`)
  await ask(`POST /api/v1/alerts/${id}/resolve`)
  await ask(`POST /api/v1/alerts/${id}/comments`, { text: 'it was the fan' })
  const eventsOf = async () => {
    await pass(500)
    const { timeline } = (await ask(`GET /api/v1/alerts/${id}`)).body
    return timeline.map(({ event }: { event: string }) => event)
  }
  await expect
    .poll(eventsOf)
    .toEqual(['alert.updated', 'alert.resolved', 'alert.acknowledged', 'alert.fired'])
})

describe('many alerts at once', () => {
  test('are acknowledged by their ids, and each has its result', async () => {
    const { ask, alerts } = await open()
    const ids = (await alerts()).map(({ alert_id: id }: { alert_id: string }) => id)
    const gone = 'alt_0000000000000000_nobody'
    const { body } = await ask('POST /api/v1/alerts/bulk', {
      alert_ids: [...ids, gone],
      action: 'ack',
      comment: 'all mine',
    })
    expect(body).toMatchObject({ matched: 4, done: 3 })
    expect(body.results[3]).toEqual({ alert_id: gone, done: false, code: 'NOT_FOUND' })
    expect(await alerts('?acknowledged=true')).toHaveLength(3)
  })

  test('are found by a filter, such as their storm', async () => {
    const { ask, alerts, user } = await open()
    const [{ group_key: key }] = await alerts()
    const snoozed = await ask('POST /api/v1/alerts/bulk', {
      filter: { group_key: key },
      action: 'snooze',
      for_sec: 60,
    })
    expect(snoozed.body).toMatchObject({ matched: 3, done: 3 })
    const assigned = await ask('POST /api/v1/alerts/bulk', {
      filter: { device_id: 'a' },
      action: 'assign',
      user_id: user.id,
    })
    expect(assigned.body).toMatchObject({ matched: 1, done: 1 })
    const resolved = await ask('POST /api/v1/alerts/bulk', {
      filter: { group: 'plant/b' },
      action: 'resolve',
    })
    expect(resolved.body.done).toBe(1)
    expect(await alerts()).toHaveLength(2)
  })

  test('are limited to those that the caller may see', async () => {
    const { ask, alerts, login } = await open()
    const { token } = await login('operator', { groups: ['plant/a'] })
    const ids = (await alerts()).map(({ alert_id: id }: { alert_id: string }) => id)
    const named = await ask('POST /api/v1/alerts/bulk', { alert_ids: ids, action: 'ack' }, token)
    expect(named.body).toMatchObject({ matched: 3, done: 1 })
    const found = await ask('POST /api/v1/alerts/bulk', { filter: {}, action: 'ack' }, token)
    expect(found.body).toMatchObject({ matched: 1, done: 1 })
  })

  test.each([
    { action: 'ack' },
    { action: 'ack', alert_ids: ['alt_1'], filter: {} },
    { action: 'snooze', filter: {} },
    { action: 'assign', filter: {} },
    { action: 'delete', filter: {} },
  ])('are not acted on by %j', async (body) => {
    const { ask } = await open(['a'])
    expect((await ask('POST /api/v1/alerts/bulk', body)).status).toBe(422)
  })
})

test('an alert is assigned to an existing user, and unassigned again', async () => {
  const { ask, alerts, user } = await open(['a'])
  const [{ alert_id: id }] = await alerts()
  const assign = async (to: string | null) => ask(`POST /api/v1/alerts/${id}/assign`, { user_id: to })
  expect((await assign(user.id)).body.assignee).toBe(user.id)
  const refused = await assign('usr_nobody')
  expect([refused.status, refused.body.errors[0].path]).toEqual([422, '/user_id'])
  expect((await assign(null)).body.assignee).toBeNull()
})

test('the summary names channels with their state', async () => {
  const { ask } = await open(['a'])
  const { body } = await ask('GET /api/v1/alerts/summary')
  expect(body).toMatchObject({
    by_state: { firing: { warning: 1 } },
    by_group: [{ group: 'plant/a', counts: { warning: 1 } }],
    overflowing: 0,
    channels: [{ channel_id: 'ch_1', type: 'webhook', state: 'ok' }],
  })
})
