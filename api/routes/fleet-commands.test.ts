import { describe, expect, test } from 'vitest'
import { LIMITS } from '../../engine/limits.ts'
import { Fault } from '../../engine/ports/fault.ts'
import type { HistoryRow } from '../../engine/ports/history.ts'
import { CommandId, type DeviceId, Micros, Millis, toIso } from '../../schemas/ids.ts'
import type { Role } from '../../schemas/vocabulary.ts'
import { parseCommandCursor, toCommandCursor } from '../http/fleet-cursor.ts'
import { NOW, openHarness } from '../testing/rest.ts'

const PATH = '/api/v1/commands'
const DAY_MS = 86_400_000

async function openFleet() {
  const harness = openHarness()
  const { engine, clock, device, login, request } = harness
  const [a, b, c] = [
    await device('ra', { group: 'w/a' }),
    await device('rb', { group: 'w/b' }),
    await device('rc'),
  ]
  const as = async (role: Role, groups: readonly string[] = []) => {
    const { token, user } = await login(role, { groups })
    return { user, send: (line: string, body?: unknown) => request(line, { token, body }) }
  }
  const { send, user } = await as('admin')
  let n = 0
  /** Sends a command one second after the previous one. */
  const command = async (deviceId: DeviceId, name = 'go') => {
    clock.at += 1_000
    const { body } = await send(`POST ${PATH}/${deviceId}`, { command: name, timeout_sec: 600 })
    return body.command_id as string
  }
  /** A command that only the history knows. */
  const past = async (
    deviceId: DeviceId,
    age: number,
    more: Record<string, unknown> = {},
    steps = ['completed'],
  ) => {
    const id = `cmd_past${n++}`
    const row = (status: string, step: number): HistoryRow => ({
      deviceId,
      kind: 'command',
      at: Micros((NOW - age + step) * 1000),
      version: n * 100 + step,
      body: {
        ...{ command_id: id, command: 'go', status, timestamp: toIso(Millis(NOW - age + step)) },
        ...{
          priority: 'normal',
          created_by: 'usr_old',
          broadcast_id: null,
          attempts: 0,
          progress: null,
          late: false,
        },
        ...(step === 0 ? { data: { x: 1 }, expires_at: toIso(Millis(NOW - age + 30_000)) } : {}),
        ...(['completed', 'failed'].includes(status)
          ? { result: { ok: true }, executed_at: null, error: null }
          : {}),
        ...more,
      },
    })
    await engine.remember(...['pending', ...steps].map(row))
    return id
  }
  const idsOf = async (query: string, sender = send) => {
    const { body } = await sender(`GET ${PATH}?${query}`)
    return body.data.map((each: { command_id: string }) => each.command_id) as string[]
  }
  return { ...harness, as, a, b, c, send, user, command, past, idsOf }
}

test('open and past commands of all devices are one list, newest first', async () => {
  const { send, a, b, c, command, past } = await openFleet()
  const old = await past(c, 400 * DAY_MS)
  const last = await past(a, DAY_MS, {}, ['delivered', 'failed'])
  const first = await command(a)
  const second = await command(b, 'stop')
  const { status, body } = await send(`GET ${PATH}`)
  const shown = body.data.map((each: Record<string, unknown>) => [
    each['command_id'],
    each['status'],
    each['device_id'],
  ])
  expect([status, shown, body.next_cursor]).toEqual([
    200,
    [
      [second, 'pending', 'rb'],
      [first, 'pending', 'ra'],
      [last, 'failed', 'ra'],
      [old, 'completed', 'rc'],
    ],
    null,
  ])
  expect(body.data[2]).toMatchObject({
    command: 'go',
    data: { x: 1 },
    timeout_sec: 30,
    created_by: 'usr_old',
    created_at: toIso(Millis(NOW - DAY_MS)),
    delivered_at: toIso(Millis(NOW - DAY_MS + 1)),
    completed_at: toIso(Millis(NOW - DAY_MS + 2)),
    result: { ok: true },
  })
})

test('a command in its device’s record is shown once and as in the record, whatever the history says', async () => {
  const { engine, a, send, command, idsOf } = await openFleet()
  const id = await command(a)
  await engine.converse(a, 'command/ack', { request_id: id, status: 'completed', result: 7 })
  const { body: kept } = await send(`GET ${PATH}/ra/${id}`)
  expect(kept.status).toBe('completed')
  // The history does not have the end yet.
  await engine.remember({
    deviceId: a,
    kind: 'command',
    at: Micros(Date.parse(kept.created_at) * 1000),
    version: 1,
    body: { command_id: id, command: 'go', status: 'pending', data: {}, created_by: 'x' },
  })
  expect((await send(`GET ${PATH}`)).body.data).toEqual([kept])
  expect([await idsOf('status=pending'), await idsOf('status=completed')]).toEqual([[], [id]])
})

