import { describe, expect, test } from 'vitest'
import type { DeviceTypes } from '../../engine/domain/device-type/definition.ts'
import { openHarness } from '../testing/rest.ts'

const PATH = '/api/v1/commands/$broadcast'
const TYPES: DeviceTypes = new Map([
  [
    'lamp',
    {
      name: 'lamp',
      displayName: 'Lamp',
      icon: undefined,
      telemetry: [],
      commands: [
        {
          name: 'dim',
          description: undefined,
          parameters: [
            { name: 'to', type: 'integer', required: true, description: undefined, min: 0, max: 9 },
          ],
        },
      ],
      statusFields: [],
    },
  ],
])

async function openFleet() {
  const harness = openHarness({ customTypes: TYPES })
  await harness.device('r1', { group: 'w/a' })
  await harness.device('r2', { group: 'w/a/x' })
  await harness.device('r3', { group: 'w/b' })
  await harness.device('r4', { group: 'wa' })
  const as = async (role: 'admin' | 'operator', groups: readonly string[] = []) => {
    const { token, user } = await harness.login(role, { groups })
    const send = (line: string, body?: unknown, headers: Record<string, string> = {}) =>
      harness.request(line, { token, body, headers })
    return { send, user }
  }
  return { ...harness, as, ...(await as('admin')) }
}

const idsOf = (body: { commands: { data: readonly { device_id: string }[] } }) =>
  body.commands.data.map((each) => each.device_id)

