import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { Fault } from '../../engine/ports/fault.ts'
import type { Role } from '../../schemas/vocabulary.ts'
import { openHarness } from '../testing/rest.ts'

const PATH = '/api/v1/devices/bulk-edit'

async function openFleet() {
  const harness = openHarness()
  const { device, engine, login, request } = harness
  await device('r1', { group: 'w/a', tags: ['old', 'x'] })
  await device('r2', { group: 'w/a', tags: ['new'] })
  await device('r3', { group: 'w/b', type: 'gateway' })
  const as = async (role: Role, groups: readonly string[] = []) => {
    const { token, user } = await login(role, { groups })
    const send = (body: unknown, query = '', headers: Record<string, string> = {}) =>
      request(`POST ${PATH}${query}`, { token, body, headers })
    return { user, send }
  }
  const state = () => engine.all().map(({ id, group, tags, status }) => [id, group, tags.join(), status])
  return { ...harness, as, ...(await as('admin')), state }
}

const statusesOf = ({ body }: { body: { results: readonly { device_id: string; status: string }[] } }) =>
  body.results.map(({ device_id, status }) => `${device_id} ${status}`)

test('a filter’s devices are changed, and each has its result', async () => {
  const { send, state } = await openFleet()
  const patch = { group: 'hall', tags_add: ['new', 'new'], tags_remove: ['old'] }
  const { status, body } = await send({ filter: { group: 'w/a' }, patch })
  expect([status, body]).toEqual([
    200,
    {
      ...{ dry_run: false, total: 2, changed: 2, unchanged: 0, failed: 0 },
      ...{ by_status: { provisioning: 2 }, by_type: { mqtt_device: 2 } },
      results: ['r1', 'r2'].map((id) => ({ device_id: id, status: 'changed' })),
    },
  ])
  expect(state()).toEqual([
    ['r1', 'hall', 'x,new', 'provisioning'],
    ['r2', 'hall', 'new', 'provisioning'],
    ['r3', 'w/b', '', 'provisioning'],
  ])
})

test('devices that already have the change or cannot take it are reported, and the others are changed', async () => {
  const { send, engine, device } = await openFleet()
  const gone = await device('r4')
  await engine.submit(gone, { kind: 'decommission' }, { by: { kind: 'user', id: 'usr_x' } })
  const device_ids = ['r2', 'nobody', 'r1', 'r4', 'r1']
  const answered = await send({ device_ids, patch: { tags_add: ['new'] } })
  expect(statusesOf(answered)).toEqual(['nobody failed', 'r1 changed', 'r2 unchanged', 'r4 failed'])
  expect(answered.body).toMatchObject({ total: 4, changed: 1, unchanged: 1, failed: 2 })
  expect(answered.body.results.map(({ error }: { error?: { code: string } }) => error?.code)).toEqual([
    'NOT_FOUND',
    undefined,
    undefined,
    'DEVICE_DECOMMISSIONED',
  ])
})

test('a status is set as for one device, with its reason, and refused as for one', async () => {
  const { send, engine } = await openFleet()
  for (const { id } of engine.all()) await engine.publish(id, 'telemetry', { m: 1 })
  const on = { status: 'maintenance', status_reason: 'new wheels' }
  expect((await send({ filter: { q: 'r' }, patch: on })).body.changed).toBe(3)
  expect(engine.all().map(({ status, statusReason }) => [status, statusReason])).toEqual(
    Array(3).fill(['maintenance', 'new wheels']),
  )
  const offline = await send({ device_ids: ['r1'], patch: { status: 'offline' } })
  expect(offline.body.results[0].error.code).toBe('INVALID_STATE_TRANSITION')
})

test('a device has no more tags than one edit may give it', async () => {
  const { send } = await openFleet()
  const tags_add = Array.from({ length: LIMITS.tagsMax }, (_, n) => `t${n}`)
  const { body } = await send({ device_ids: ['r1', 'r3'], patch: { tags_add } })
  expect(body.results).toMatchObject([{ error: { code: 'LIMIT_REACHED' } }, { status: 'changed' }])
})

