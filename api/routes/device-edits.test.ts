import { describe, expect, test } from 'vitest'
import { openHarness } from '../testing/rest.ts'

const DEVICES = '/api/v1/devices'

async function asAdmin(options = {}) {
  const harness = openHarness(options)
  const { token } = await harness.login('admin')
  const send = (line: string, body?: unknown, headers: Record<string, string> = {}) =>
    harness.request(line, { token, body, headers })
  return { ...harness, send, token }
}

describe('changing a device', () => {
  test('PATCH merges, and null removes a field', async () => {
    const { send } = await asAdmin()
    const metadata = { a: 1, b: { c: 2, d: 3 } }
    await send(`POST ${DEVICES}`, {
      device_id: 'r',
      name: 'x',
      type: 'simulator',
      group: 'g',
      tags: ['t'],
      metadata,
    })
    const { status, body, headers } = await send(`PATCH ${DEVICES}/r`, {
      group: null,
      metadata: { b: { c: null } },
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({ name: 'x', group: null, tags: ['t'], metadata: { a: 1, b: { d: 3 } } })
    expect(headers['etag']).toBe(`"${body.etag}"`)
  })

  test('repeated PATCH cannot grow metadata beyond its limit', async () => {
    const { send, device } = await asAdmin()
    await device('r')
    const text = 'x'.repeat(20_000)
    expect((await send(`PATCH ${DEVICES}/r`, { metadata: { a: text } })).status).toBe(200)
    const refused = await send(`PATCH ${DEVICES}/r`, { metadata: { b: text } })
    expect([refused.status, refused.body]).toMatchObject([
      413,
      { code: 'PAYLOAD_TOO_LARGE', limit: 32_768, actual: 40_015 },
    ])
    expect(Object.keys((await send(`GET ${DEVICES}/r`)).body.metadata)).toEqual(['a'])
  })

  test('PATCH accepts merge-patch+json', async () => {
    const { send, device } = await asAdmin()
    await device('r')
    const headers = { 'content-type': 'application/merge-patch+json; charset=utf-8' }
    expect((await send(`PATCH ${DEVICES}/r`, '{"name":"new"}', headers)).body.name).toBe('new')
  })

  test('PUT replaces all fields and empties those that are left out', async () => {
    const { send } = await asAdmin()
    await send(`POST ${DEVICES}`, {
      device_id: 'r',
      name: 'x',
      type: 'simulator',
      group: 'g',
      tags: ['t'],
      metadata: { a: 1 },
    })
    const { body } = await send(`PUT ${DEVICES}/r`, { name: 'y', tags: ['u', 'u'] })
    expect(body).toMatchObject({ name: 'y', group: null, tags: ['u'], metadata: {}, status: 'provisioning' })
  })

  test('PUT does not move the status and says so', async () => {
    const { send, device } = await asAdmin()
    await device('r')
    const { status, body } = await send(`PUT ${DEVICES}/r`, { name: 'y', status: 'maintenance' })
    expect([status, body.code, body.errors[0].path]).toEqual([422, 'UNKNOWN_FIELD', '/status'])
    expect((await send(`GET ${DEVICES}/r`)).body.name).toBe('r')
  })

  test.each(['PUT', 'PATCH'])('%s refuses fields that never change', async (method) => {
    const { send, device } = await asAdmin()
    await device('r')
    const { status, body } = await send(`${method} ${DEVICES}/r`, {
      name: 'y',
      type: 'gateway',
      device_id: 'r',
      access_token: 'x',
      parent_id: 'gw',
    })
    expect([status, body.code]).toEqual([422, 'IMMUTABLE_FIELD'])
    expect(body.errors.map(({ path }: { path: string }) => path).sort()).toEqual([
      '/access_token',
      '/device_id',
      '/parent_id',
      '/type',
    ])
    expect((await send(`GET ${DEVICES}/r`)).body.name).toBe('r')
  })

  test('a stale If-Match is refused with 412 and changes nothing', async () => {
    const { send, device, engine } = await asAdmin()
    const id = await device('r')
    const live = await engine.connect(id)
    const { etag } = (await send(`GET ${DEVICES}/r`)).body
    const patch = (name: string, ifMatch: string) =>
      send(`PATCH ${DEVICES}/r`, { name }, { 'if-match': ifMatch })
    // The device only sent a message, which is no reason to refuse.
    await live.publish('fleet/r/telemetry', '{"m":1}')
    expect((await patch('one', `"${etag}"`)).status).toBe(200)
    const refused = await patch('two', `"${etag}"`)
    expect([refused.status, refused.body.code]).toEqual([412, 'PRECONDITION_FAILED'])
    expect((await patch('three', '"nonsense"')).status).toBe(412)
    expect((await send(`DELETE ${DEVICES}/r`, undefined, { 'if-match': '"1-x"' })).status).toBe(412)
    expect((await patch('four', '*')).body.name).toBe('four')
    expect((await send(`GET ${DEVICES}/r`)).body).toMatchObject({ name: 'four', status: 'online' })
  })

  test('PATCH moves the status if the table allows it', async () => {
    const { send, device, engine } = await asAdmin()
    const id = await device('r')
    const refused = await send(`PATCH ${DEVICES}/r`, { status: 'offline' })
    expect([refused.status, refused.body.code]).toEqual([409, 'INVALID_STATE_TRANSITION'])
    expect(refused.body).toMatchObject({ allowed: ['decommissioned'], detail: expect.any(String) })
    // The same status is also refused if only the device can cause it.
    expect((await send(`PATCH ${DEVICES}/r`, { status: 'provisioning' })).status).toBe(409)
    expect((await send(`PATCH ${DEVICES}/r`, { status: 'asleep' })).status).toBe(422)
    await engine.connect(id)
    const moved = await send(`PATCH ${DEVICES}/r`, { status: 'maintenance', status_reason: 'new wheels' })
    expect(moved.body).toMatchObject({ status: 'maintenance', status_reason: 'new wheels' })
    expect((await send(`PATCH ${DEVICES}/r`, { status: 'maintenance' })).body).toEqual(moved.body)
  })

  test('the reason of a maintenance can be changed while it lasts', async () => {
    const { send, device, engine } = await asAdmin()
    await engine.connect(await device('r'))
    const patch = async (body: object) => (await send(`PATCH ${DEVICES}/r`, body)).body
    const { etag } = await patch({ status: 'maintenance', status_reason: 'waits for wheels' })
    const changed = await patch({ status: 'maintenance', status_reason: 'new wheels' })
    expect(changed).toMatchObject({ status: 'maintenance', status_reason: 'new wheels' })
    expect(changed.etag).not.toBe(etag)
    expect(await patch({ status_reason: 'test drive' })).toMatchObject({ status_reason: 'test drive' })
    // The reason of a status that nobody set by hand is the service's own.
    expect(await patch({ status: 'online' })).toMatchObject({ status: 'online', status_reason: null })
    expect(await patch({ status_reason: 'mine' })).toMatchObject({ status_reason: null })
  })

  test('an edit of an unknown device is 404', async () => {
    const { send } = await asAdmin()
    for (const line of [`PUT ${DEVICES}/x`, `PATCH ${DEVICES}/x`])
      expect((await send(line, { name: 'y' })).status).toBe(404)
    expect((await send(`DELETE ${DEVICES}/x`)).status).toBe(404)
  })

  test('DELETE decommissions, also repeatedly, and no other change works afterwards', async () => {
    const { send, device } = await asAdmin()
    await device('r')
    const first = await send(`DELETE ${DEVICES}/r`)
    expect([first.status, first.body.status]).toEqual([200, 'decommissioned'])
    expect((await send(`DELETE ${DEVICES}/r`)).body).toEqual(first.body)
    expect((await send(`PATCH ${DEVICES}/r`, { name: 'y' })).body.code).toBe('DEVICE_DECOMMISSIONED')
    expect((await send(`PATCH ${DEVICES}/r`, { status: 'online' })).status).toBe(409)
    const token = await send('POST /api/v1/auth/devices/token', { device_id: 'r' })
    expect([token.status, token.body.code]).toEqual([409, 'DEVICE_DECOMMISSIONED'])
    expect((await send(`POST ${DEVICES}`, { device_id: 'r', name: 'x', type: 'simulator' })).status).toBe(409)
    expect((await send(`GET ${DEVICES}/r`)).body.status).toBe('decommissioned')
  })

  test('DELETE may have a content type without a body', async () => {
    const { send, device } = await asAdmin()
    await device('r')
    expect(
      (await send(`DELETE ${DEVICES}/r`, undefined, { 'content-type': 'application/json' })).status,
    ).toBe(200)
  })
})

test.each(['', '?purge=true'])('a DELETE%s under a condition does not overtake an edit', async (query) => {
  const { send, device, engine } = await asAdmin()
  const id = await device('r')
  const condition = { 'if-match': String((await send(`GET ${DEVICES}/r`)).headers['etag']) }
  // The edit comes between the look at the device and the request to its actor.
  const view = engine.view.bind(engine)
  engine.view = async (deviceId) => {
    const seen = await view(deviceId)
    engine.view = view
    await engine.submit(
      id,
      { kind: 'edit', replace: false, name: 'in use' },
      { by: { kind: 'user', id: 'u' } },
    )
    return seen
  }
  const { status, body } = await send(`DELETE ${DEVICES}/r${query}`, undefined, condition)
  expect([status, body.code]).toEqual([412, 'PRECONDITION_FAILED'])
  expect(engine.devices.get(id)).toMatchObject({ status: 'provisioning', name: 'in use' })
})
