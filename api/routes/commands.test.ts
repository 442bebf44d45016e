import { describe, expect, test } from 'vitest'
import type { DeviceTypes } from '../../engine/domain/device-type/definition.ts'
import { Fault } from '../../engine/ports/fault.ts'
import { CommandId, Micros } from '../../schemas/ids.ts'
import { openHarness } from '../testing/rest.ts'

const COMMANDS = '/api/v1/commands/r'
const json = { 'content-type': 'application/json' }

const PERCENT = { type: 'integer', required: true, description: undefined, min: 0, max: 100 } as const
const TYPES: DeviceTypes = new Map([
  [
    'greenhouse',
    {
      name: 'greenhouse',
      displayName: 'Greenhouse',
      icon: 'leaf',
      telemetry: [
        { field: 'temperature', unit: '°C', range: [0, 50], alertAbove: 40, alertBelow: undefined },
      ],
      commands: [
        {
          name: 'open_vent',
          description: undefined,
          parameters: [
            { name: 'percent', ...PERCENT },
            {
              name: 'slow',
              type: 'boolean',
              required: false,
              description: undefined,
              min: undefined,
              max: undefined,
            },
          ],
        },
      ],
      statusFields: [],
    },
  ],
])

async function asOperator(type = 'mqtt_device') {
  const harness = openHarness({ customTypes: TYPES })
  const { token, user } = await harness.login('operator')
  const id = await harness.device('r', { type, group: 'a/b' })
  const send = (line: string, body?: unknown, headers: Record<string, string> = {}) =>
    harness.request(line, { token, body, headers })
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    send(`POST ${COMMANDS}`, body, headers)
  const { engine } = harness
  /** Delivers the device's commands, and publishes its answer to one of them. */
  const answer = (commandId: string, fields: object) =>
    engine.converse(id, 'command/ack', { request_id: commandId, ...fields })
  return { ...harness, send, post, user, id, answer }
}

describe('sending a command', () => {
  test('a command is answered with 202, its pending record and its Location', async () => {
    const { post, send, user } = await asOperator()
    const { status, body, headers } = await post({ command: 'move_to', data: { x: 1 }, timeout_sec: 60 })
    expect(status).toBe(202)
    expect(body).toMatchObject({
      command_id: expect.stringMatching(/^cmd_[0-9a-z]{26}$/),
      device_id: 'r',
      command: 'move_to',
      data: { x: 1 },
      status: 'pending',
      priority: 'normal',
      timeout_sec: 60,
      created_at: '2026-03-01T12:00:00.500Z',
      expires_at: '2026-03-01T12:01:00.500Z',
      created_by: user.id,
      held_reason: null,
      attempts: 0,
      result: null,
    })
    expect(headers['location']).toBe(`${COMMANDS}/${body.command_id}`)
    expect((await send(`GET ${headers['location']}`)).body).toEqual(body)
  })

  test('a critical command gets ten seconds, another one thirty', async () => {
    const { post } = await asOperator()
    expect((await post({ command: 'stop', priority: 'critical' })).body.timeout_sec).toBe(10)
    expect((await post({ command: 'go', data: null })).body).toMatchObject({ timeout_sec: 30, data: {} })
  })

  test('a command is held while the device is in maintenance, and says so', async () => {
    const { post, engine, id } = await asOperator()
    await engine.publish(id, 'status', {})
    await engine.submit(
      id,
      { kind: 'edit', replace: false, status: 'maintenance' },
      { by: { kind: 'user', id: 'usr_x' } },
    )
    expect((await post({ command: 'go' })).body).toMatchObject({
      status: 'pending',
      held_reason: 'maintenance',
    })
  })

  test.each([
    [{}, '/command', 'REQUIRED'],
    [{ command: '' }, '/command', 'TOO_SHORT'],
    [{ command: 'a\nb' }, '/command', 'WRONG_FORMAT'],
    [{ command: 'x'.repeat(129) }, '/command', 'TOO_LONG'],
    [{ command: '\ud800' }, '/command', 'WRONG_FORMAT'],
    [{ command: '$cancel' }, '/command', 'NOT_ALLOWED'],
    [{ command: 'go', data: [] }, '/data', 'WRONG_TYPE'],
    [{ command: 'go', data: { '': 1 } }, '/data/', 'TOO_SHORT'],
    [{ command: 'go', data: { a: '\udc00' } }, '/data/a', 'WRONG_FORMAT'],
    [{ command: 'go', timeout_sec: 0 }, '/timeout_sec', 'OUT_OF_RANGE'],
    [{ command: 'go', timeout_sec: 1.5 }, '/timeout_sec', 'WRONG_TYPE'],
    [{ command: 'go', timeout_sec: 604_801 }, '/timeout_sec', 'OUT_OF_RANGE'],
    [{ command: 'go', priority: 'urgent' }, '/priority', 'NOT_ALLOWED'],
  ])('refuses %j', async (body, path, code) => {
    const { post, engine, id } = await asOperator()
    const answered = await post(JSON.stringify(body), json)
    expect(answered.status).toBe(422)
    expect(answered.body.errors).toContainEqual(expect.objectContaining({ path, code }))
    expect(await engine.commands(id)).toEqual([])
  })

  test('command data beyond 64 KiB is 413', async () => {
    const { post } = await asOperator()
    const { status, body } = await post({ command: 'go', data: { a: 'x'.repeat(65_536) } })
    expect([status, body.limit]).toEqual([413, 65_536])
  })

  test('a thousand open commands fill the queue, and the next one is 429', async () => {
    const { post, engine, id } = await asOperator()
    for (let i = 0; i < 1_000; i++)
      await engine.submit(
        id,
        { kind: 'command', id: CommandId(`c${i}`), wish: { name: 'go' } },
        { by: { kind: 'user', id: 'usr_x' } },
      )
    const { status, body } = await post({ command: 'go' })
    expect([status, body.code]).toEqual([429, 'COMMAND_QUEUE_FULL'])
  })

  test('a command to a decommissioned device is 409', async () => {
    const { post, engine, id } = await asOperator()
    await engine.submit(id, { kind: 'decommission' }, { by: { kind: 'user', id: 'usr_x' } })
    expect((await post({ command: 'go' })).body.code).toBe('DEVICE_DECOMMISSIONED')
  })

  test('a command is 503 while the log cannot be written', async () => {
    const { post, engine } = await asOperator()
    engine.submit = () => Promise.reject(new Fault('LOG_UNAVAILABLE', { retryable: true }))
    expect((await post({ command: 'go' })).status).toBe(503)
  })
})