test('commands are filtered by status, name, group, device, sender, broadcast and time', async () => {
  const { a, b, c, user, send, clock, command, past, idsOf } = await openFleet()
  const old = await past(b, DAY_MS, { broadcast_id: 'bc_old' }, ['failed'])
  const done = await past(c, 2 * DAY_MS)
  const go = await command(a)
  const stop = await command(b, 'stop')
  clock.at += 1_000
  const { body } = await send(`POST ${PATH}/$broadcast`, { group: 'w/b', command: 'stop' })
  const child: string = (await send(`GET ${PATH}/rb`)).body.data[0].command_id
  expect(child).toMatch(/^cmd_[0-9a-z]{26}$/)
  expect(await idsOf('status=pending')).toEqual([child, stop, go])
  expect(await idsOf('status=failed,pending&command=go')).toEqual([go, old])
  expect(await idsOf('group=w')).toEqual([child, stop, go, old])
  expect(await idsOf('group=w/b')).toEqual([child, stop, old])
  expect(await idsOf('group=x')).toEqual([])
  expect(await idsOf('device_id=rc')).toEqual([done])
  expect(await idsOf('device_id=nobody')).toEqual([])
  expect(await idsOf(`created_by=${user.id}`)).toEqual([child, stop, go])
  expect(await idsOf('created_by=usr_old')).toEqual([old, done])
  expect(await idsOf(`broadcast_id=${body.broadcast_id}`)).toEqual([child])
  expect(await idsOf('broadcast_id=bc_old')).toEqual([old])
  expect(await idsOf(`from=${toIso(Millis(NOW - DAY_MS))}&to=${toIso(Millis(NOW + 1_500))}`)).toEqual([
    go,
    old,
  ])
})

test('open commands are listed even if the history cannot be read', async () => {
  const { engine, a, command, idsOf } = await openFleet()
  const id = await command(a)
  engine.telemetry.pastCommands = () => Promise.reject(new Error('the history is away'))
  expect(await idsOf('status=pending,delivered')).toEqual([id])
})

test('the commands of one device are those in its record and earlier ones from the history', async () => {
  const { engine, a, b, send, command, past } = await openFleet()
  const oldest = await past(a, 2 * DAY_MS, {}, ['failed'])
  const older = await past(a, DAY_MS)
  await past(b, DAY_MS)
  const open = await command(a)
  const ended: string[] = []
  while (ended.length < LIMITS.commandsKeptMax) {
    const id = await command(a)
    await send(`DELETE ${PATH}/ra/${id}`)
    ended.unshift(id)
  }
  const listed = async (query: string) => {
    const { body } = await send(`GET ${PATH}/ra?${query}`)
    return [body.total, ...body.data.map((each: { command_id: string }) => each.command_id)]
  }
  const all = [...ended, open, older, oldest]
  expect(await listed('')).toEqual([all.length, ...all])
  expect(await listed('sort=created_at:ASC')).toEqual([all.length, ...all.toReversed()])
  expect(await listed('per_page=5&page=4')).toEqual([all.length, ...all.slice(15, 20)])
  expect(await listed('status=acked,failed')).toEqual([2, older, oldest])
  expect(await listed('status=pending')).toEqual([1, open])
  const { body } = await send(`GET ${PATH}/ra?status=completed`)
  expect(body.data).toEqual([(await send(`GET ${PATH}?status=completed&device_id=ra`)).body.data[0]])
  engine.telemetry.pastCommands = () =>
    Promise.reject(new Fault('TELEMETRY_UNAVAILABLE', { retryable: true }))
  expect(await listed('')).toEqual([all.length - 2, ...all.slice(0, -2)])
})

test('pages by cursor contain every open and past command once', async () => {
  const { a, b, c, send, command, past } = await openFleet()
  const all: string[] = []
  for (const device of [a, b, c, a]) all.unshift(await command(device))
  for (let day = 1; day < 6; day++) all.push(await past(day % 2 === 0 ? a : b, day * DAY_MS))
  for (const limit of [1, 2, 3, 4, 5, 9]) {
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body }: Awaited<ReturnType<typeof send>> = await send(
        `GET ${PATH}?limit=${limit}${cursor && `&cursor=${cursor}`}`,
      )
      expect(body.data.length).toBeLessThanOrEqual(limit)
      seen.push(...body.data.map((each: { command_id: string }) => each.command_id))
      cursor = body.next_cursor
    }
    expect(seen).toEqual(all)
  }
})

describe('who may see what', () => {
  test('an operator sees the commands of devices in their groups', async () => {
    const { as, a, b, c, command, past, idsOf } = await openFleet()
    const [own] = [await command(a), await command(b), await command(c)]
    const old = await past(a, DAY_MS)
    await past(b, DAY_MS)
    const operator = await as('operator', ['w/a'])
    expect(await idsOf('', operator.send)).toEqual([own, old])
    expect(await idsOf('group=w', operator.send)).toEqual([own, old])
    expect(await idsOf('device_id=rb', operator.send)).toEqual([])
  })

  test('a viewer sees none', async () => {
    const { as } = await openFleet()
    const { send } = await as('viewer')
    expect((await send(`GET ${PATH}`)).status).toBe(403)
  })
})

test.each([
  ['cursor=bogus', 400, 'BAD_REQUEST'],
  [`cursor=${Buffer.from('5 cmd_1 ../x').toString('base64url')}`, 400, 'BAD_REQUEST'],
  ['status=flying', 422, 'VALIDATION_FAILED'],
  ['group=..', 422, 'VALIDATION_FAILED'],
  ['from=soon', 422, 'VALIDATION_FAILED'],
])('%s is %i %s', async (query, status, code) => {
  const { send } = await openFleet()
  const answered = await send(`GET ${PATH}?${query}`)
  expect([answered.status, answered.body.code]).toEqual([status, code])
})

test('a cursor is read as it was written', async () => {
  const { a } = await openFleet()
  const place = { createdAt: Millis(NOW), commandId: CommandId('cmd_01-17'), deviceId: a }
  expect(parseCommandCursor(toCommandCursor(place))).toEqual(place)
})