describe('a broadcast', () => {
  test('a broadcast reaches the group and those below it, and no other device', async () => {
    const { send } = await openFleet()
    const { status, body, headers } = await send(`POST ${PATH}`, {
      group: 'w/a',
      command: 'stop',
      priority: 'critical',
    })
    expect(status).toBe(202)
    expect(body).toMatchObject({
      broadcast_id: expect.stringMatching(/^bc_/),
      group: 'w/a',
      command: 'stop',
      priority: 'critical',
      status: 'pending',
      total: 2,
      accepted: 2,
      skipped: [],
      created_at: '2026-03-01T12:00:00.500Z',
    })
    expect(headers['location']).toBe(`${PATH}/${body.broadcast_id}`)
    const state = (await send(`GET ${headers['location']}`)).body
    expect(idsOf(state)).toEqual(['r1', 'r2'])
    expect(state).toMatchObject({
      status: 'pending',
      counts: { pending: 2, completed: 0 },
      commands: { total: 2, page: 1, data: [{ broadcast_id: body.broadcast_id, priority: 'critical' }, {}] },
    })
  })

  test('a broadcast lists skipped devices with the reason', async () => {
    const { send, device, engine } = await openFleet()
    await device('l1', { group: 'w/a', type: 'lamp' })
    const gone = await device('r0', { group: 'w/a' })
    await engine.submit(gone, { kind: 'decommission' }, { by: { kind: 'user', id: 'usr_x' } })
    const skippedBy = async (command: string, data = {}) =>
      (await send(`POST ${PATH}`, { group: 'w/a', command, data })).body.skipped
    const retired = { device_id: 'r0', reason: 'decommissioned' }
    expect(await skippedBy('stop')).toEqual(
      expect.arrayContaining([retired, { device_id: 'l1', reason: 'unknown_command' }]),
    )
    expect(await skippedBy('dim', { to: 10 })).toContainEqual({
      device_id: 'l1',
      reason: 'invalid_parameters',
    })
    expect(await skippedBy('dim', { to: 1 })).toEqual([retired])
  })

  test.each(['nobody', 'w/c', 'W/A', 'w/a2'])(
    'a broadcast to %s, which has no devices, is 422',
    async (group) => {
      const { send } = await openFleet()
      const { status, body } = await send(`POST ${PATH}`, { group, command: 'stop' })
      expect([status, body.code]).toEqual([422, 'EMPTY_TARGET'])
    },
  )

  test.each([
    '',
    '/',
    'w/',
    '/w',
    'w//a',
    'w/../a',
    'w/+',
    'w/#',
    'w a',
    'ｗ/a',
    'w/а',
    'w∕a',
    'w/\ud800',
    '$broadcast',
    'a/b/c/d/e/f/g/h/i',
    'x'.repeat(257),
  ])('to a group that cannot be: %j: 422', async (group) => {
    const { send } = await openFleet()
    const { status, body } = await send(`POST ${PATH}`, { group, command: 'stop' })
    expect([status, body.code, body.errors[0].path]).toEqual([422, 'VALIDATION_FAILED', '/group'])
  })

  test.each([
    [{ command: 'stop' }, '/group'],
    [{ group: 'w', command: '$cancel' }, '/command'],
    [{ group: 'w', command: 'go', data: { '': 1 } }, '/data/'],
    [{ group: 'w', command: 'go', timeout_sec: -1 }, '/timeout_sec'],
  ])('refuses %j', async (body, path) => {
    const { send } = await openFleet()
    const answered = await send(`POST ${PATH}`, body)
    expect(answered.body.errors).toContainEqual(expect.objectContaining({ path }))
  })

  test('a broadcast of an operator stays within their groups', async () => {
    const { as } = await openFleet()
    const { send } = await as('operator', ['w/a'])
    const { body, headers } = await send(`POST ${PATH}`, { group: 'w', command: 'stop' })
    expect(body).toMatchObject({ total: 2, accepted: 2 })
    expect(idsOf((await send(`GET ${headers['location']}`)).body)).toEqual(['r1', 'r2'])
    const statusOf = async (whom: object) => (await send(`POST ${PATH}`, { ...whom, command: 'stop' })).status
    // Whether a group outside of theirs has devices is not to be learned.
    for (const group of ['w/b', 'w/nobody', 'w/ab'])
      expect([
        await statusOf({ group }),
        await statusOf({ target: { type: 'group', value: group } }),
      ]).toEqual([404, 404])
    expect(await statusOf({ group: 'w/a/nobody' })).toBe(422)
  })

  test('a broadcast is visible to its sender and to users who may see its whole group', async () => {
    const { as } = await openFleet()
    const sender = await as('operator', ['w/a'])
    const { headers } = await sender.send(`POST ${PATH}`, { group: 'w', command: 'stop' })
    const statusFor = async (groups: readonly string[]) => {
      const { send } = await as('operator', groups)
      return (await send(`GET ${headers['location']}`)).status
    }
    expect([await statusFor([]), await statusFor(['w']), await statusFor(['w/b'])]).toEqual([200, 200, 404])
    const stranger = await as('operator', ['w/b'])
    expect((await stranger.send(`DELETE ${headers['location']}`)).status).toBe(404)
    expect((await sender.send(`GET ${headers['location']}`)).body.counts.pending).toBe(2)
  })

  test('a broadcast is shown in pages', async () => {
    const { send } = await openFleet()
    const { headers } = await send(`POST ${PATH}`, { group: 'w', command: 'stop' })
    const { body } = await send(`GET ${headers['location']}?page=2&per_page=2`)
    expect(idsOf(body)).toEqual(['r3'])
    expect(body.commands).toMatchObject({ page: 2, per_page: 2, total: 3, total_pages: 2 })
  })

  test('a broadcast can be cancelled as a whole, also repeatedly', async () => {
    const { send } = await openFleet()
    const { headers } = await send(`POST ${PATH}`, { group: 'w/a', command: 'stop' })
    for (let i = 0; i < 2; i++) {
      const { status, body } = await send(`DELETE ${headers['location']}`)
      expect([status, body.status, body.counts.cancelled]).toEqual([200, 'cancelled', 2])
    }
  })

  test('a broadcast with an Idempotency-Key is sent once', async () => {
    const { send, engine } = await openFleet()
    const key = { 'idempotency-key': 'k1' }
    const body = { group: 'w/a', command: 'stop' }
    const first = await send(`POST ${PATH}`, body, key)
    const again = await send(`POST ${PATH}`, body, key)
    expect(again.body).toEqual(first.body)
    const commands = await Promise.all(engine.all().map(({ id }) => engine.commands(id)))
    expect(commands.flat()).toHaveLength(2)
    const other = await send(`POST ${PATH}`, { ...body, command: 'go' }, key)
    expect([other.status, other.body.code]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
  })
})

describe('its path', () => {
  test('the path of broadcasts is no device id, also with a percent-encoded $', async () => {
    const { send } = await openFleet()
    const encoded = PATH.replace('$', '%24')
    const { status, headers } = await send(`POST ${encoded}`, { group: 'w', command: 'stop' })
    expect([status, headers['location']]).toEqual([202, expect.stringContaining(`${PATH}/bc_`)])
    const one = String(headers['location']).replace('$', '%24')
    expect((await send(`GET ${one}`)).status).toBe(200)
  })

  test.each([`GET ${PATH}/bc_none`, `DELETE ${PATH}/bc_none`, `DELETE ${PATH}/${'x'.repeat(1_000)}`])(
    '%s: 404',
    async (line) => {
      const { send } = await openFleet()
      expect((await send(line)).status).toBe(404)
    },
  )
})

test('the device types are listed, built-in ones first', async () => {
  const { send } = await openFleet()
  const { body } = await send('GET /api/v1/device-types')
  expect(body.data.map((each: { name: string }) => each.name)).toEqual([
    'ros2_robot',
    'micro_ros_mcu',
    'mqtt_device',
    'gateway',
    'simulator',
    'lamp',
  ])
  expect(body.data.at(-1)).toMatchObject({
    built_in: false,
    display_name: 'Lamp',
    commands: [
      { name: 'dim', parameters: [{ name: 'to', type: 'integer', min: 0, max: 9, required: true }] },
    ],
  })
})

test('devices that have left the sender’s groups are counted but not shown', async () => {
  const { as, send, engine, device } = await openFleet()
  await send(`DELETE /api/v1/devices/${await device('r5', { group: 'w/a' })}`)
  const operator = await as('operator', ['w/a'])
  const { body } = await operator.send(`POST ${PATH}`, { group: 'w/a', command: 'stop' })
  expect(body).toMatchObject({ total: 3, accepted: 2, skipped: [{ device_id: 'r5' }] })
  await engine.users.put({ ...operator.user, groups: ['w/a/x'] })
  const seen = await operator.send(`GET ${PATH}/${body.broadcast_id}`)
  expect(idsOf(seen.body)).toEqual(['r2'])
  expect(seen.body).toMatchObject({ total: 3, accepted: 2, skipped: [], counts: { pending: 2 } })
})

describe('a list of broadcasts', () => {
  async function withBroadcasts() {
    const fleet = await openFleet()
    const { send, clock } = fleet
    const sendTo = async (group: string) => {
      clock.at += 1_000
      return (await send(`POST ${PATH}`, { group, command: 'stop' })).body.broadcast_id as string
    }
    return { ...fleet, all: await sendTo('w'), a: await sendTo('w/a'), b: await sendTo('w/b') }
  }
  const listed = (body: { data: readonly { broadcast_id: string }[] }) =>
    body.data.map(({ broadcast_id }) => broadcast_id)

  test('the newest come first, in pages, each with the number of its commands by status', async () => {
    const { send, all, a, b } = await withBroadcasts()
    const { body, headers } = await send(`GET ${PATH}`)
    expect(listed(body)).toEqual([b, a, all])
    expect(body.data[2]).toMatchObject({ group: 'w', total: 3, status: 'pending', counts: { pending: 3 } })
    expect(headers['x-total-count']).toBe('3')
    expect(listed((await send(`GET ${PATH}?per_page=1&page=2`)).body)).toEqual([a])
  })

  test('an operator sees those of their groups, and what they sent themselves', async () => {
    const { as, send, a } = await withBroadcasts()
    const operator = await as('operator', ['w/a'])
    const { body } = await operator.send(`GET ${PATH}`)
    expect([listed(body), body.total]).toEqual([[a], 1])
    const own = await operator.send(`POST ${PATH}`, { group: 'w', command: 'go' })
    expect((await operator.send(`GET ${PATH}`)).body.total).toBe(2)
    // For a broadcast to a larger group, operators see only their own devices.
    const devices = await operator.send(`GET ${PATH}/${own.body.broadcast_id}/devices`)
    expect(devices.body.data.map((each: { device_id: string }) => each.device_id)).toEqual(['r1', 'r2'])
    expect((await send(`GET ${PATH}/bc_x/devices`)).status).toBe(404)
  })

  test('the devices of a broadcast are listed by the status of their command', async () => {
    const { send, engine, all } = await withBroadcasts()
    const { data } = (await send(`GET ${PATH}/${all}/devices`)).body
    expect(data.map((each: { device_id: string }) => each.device_id)).toEqual(['r1', 'r2', 'r3'])
    const failed = {
      request_id: data[1].command_id,
      status: 'failed',
      error: { code: 'JAM', message: 'stuck' },
    }
    await engine.publish(data[1].device_id, 'command/ack', failed)
    await engine.publish(data[2].device_id, 'command/ack', {
      ...failed,
      request_id: data[2].command_id,
      status: 'completed',
    })
    const only = (await send(`GET ${PATH}/${all}/devices?status=failed,expired`)).body
    expect(only).toMatchObject({ total: 1, data: [{ device_id: 'r2', error: { code: 'JAM' } }] })
    const acked = (await send(`GET ${PATH}/${all}/devices?status=acked&status=pending&per_page=1`)).body
    expect(acked).toMatchObject({ total: 2, total_pages: 2, data: [{ device_id: 'r1' }] })
    expect((await send(`GET ${PATH}/${all}/devices?status=lost`)).status).toBe(422)
  })
})

describe('a target that is no group', () => {
  test.each([
    [{ type: 'tag', value: 'hot' }, ['r1', 'r5']],
    [{ type: 'devices', value: ['r4', 'r1', 'r4'] }, ['r1', 'r4']],
    [{ type: 'query', value: { q: 'r', group: 'w/a' } }, ['r1', 'r2']],
    [{ type: 'group', value: 'w/a' }, ['r1', 'r2']],
  ])('%j is each device that it means, once', async (target, ids) => {
    const fleet = await openFleet()
    await fleet.device('r5', { tags: ['hot'] })
    const edit = { kind: 'edit', replace: false, tags: ['hot'] } as const
    const [r1] = fleet.engine.all().filter(({ id }) => id === 'r1')
    if (r1 !== undefined) await fleet.engine.submit(r1.id, edit, { by: { kind: 'user', id: 'usr_x' } })
    const { status, body } = await fleet.send(`POST ${PATH}`, { target, command: 'stop' })
    expect([status, body.target, body.group]).toEqual([202, target, target.type === 'group' ? 'w/a' : null])
    expect(idsOf((await fleet.send(`GET ${PATH}/${body.broadcast_id}`)).body)).toEqual(ids)
  })

  test.each([
    [{ target: { type: 'tag', value: '' } }, '/target/value'],
    [{ target: { type: 'tag' } }, '/target/value'],
    [{ target: { type: 'group', value: 7 } }, '/target/value'],
    [{ target: { type: 'devices', value: [] } }, '/target/value'],
    [{ target: { type: 'query', value: { color: 'red' } } }, '/target/value/color'],
    [{ target: { type: 'planet', value: 'x' } }, '/target/type'],
    [{ group: 'w', target: { type: 'tag', value: 'x' } }, '/target'],
    [{}, '/group'],
  ])('%j is 422', async (whom, path) => {
    const { send } = await openFleet()
    const { status, body } = await send(`POST ${PATH}`, { ...whom, command: 'stop' })
    expect([status, body.errors[0].path]).toEqual([422, path])
  })

  test('devices outside of the sender’s groups do not exist for it', async () => {
    const { as } = await openFleet()
    const { send } = await as('operator', ['w/a'])
    const named = { type: 'devices', value: ['r1', 'r3'] }
    expect((await send(`POST ${PATH}`, { target: named, command: 'stop' })).status).toBe(404)
    const query = { type: 'query', value: { q: 'r' } }
    const { body } = await send(`POST ${PATH}`, { target: query, command: 'stop' })
    expect(body).toMatchObject({ total: 2, accepted: 2 })
    const other = await as('operator', ['w'])
    expect((await other.send(`GET ${PATH}/${body.broadcast_id}`)).status).toBe(404)
  })

  test('the same Idempotency-Key with another target is refused', async () => {
    const { send } = await openFleet()
    const key = { 'idempotency-key': 'k1' }
    const sendTo = (value: readonly string[]) =>
      send(`POST ${PATH}`, { target: { type: 'devices', value }, command: 'stop' }, key)
    const first = await sendTo(['r1'])
    expect((await sendTo(['r1'])).body).toEqual(first.body)
    expect((await sendTo(['r2'])).body.code).toBe('IDEMPOTENCY_KEY_REUSED')
  })
})

describe('a dry run', () => {
  test('tells which devices it would go to, and sends nothing', async () => {
    const { send, device, engine } = await openFleet()
    await device('l1', { group: 'w/a', type: 'lamp', name: 'Lamp' })
    const gone = await device('r0', { group: 'w/a' })
    await engine.submit(gone, { kind: 'decommission' }, { by: { kind: 'user', id: 'usr_x' } })
    const { status, body } = await send(`POST ${PATH}?dry_run=true`, { group: 'w/a', command: 'stop' })
    expect([status, body]).toEqual([
      200,
      {
        total: 4,
        accepted: 2,
        skipped: [
          { device_id: 'l1', reason: 'unknown_command' },
          { device_id: 'r0', reason: 'decommissioned' },
        ],
        by_reason: { unknown_command: 1, decommissioned: 1 },
        by_status: { provisioning: 2 },
        by_type: { mqtt_device: 2 },
        sample: ['r1', 'r2'].map((id) => expect.objectContaining({ device_id: id, name: id })),
      },
    ])
    expect((await send(`GET ${PATH}`)).body.total).toBe(0)
    const nobody = await send(`POST ${PATH}?dry_run=true`, { group: 'x', command: 'stop' })
    expect(nobody).toMatchObject({ status: 200, body: { total: 0, accepted: 0, sample: [] } })
  })

  test('a target that has changed since the dry run is refused, and nothing is sent', async () => {
    const { send, device } = await openFleet()
    const wish = { group: 'w/a', command: 'stop' }
    const { total } = (await send(`POST ${PATH}?dry_run=true`, wish)).body
    await device('r9', { group: 'w/a' })
    const late = await send(`POST ${PATH}`, { ...wish, expected_total: total })
    expect(late).toMatchObject({ status: 409, body: { code: 'TARGET_CHANGED', expected: 2, got: 3 } })
    expect((await send(`GET ${PATH}`)).body.total).toBe(0)
    expect((await send(`POST ${PATH}`, { ...wish, expected_total: 3 })).status).toBe(202)
  })
})