describe('a device of a defined type', () => {
  test('a device of a defined type gets the commands of its type', async () => {
    const { post } = await asOperator('greenhouse')
    expect((await post({ command: 'open_vent', data: { percent: 50 } })).status).toBe(202)
  })

  test('a device of a defined type gets no other command', async () => {
    const { post } = await asOperator('greenhouse')
    const { status, body } = await post({ command: 'close_roof', data: {} })
    expect([status, body.code]).toEqual([422, 'UNKNOWN_COMMAND'])
    expect(body.detail).toContain('open_vent')
  })

  test('each wrong parameter is named', async () => {
    const { post } = await asOperator('greenhouse')
    const { status, body } = await post({
      command: 'open_vent',
      data: { percent: 101, slow: 'yes', speed: 1 },
    })
    expect([status, body.code]).toEqual([422, 'VALIDATION_FAILED'])
    expect(body.errors).toMatchObject([
      { path: '/data/percent', in: 'body', code: 'OUT_OF_RANGE', message: 'must be <= 100' },
      { path: '/data/slow', code: 'WRONG_TYPE' },
      { path: '/data/speed', code: 'UNKNOWN_PARAMETER' },
    ])
    expect((await post({ command: 'open_vent' })).body.errors).toMatchObject([
      { path: '/data/percent', code: 'REQUIRED' },
    ])
  })
})