test('a group can be removed', async () => {
  const { send, engine } = await openFleet()
  await send({ device_ids: ['r1'], patch: { group: null } })
  expect(engine.all()[0]?.group).toBeUndefined()
})

test('a dry run tells what would change, and changes nothing', async () => {
  const { send, state } = await openFleet()
  const before = state()
  const wish = { device_ids: ['r1', 'r2', 'nobody'], patch: { tags_add: ['new'] } }
  const dry = await send(wish, '?dry_run=true')
  expect(dry.body).toMatchObject({ dry_run: true, changed: 1, unchanged: 1, failed: 1 })
  expect(state()).toEqual(before)
  expect(statusesOf(await send(wish))).toEqual(statusesOf(dry))
})

test('with an Idempotency-Key the edit takes effect once, even if a device has changed since', async () => {
  const { send, engine } = await openFleet()
  const key = { 'idempotency-key': 'k' }
  const wish = { device_ids: ['r1'], patch: { group: 'hall' } }
  const first = await send(wish, '', key)
  await send({ device_ids: ['r1'], patch: { group: 'yard' } })
  const again = await send(wish, '', key)
  expect([again.body, again.headers['idempotency-replayed']]).toEqual([first.body, 'true'])
  expect(engine.all()[0]?.group).toBe('yard')
})

test('the audit has an entry for the call and one for each device', async () => {
  const { send, engine } = await openFleet()
  engine.recorded.length = 0
  await send({ filter: { group: 'w/a' }, patch: { tags_add: ['hot'] } })
  const targets = engine.recorded.map(({ target }) => target).sort()
  expect(targets).toEqual(['devices/bulk-edit', 'devices/r1', 'devices/r2'])
})

test('devices that were not started when the log fails are not tried', async () => {
  const { send, engine } = await openFleet()
  engine.log.append = () => Promise.reject(new Fault('LOG_FULL', { retryable: true }))
  const { status, body } = await send({ filter: { q: 'r' }, patch: { tags_add: ['hot'] } })
  expect([status, body.failed]).toEqual([200, 3])
  expect(body.results[0].error.code).toBe('DEPENDENCY_UNAVAILABLE')
})

describe('refused', () => {
  test.each([
    [{ patch: { group: 'a' } }, '/device_ids'],
    [{ device_ids: ['r1'], filter: { q: 'r' }, patch: { group: 'a' } }, '/filter'],
    [{ filter: {}, patch: { group: 'a' } }, '/filter'],
    [{ filter: { group: 'w' }, patch: {} }, '/patch'],
    [{ device_ids: [], patch: { group: 'a' } }, '/device_ids'],
    [{ device_ids: ['../x'], patch: { group: 'a' } }, '/device_ids/0'],
    [{ filter: { type: 'toaster' }, patch: { group: 'a' } }, '/type'],
    [{ device_ids: ['r1'], patch: { name: 'x' } }, '/patch/name'],
    [{ device_ids: Array(LIMITS.bulkRowsMax + 1).fill('r1'), patch: { group: 'a' } }, '/device_ids'],
  ])('%j', async (body, path) => {
    const { send } = await openFleet()
    const answered = await send(body)
    expect([answered.status, answered.body.errors?.[0].path]).toEqual([422, path])
  })

  test('a filter without devices', async () => {
    const { send } = await openFleet()
    expect((await send({ filter: { group: 'nowhere' }, patch: { group: 'a' } })).body.code).toBe(
      'EMPTY_TARGET',
    )
  })

  test.each(['operator', 'viewer'] as const)('for a user with the role %s', async (role) => {
    const { as } = await openFleet()
    const { send } = await as(role)
    expect((await send({ device_ids: ['r1'], patch: { group: 'a' } })).status).toBe(403)
  })
})
