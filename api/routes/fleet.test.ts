import { describe, expect, test } from 'vitest'
import { FLEET_FLAGS, type FleetIndex } from '../../schemas/fleet.ts'
import { CommandId, type DeviceId } from '../../schemas/ids.ts'
import { openHarness } from '../testing/rest.ts'

const SECOND_MS = 1_000

async function openFleet() {
  const harness = openHarness()
  const { clock, login, request, device } = harness
  const { token } = await login('admin')
  await device('a1', { group: 'a', tags: ['x', 'y'] })
  await device('a2', { group: 'a/b', type: 'gateway' })
  await device('c1', { group: 'c' })
  await device('free')
  const get = async (path: string, headers: Record<string, string> = {}) => {
    clock.at += SECOND_MS
    return await request(`GET /api/v1/fleet/${path}`, { token, headers })
  }
  const readAs = async (bearer: string, path = 'index') => {
    clock.at += SECOND_MS
    return (await request(`GET /api/v1/fleet/${path}`, { token: bearer })).body
  }
  return { ...harness, token, get, readAs }
}

function rowOf({ columns, ...lists }: FleetIndex, id: string) {
  const place = columns.device_id.indexOf(id)
  if (place < 0) return undefined
  const word = (list: readonly string[], at: number | null | undefined) => (at == null ? null : list[at])
  return {
    name: columns.name[place],
    status: word(lists.statuses, columns.status[place]),
    type: word(lists.types, columns.type[place]),
    group: word(lists.groups, columns.group[place]),
    tags: columns.tags[place]?.map((tag) => lists.tags[tag]),
    parent_id: columns.parent_id[place],
    firmware: word(lists.firmware, columns.firmware[place]),
    flags: columns.flags[place],
    last_seen_ms: columns.last_seen_ms[place],
  }
}