describe('an Idempotency-Key', () => {
  const key = { 'idempotency-key': 'k1' }

  test('a repeated Idempotency-Key finds the same command', async () => {
    const { post, engine, id } = await asOperator()
    const first = await post({ command: 'go' }, key)
    const again = await post({ command: 'go' }, key)
    expect(first.headers['idempotency-replayed']).toBeUndefined()
    expect([again.status, again.headers['idempotency-replayed']]).toEqual([202, 'true'])
    expect(again.body).toEqual(first.body)
    expect(await engine.commands(id)).toHaveLength(1)
  })

  test('an Idempotency-Key with another request is 409, without the user’s id', async () => {
    const { post, user } = await asOperator()
    await post({ command: 'go' }, key)
    const { status, body, text } = await post({ command: 'stop' }, key)
    expect([status, body.code]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED'])
    expect(text).not.toContain(user.id)
  })

  test('an Idempotency-Key belongs to its user', async () => {
    const { post, login, request } = await asOperator()
    const mine = await post({ command: 'go' }, key)
    const { token } = await login('admin')
    const other = await request(`POST ${COMMANDS}`, { token, body: { command: 'stop' }, headers: key })
    expect(other.status).toBe(202)
    expect(other.body.command_id).not.toBe(mine.body.command_id)
  })

  test('an Idempotency-Key reveals nothing about a device that has left the groups of its user', async () => {
    const { login, request } = await asOperator()
    const { token } = await login('operator', { groups: ['a'] })
    const send = () => request(`POST ${COMMANDS}`, { token, body: { command: 'go' }, headers: key })
    expect((await send()).status).toBe(202)
    const admin = await login('admin')
    const moved = { token: admin.token, body: { group: 'z' } }
    expect((await request('PATCH /api/v1/devices/r', moved)).status).toBe(200)
    expect((await send()).status).toBe(404)
  })

  test('an Idempotency-Key is forgotten after 24 hours', async () => {
    const { post, login, request, clock } = await asOperator()
    const first = await post({ command: 'go', timeout_sec: 604_800 }, key)
    clock.at += 86_400_001
    expect(first.status).toBe(202)
    const { token } = await login('operator', { id: first.body.created_by })
    const later = await request(`POST ${COMMANDS}`, { token, body: { command: 'stop' }, headers: key })
    expect(later.status).toBe(202)
  })

  test.each(['', 'a b', 'é', 'x'.repeat(129)])('the Idempotency-Key %j is 400', async (text) => {
    const { post } = await asOperator()
    const { status, body } = await post({ command: 'go' }, { 'idempotency-key': text })
    expect([status, body.code]).toEqual([400, 'BAD_REQUEST'])
  })
})

describe('waiting for the end', () => {
  test('a wait ends with 200 and the result if it comes in time', async () => {
    const { send, engine, id, answer } = await asOperator()
    engine.whileWaiting = async () => {
      const [command] = (await engine.commands(id)) ?? []
      await answer(command?.id ?? '', { status: 'completed', result: { at: 5 } })
    }
    const { status, body } = await send(`POST ${COMMANDS}?wait=10`, { command: 'go' })
    expect([status, body.status, body.result, body.progress]).toEqual([200, 'completed', { at: 5 }, 100])
    expect(engine.waits).toEqual([10_000])
  })

  test('a wait ends with 202 if the result does not come in time', async () => {
    const { send } = await asOperator()
    const { status, body } = await send(`POST ${COMMANDS}?wait=1`, { command: 'go' })
    expect([status, body.status]).toEqual([202, 'pending'])
  })

  test('a wait may be requested by Prefer, which is applied up to the limit', async () => {
    const { post, send, engine } = await asOperator()
    const short = await post({ command: 'go' }, { prefer: 'respond-async, wait=5' })
    const long = await post({ command: 'go' }, { prefer: 'wait=9999' })
    expect([short, long].map(({ headers }) => headers['preference-applied'])).toEqual(['wait=5', 'wait=60'])
    await post({ command: 'go' }, { prefer: 'await=5' })
    await send(`GET ${COMMANDS}/${short.body.command_id}?wait=7`)
    expect(engine.waits).toEqual([5_000, 60_000, 7_000])
  })

  test.each(['wait=61', 'wait=-1', 'wait=x'])('?%s: 422', async (query) => {
    const { send } = await asOperator()
    expect((await send(`POST ${COMMANDS}?${query}`, { command: 'go' })).status).toBe(422)
  })
})

describe('the commands of a device', () => {
  test('commands are listed newest first, in pages', async () => {
    const { post, send, clock } = await asOperator()
    for (const command of ['a', 'b', 'c']) {
      await post({ command })
      clock.at += 1
    }
    const { body, headers } = await send(`GET ${COMMANDS}?per_page=2`)
    expect(body.data.map((each: { command: string }) => each.command)).toEqual(['c', 'b'])
    expect([body.total, headers['x-total-count']]).toEqual([3, '3'])
  })

  test('commands are filtered by status, where acked means acknowledged', async () => {
    const { post, send, answer, clock } = await asOperator()
    const ids: string[] = []
    for (const command of ['a', 'b', 'c']) {
      ids.push((await post({ command })).body.command_id)
      clock.at += 1
    }
    await answer(ids[0] ?? '', { status: 'in_progress', progress: 40 })
    await answer(ids[1] ?? '', { status: 'completed' })
    await answer(ids[2] ?? '', { status: 'failed', error: { code: 'E', message: 'no' } })
    await post({ command: 'd' })
    const named = async (query: string) => {
      const { body } = await send(`GET ${COMMANDS}?${query}`)
      return body.data.map((each: { command: string }) => each.command).join('')
    }
    expect(await named('status=acked')).toBe('ba')
    expect(await named('status=completed')).toBe('b')
    expect(await named('status=pending,failed')).toBe('dc')
    expect(await named('status=pending&status=failed')).toBe('dc')
    expect(await named('status=expired')).toBe('')
    for (const wrong of ['status=done', 'status=', 'status=acked,', 'status=acked&page=0'])
      expect((await send(`GET ${COMMANDS}?${wrong}`)).status).toBe(422)
  })

  test('commands show the device’s answer', async () => {
    const { post, send, answer } = await asOperator()
    const { command_id: id } = (await post({ command: 'go' })).body
    await answer(id, {
      status: 'failed',
      error: { code: 'BLOCKED', message: 'a box' },
      executed_at: '2026-03-01T12:00:00Z',
    })
    expect((await send(`GET ${COMMANDS}/${id}`)).body).toMatchObject({
      status: 'failed',
      error: { code: 'BLOCKED', message: 'a box' },
      executed_at: '2026-03-01T12:00:00.000Z',
      completed_at: '2026-03-01T12:00:00.500Z',
    })
  })
})

test('a command that its device no longer holds is rebuilt from the history', async () => {
  const { send, engine, id } = await asOperator()
  const commandId = `cmd_${'01kjmma2zmhc659myv9c2jqhez'}`
  const about = { command_id: commandId, command: 'go', priority: 'high', created_by: 'usr_1', attempts: 1 }
  const steps = [
    { status: 'pending', attempts: 0, data: { a: 1 }, expires_at: '2026-03-01T12:01:00.000Z' },
    { status: 'delivered' },
    { status: 'acked', progress: 40 },
    { status: 'failed', progress: 40, executed_at: null, result: null, error: { code: 'E', message: 'no' } },
  ]
  for (const [i, step] of steps.entries()) {
    const timestamp = `2026-03-01T12:00:0${i}.000Z`
    const at = Micros(Date.parse(timestamp) * 1000)
    const body = { late: false, progress: null, broadcast_id: null, timestamp, ...about, ...step }
    const row = { deviceId: id, kind: 'command', at, version: 2 * i, body } as const
    await engine.remember(row, { ...row, version: 2 * i + 1, body: { ...body, command_id: 'cmd_x' } })
  }
  const { status, body } = await send(`GET ${COMMANDS}/${commandId}`)
  expect(status).toBe(200)
  expect(body).toMatchObject({
    command_id: commandId,
    device_id: 'r',
    data: { a: 1 },
    status: 'failed',
    priority: 'high',
    timeout_sec: 60,
    delivered_at: '2026-03-01T12:00:01.000Z',
    acked_at: '2026-03-01T12:00:02.000Z',
    completed_at: '2026-03-01T12:00:03.000Z',
    error: { code: 'E', message: 'no' },
    progress: 40,
    attempts: 1,
  })
  expect((await send(`GET ${COMMANDS}/cmd_01kjmma2zmhc659myv9c2jqhe0`)).status).toBe(404)
})

describe('cancelling a command', () => {
  test('a cancelled command is answered with its record, and a second time with 409', async () => {
    const { post, send, user } = await asOperator()
    const { headers } = await post({ command: 'go' })
    const line = `DELETE ${headers['location']}`
    const { status, body } = await send(line)
    expect([status, body.status, body.cancelled_by]).toEqual([200, 'cancelled', user.id])
    const again = await send(line)
    expect([again.status, again.body.code]).toEqual([409, 'INVALID_STATE_TRANSITION'])
  })

  test('cancelling a command of another or unknown device is 404', async () => {
    const { post, send, device } = await asOperator()
    await device('s')
    const { command_id: id } = (await post({ command: 'go' })).body
    const paths = [`s/${id}`, `r/cmd_none`, `none/${id}`, `r/${'x'.repeat(500)}`, 'r/a%20b']
    for (const path of paths)
      for (const method of ['GET', 'DELETE'])
        expect((await send(`${method} /api/v1/commands/${path}`)).status).toBe(404)
  })
})

test.each(['%23', 'a%2Fb', 'x'.repeat(1_000), '%00', '%E2%84%A6', '$broadcast2'])(
  'the device id %s does not exist: 404',
  async (id) => {
    const { send } = await asOperator()
    expect((await send(`GET /api/v1/commands/${id}`)).status).toBe(404)
    expect((await send(`POST /api/v1/commands/${id}`, { command: 'go' })).status).toBe(404)
  },
)