describe('the index of the fleet', () => {
  test('a device is a row of positions in the lists', async () => {
    const { get } = await openFleet()
    const { body } = await get('index')
    expect(body).toMatchObject({ total: 4, truncated: false, by_status: { provisioning: 4, online: 0 } })
    expect(rowOf(body, 'a1')).toEqual({
      name: 'a1',
      status: 'provisioning',
      type: 'mqtt_device',
      group: 'a',
      tags: ['x', 'y'],
      parent_id: null,
      firmware: null,
      flags: 0,
      last_seen_ms: null,
    })
    expect(rowOf(body, 'free')).toMatchObject({ group: null, tags: [] })
    for (const column of Object.values(body.columns)) expect(column).toHaveLength(4)
  })

  test('flags show connection, sync and held commands', async () => {
    const { get, engine, device } = await openFleet()
    const id = await device('f')
    const by = { by: { kind: 'user', id: 'usr_1' } } as const
    await engine.connect(id)
    await engine.view(id)
    expect(rowOf((await get('index')).body, 'f')?.flags).toBe(FLEET_FLAGS.connected)
    await engine.submit(id, { kind: 'desire', patch: { led: 'on' }, mode: 'merge' }, by)
    expect(rowOf((await get('index')).body, 'f')?.flags).toBe(FLEET_FLAGS.connected | FLEET_FLAGS.outOfSync)
    await engine.submit(id, { kind: 'edit', replace: false, status: 'maintenance' }, by)
    const wish = { name: 'go', timeoutSec: 1_000 }
    await engine.submit(id, { kind: 'command', id: CommandId('cmd_1'), wish }, by)
    const held = FLEET_FLAGS.connected | FLEET_FLAGS.outOfSync | FLEET_FLAGS.held
    expect(rowOf((await get('index')).body, 'f')).toMatchObject({ status: 'maintenance', flags: held })
  })

  test('filters leave out devices that do not match', async () => {
    const { get } = await openFleet()
    const ids = async (query: string) => (await get(`index?${query}`)).body.columns.device_id
    expect(await ids('group=a')).toEqual(['a1', 'a2'])
    expect(await ids('type=gateway')).toEqual(['a2'])
    expect(await ids('tag=y&group=a')).toEqual(['a1'])
    expect((await get('index?type=nothing')).status).toBe(422)
  })

  test('a user limited to groups sees only these, and does not learn where devices that left them went', async () => {
    const { get, engine, login, readAs, clock, request } = await openFleet()
    const { token } = await login('operator', { groups: ['a'] })
    const first = await readAs(token)
    expect([first.total, first.columns.device_id, first.groups]).toEqual([2, ['a1', 'a2'], ['a', 'a/b']])
    const by = { by: { kind: 'user', id: 'usr_1' } } as const
    const move = (id: string, group: string) =>
      engine.submit(id as DeviceId, { kind: 'edit', replace: false, group }, by)
    await move('a2', 'c')
    await move('c1', 'd')
    clock.at += SECOND_MS
    const { body } = await request(`GET /api/v1/fleet/index?since=${first.cursor}`, { token })
    expect([body.total, body.columns.device_id, body.removed]).toEqual([1, [], ['a2']])
    const everything = await get('index')
    expect(everything.body.total).toBe(4)
    // The cursor of a user with other groups is invalid here.
    const foreign = await get(`index?since=${first.cursor}`)
    expect([foreign.status, foreign.body.code]).toEqual([410, 'CURSOR_EXPIRED'])
  })

  test('since returns devices that changed and those that were added', async () => {
    const { get, engine, device } = await openFleet()
    const first = (await get('index')).body
    expect((await get(`index?since=${first.cursor}`)).body).toMatchObject({
      total: 4,
      columns: { device_id: [] },
      removed: [],
    })
    await device('new', { group: 'a' })
    await engine.submit(
      'a1' as DeviceId,
      { kind: 'edit', replace: false, name: 'renamed' },
      { by: { kind: 'user', id: 'usr_1' } },
    )
    const { body } = await get(`index?since=${first.cursor}`)
    expect(body.columns.device_id.toSorted()).toEqual(['a1', 'new'])
    expect(rowOf(body, 'a1')?.name).toBe('renamed')
    const before = first.columns.rev[first.columns.device_id.indexOf('a1')]
    expect(body.columns.rev[body.columns.device_id.indexOf('a1')]).toBeGreaterThan(before)
    for (const wrong of ['x', `${'0'.repeat(16)}-1`, `${first.cursor}zzz`])
      expect((await get(`index?since=${wrong}`)).status).toBe(410)
  })

  test('an unchanged index is not sent again, and an index may be compressed', async () => {
    const { get } = await openFleet()
    const first = await get('index')
    const etag = String(first.headers['etag'])
    const again = await get('index', { 'if-none-match': etag })
    expect([again.status, again.text]).toEqual([304, ''])
    const packed = await get('index', { 'accept-encoding': 'br, gzip' })
    expect(packed.headers['content-encoding']).toBe('gzip')
    expect(packed.text).toBe(first.text)
    expect(
      (await get('index', { 'accept-encoding': 'gzip;q=0' })).headers['content-encoding'],
    ).toBeUndefined()
  })

  test('an index without names, and the names alone, are two parts of the whole one', async () => {
    const { request, token } = await openFleet()
    // Requested within the same second, so that all three show the same moment.
    const [whole, without, only] = await Promise.all(
      ['', '?names=without', '?names=only'].map(async (query) => {
        const { body } = await request(`GET /api/v1/fleet/index${query}`, { token })
        return body as FleetIndex
      }),
    )
    expect(without).toEqual({ ...whole, columns: { ...whole?.columns, name: [] } })
    const { device_id, name, rev } = whole?.columns ?? {}
    expect(name).toHaveLength(4)
    expect(only?.columns).toMatchObject({ device_id, name, rev, status: [], tags: [], last_seen_ms: [] })
    expect((await request('GET /api/v1/fleet/index?names=none', { token })).status).toBe(422)
  })

  test('shards are asked at most once a second, whoever asks', async () => {
    const { engine, request, login, token } = await openFleet()
    const { token: other } = await login('viewer')
    const bodies = await Promise.all(
      [token, other, token].map((bearer) => request('GET /api/v1/fleet/index', { token: bearer })),
    )
    expect(new Set(bodies.map(({ text }) => text)).size).toBe(1)
    await engine.submit(
      'a1' as DeviceId,
      { kind: 'edit', replace: false, name: 'renamed' },
      { by: { kind: 'user', id: 'usr_1' } },
    )
    expect((await request('GET /api/v1/fleet/index', { token })).text).toBe(bodies[0]?.text)
  })
})

describe('the summary of the fleet', () => {
  test('devices are counted by what is asked for, most first', async () => {
    const { get } = await openFleet()
    const keys = async (query: string) => {
      const { body } = await get(`summary?${query}`)
      return body.data.map(({ key, total }: { key: string; total: number }) => [key, total])
    }
    expect(await keys('')).toEqual([['provisioning', 4]])
    expect(await keys('by=group')).toEqual([
      [null, 1],
      ['a', 1],
      ['a/b', 1],
      ['c', 1],
    ])
    expect(await keys('by=group&depth=1&group=a')).toEqual([['a', 2]])
    expect(await keys('by=type')).toEqual([
      ['mqtt_device', 3],
      ['gateway', 1],
    ])
    expect(await keys('by=tag&group=a')).toEqual([
      [null, 1],
      ['x', 1],
      ['y', 1],
    ])
    expect(await keys('by=firmware')).toEqual([[null, 4]])
  })

  test('a user limited to groups counts only devices in these', async () => {
    const { login, readAs } = await openFleet()
    const { token } = await login('viewer', { groups: ['c'] })
    expect(await readAs(token, 'summary')).toMatchObject({
      total: 1,
      data: [{ key: 'provisioning', total: 1, by_status: { provisioning: 1 } }],
    })
  })
})
