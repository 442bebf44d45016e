// Commands from REST to a device and back, watched on /ws.
import { afterAll, expect } from 'vitest'
import { applied, passed, type Service, ServiceHarness, until } from './testing/service.ts'
import { connectDevice, publish, type Watcher, watch } from './testing/service-clients.ts'
import { type ListeningDevice, listen } from './testing/service-inbox.ts'
import { type Answer, type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

const harness = new ServiceHarness()
let service: Service
let admin: Rest
let watcher: Watcher

test.beforeAll(async ({ service: given }) => {
  service = given
  await enter()
})
afterAll(() => harness.close())

async function enter(): Promise<void> {
  admin = await service.admin()
  watcher = await watch(service, admin)
  await watcher.subscribe('c', 'commands')
}

const send = async (id: string, body: object, query = '') => await admin.post(`/commands/${id}${query}`, body)
const idOf = ({ body }: Answer) => String(body['command_id'])
const one = async (id: string, commandId: string) => (await admin.get(`/commands/${id}/${commandId}`)).body

/** Returns the statuses of a command from /ws, in order. */
const stepsOf = (commandId: string) =>
  watcher.frames.flatMap(({ event, data }) =>
    event === 'command.status' && Reflect.get(Object(data), 'command_id') === commandId
      ? [String(Reflect.get(Object(data), 'status'))]
      : [],
  )
const stepped = (commandId: string, status: string) =>
  until(`${status} on /ws`, () => stepsOf(commandId).includes(status))
const took = (device: ListeningDevice, commandId: string) =>
  until(`${device.id} is sent ${commandId}`, () =>
    device.commands().find(({ request_id }) => request_id === commandId),
  )

test('a command goes to the device, its result comes back, and each step is on /ws', async () => {
  const device = await listen(service, admin, { id: 'orders-c1' })
  const sent = await send('orders-c1', { command: 'move_to', data: { x: 1 }, timeout_sec: 60 })
  expect([sent.status, sent.body['status']]).toEqual([202, 'pending'])
  const id = idOf(sent)
  expect(await took(device, id)).toMatchObject({
    command: 'move_to',
    data: { x: 1 },
    // The timeout as it was given: when it ends is in expires_at.
    timeout_ms: 60_000,
    priority: 'normal',
    expires_at: sent.body['expires_at'],
    issued_at: sent.body['created_at'],
  })
  await stepped(id, 'delivered')
  await device.ack(id, 'in_progress', { progress: 50 })
  await stepped(id, 'acked')
  await device.ack(id, 'completed', { result: { at: [1, 2] }, executed_at: '2026-03-01T12:00:00Z' })
  await stepped(id, 'completed')
  expect(stepsOf(id)).toEqual(['pending', 'delivered', 'acked', 'completed'])
  expect(await one('orders-c1', id)).toMatchObject({
    status: 'completed',
    progress: 100,
    result: { at: [1, 2] },
    executed_at: '2026-03-01T12:00:00.000Z',
    attempts: 1,
    delivered_at: expect.any(String),
    acked_at: expect.any(String),
    completed_at: expect.any(String),
  })
  await device.end()
})

test('a caller who waits gets the result, also if the device sends telemetry meanwhile', async () => {
  const device = await listen(service, admin, { id: 'orders-c2' })
  device.client.on('message', (_, payload) => {
    const { request_id } = JSON.parse(payload.toString())
    if (typeof request_id === 'string')
      void publish(device.client, 'orders-c2', {
        request_id,
        status: 'failed',
        error: { code: 'BLOCKED', message: 'a box' },
      })
  })
  const { status, body } = await send('orders-c2', { command: 'go' }, '?wait=20')
  expect([status, body['status'], body['error']]).toEqual([
    200,
    'failed',
    { code: 'BLOCKED', message: 'a box' },
  ])
  expect((await admin.get('/telemetry/orders-c2')).body['data']).toEqual({})
  await device.end()
  const late = await send('orders-c2', { command: 'go', timeout_sec: 60 }, '?wait=1')
  expect([late.status, late.body['status']]).toEqual([202, 'pending'])
})

test('commands for a device that is away wait and are sent when it connects, the urgent one first', async () => {
  const token = await registerDevice(admin, 'orders-c3')
  const ids: string[] = []
  for (const priority of ['low', 'normal', 'critical', 'high'])
    ids.push(idOf(await send('orders-c3', { command: priority, priority, timeout_sec: 60 })))
  const device = await listen(service, admin, { id: 'orders-c3', token })
  await until('all sent', () => device.commands().length === 4)
  expect(device.commands().map(({ command }) => command)).toEqual(['critical', 'high', 'normal', 'low'])
  expect(device.inbox.find(({ body }) => body['command'] === 'critical')?.qos).toBe(2)
  for (const id of ids) await stepped(id, 'delivered')
  await device.end()
})

test('a command that expired or was cancelled before it was sent is never sent', async () => {
  const token = await registerDevice(admin, 'orders-c4')
  const expired = idOf(await send('orders-c4', { command: 'late', timeout_sec: 1 }))
  const cancelled = idOf(await send('orders-c4', { command: 'no', timeout_sec: 60 }))
  const kept = idOf(await send('orders-c4', { command: 'yes', timeout_sec: 60 }))
  const { status, body } = await admin.call('DELETE', `/commands/orders-c4/${cancelled}`)
  expect([status, body['status']]).toEqual([200, 'cancelled'])
  expect((await admin.call('DELETE', `/commands/orders-c4/${cancelled}`)).status).toBe(409)
  await stepped(expired, 'expired')
  // A persistent session in the broker must not hold them for the device either.
  const device = await listen(service, admin, { id: 'orders-c4', token }, { clean: false })
  await took(device, kept)
  await passed(500)
  expect(device.commands().map(({ command }) => command)).toEqual(['yes'])
  expect((await admin.call('DELETE', `/commands/orders-c4/${expired}`)).status).toBe(409)
  const listed = await admin.get('/commands/orders-c4?status=expired,cancelled')
  expect(listed.body['total']).toBe(2)
  await device.end()
})

test('a device is told that a command it received was cancelled', async () => {
  const device = await listen(service, admin, { id: 'orders-c5' })
  const id = idOf(await send('orders-c5', { command: 'go', timeout_sec: 60 }))
  await took(device, id)
  await stepped(id, 'delivered')
  expect((await admin.call('DELETE', `/commands/orders-c5/${id}`)).body['status']).toBe('cancelled')
  const told = await until('told', () => device.commands().find(({ command }) => command === '$cancel'))
  expect(told).toMatchObject({ data: { request_id: id } })
  await device.ack(id, 'completed')
  await until('the contradiction is kept', async () => {
    const { conflicts } = await one('orders-c5', id)
    return Array.isArray(conflicts) && conflicts.length === 1
  })
  expect((await one('orders-c5', id))['status']).toBe('cancelled')
  await device.end()
})

test('an answer to another device’s command or to an unknown one changes nothing', async () => {
  const [device, stranger] = [
    await listen(service, admin, { id: 'orders-c6' }),
    await listen(service, admin, { id: 'orders-c7' }),
  ]
  const id = idOf(await send('orders-c6', { command: 'go', timeout_sec: 60 }))
  await stepped(id, 'delivered')
  await stranger.ack(id, 'completed')
  await device.ack('cmd_none', 'completed')
  await device.say('command/ack', 'no JSON')
  await device.ack(id, 'acked')
  await stepped(id, 'acked')
  expect(stepsOf(id)).toEqual(['pending', 'delivered', 'acked'])
  expect((await admin.get('/commands/orders-c7')).body['total']).toBe(0)
  await Promise.all([device.end(), stranger.end()])
})

test('an answer that cannot be read is told at its command, which goes on', async () => {
  const device = await listen(service, admin, { id: 'orders-unread' })
  const id = idOf(await send('orders-unread', { command: 'go', timeout_sec: 600 }))
  await stepped(id, 'delivered')
  await device.ack(id, 'nonsense')
  await until('the error', async () => (await one('orders-unread', id))['error'] !== null)
  expect(await one('orders-unread', id)).toMatchObject({
    status: 'delivered',
    error: { code: 'MALFORMED_ACK', message: expect.stringContaining('status must be one of') },
  })
  await device.ack(id, 'completed')
  await stepped(id, 'completed')
  expect(await one('orders-unread', id)).toMatchObject({ status: 'completed', error: null })
  await device.end()
})

test('a command that ended long ago is still found and listed unchanged', async () => {
  const device = await listen(service, admin, { id: 'orders-h1' })
  device.client.on('message', (topic, payload) => {
    const { request_id, command } = JSON.parse(payload.toString())
    if (topic.endsWith('/command')) void device.ack(request_id, 'completed', { result: { command } })
  })
  const first = idOf(await send('orders-h1', { command: 'first', data: { a: 1 }, timeout_sec: 60 }))
  await stepped(first, 'completed')
  const fresh = await one('orders-h1', first)
  for (let i = 0; i < 20; i++) await send('orders-h1', { command: `later${i}` }, '?wait=20')
  const past = await until('it is in the history', async () => {
    const body = await one('orders-h1', first)
    return body['status'] === 'completed' ? body : false
  })
  expect({ ...past, attempts: 0 }).toEqual({ ...fresh, attempts: 0 })
  const { body } = await until('all are listed', async () => {
    const page = await admin.get('/commands/orders-h1?status=completed&per_page=7&page=3')
    return page.body['total'] === 21 ? page : false
  })
  expect(Array.from(Object(body['data'])).at(-1)).toMatchObject({ command_id: first })
  expect((await admin.get(`/commands/orders-h1/cmd_${'0'.repeat(26)}`)).status).toBe(404)
  await device.end()
})

test('a late result is accepted and marked as late', async () => {
  const device = await listen(service, admin, { id: 'orders-c8' })
  const id = idOf(await send('orders-c8', { command: 'go', timeout_sec: 1 }))
  await took(device, id)
  await stepped(id, 'expired')
  await device.ack(id, 'completed', { result: 1 })
  await stepped(id, 'completed')
  expect(await one('orders-c8', id)).toMatchObject({ status: 'completed', late: true, result: 1 })
  await device.end()
})

test('maintenance holds commands back until it ends', async () => {
  const device = await listen(service, admin, { id: 'orders-c9' })
  await publish(device.client, 'orders-c9', { n: 1 })
  await until('online', async () => (await admin.get('/devices/orders-c9')).body['status'] === 'online')
  await admin.call('PATCH', '/devices/orders-c9', { status: 'maintenance' })
  const id = idOf(await send('orders-c9', { command: 'go', timeout_sec: 60 }))
  expect(await one('orders-c9', id)).toMatchObject({ status: 'pending', held_reason: 'maintenance' })
  await passed(500)
  expect(device.commands()).toEqual([])
  await admin.call('PATCH', '/devices/orders-c9', { status: 'online' })
  await took(device, id)
  await device.end()
})

test('a broadcast reaches a group of fifty, skips devices that it must skip, and is counted', async () => {
  const ids = Array.from({ length: 50 }, (_, i) => `b${String(i).padStart(2, '0')}`)
  const about = { group: 'yard/a' }
  const connected = await Promise.all(ids.slice(0, 40).map((id) => listen(service, admin, { id, about })))
  const away = ids.slice(40, 48)
  for (const id of ids.slice(40)) await registerDevice(admin, id, about)
  await registerDevice(admin, 'elsewhere', { group: 'yard/ab' })
  for (const id of ids.slice(48)) await admin.call('DELETE', `/devices/${id}`)
  const sent = await admin.post('/commands/$broadcast', { group: 'yard', command: 'stop', timeout_sec: 60 })
  expect(sent.status).toBe(202)
  expect(sent.body).toMatchObject({ total: 51, accepted: 49, status: 'pending' })
  expect(sent.body['skipped']).toEqual(
    ids.slice(48).map((id) => ({ device_id: id, reason: 'decommissioned' })),
  )
  await Promise.all(
    connected.map(async (device) => {
      const command = await until('sent', () => device.commands()[0])
      expect(command['request_id']).toMatch(/^cmd_[0-9a-z]{26}$/)
      await device.ack(command['request_id'], 'completed')
    }),
  )
  const path = `/commands/$broadcast/${sent.body['broadcast_id']}`
  const state = await until('forty are done', async () => {
    const { body } = await admin.get(`${path}?per_page=200`)
    return Reflect.get(Object(body['counts']), 'completed') === 40 ? body : false
  })
  expect(state).toMatchObject({
    status: 'in_progress',
    counts: { completed: 40, pending: 9 },
    commands: { total: 49 },
  })
  const cancelled = await admin.call('DELETE', path)
  expect(cancelled.body).toMatchObject({ status: 'partial', counts: { completed: 40, cancelled: 9 } })
  expect(connected.every((device) => device.commands().length === 1)).toBe(true)
  expect((await admin.get(`/commands/${away[0]}`)).body).toMatchObject({
    total: 1,
    data: [{ status: 'cancelled' }],
  })
  await Promise.all(connected.map((device) => device.end()))
})

test('a command that waited at a kill is sent once after the restart, and its key still finds it', async () => {
  const token = await registerDevice(admin, 'orders-k1')
  const post = async () => {
    const response = await fetch(`${service.httpUrl}/api/v1/commands/orders-k1`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${admin.token}`,
        'idempotency-key': 'once',
      },
      body: JSON.stringify({ command: 'go', timeout_sec: 300 }),
    })
    return Object(await response.json())['command_id']
  }
  const id = await post()
  service.kill('SIGKILL')
  service = await service.again()
  await enter()
  expect(await post()).toBe(id)
  const device = await listen(service, admin, { id: 'orders-k1', token })
  await took(device, id)
  await device.ack(id, 'completed')
  await stepped(id, 'completed')
  expect(device.commands()).toHaveLength(1)
  await device.end()
})

test('no command is delivered to a device that has not subscribed to commands', async () => {
  const token = await registerDevice(admin, 'orders-d1')
  const deaf = await connectDevice(service, 'orders-d1', token)
  const id = idOf(await send('orders-d1', { command: 'go', timeout_sec: 60 }))
  await publish(deaf, 'orders-d1', { n: 1 })
  await applied(async () => expect((await admin.get('/telemetry/orders-d1')).body['data']).toEqual({ n: 1 }))
  expect((await one('orders-d1', id))['status']).toBe('pending')
  await deaf.endAsync()
  const device = await listen(service, admin, { id: 'orders-d1', token })
  await took(device, id)
  await device.end()
})

test('a device takes a thousand open commands at the rates as shipped, and the next is refused', async () => {
  const limited = await harness.start({ FLEET_DEVICE_REQUEST_RATE: '100', FLEET_USER_REQUEST_RATE: '1000' })
  const user = await limited.admin()
  await registerDevice(user, 'many')
  const one = async (n: number) => {
    for (;;) {
      const answer = await user.post('/commands/many', { command: 'go', data: { n }, timeout_sec: 3_600 })
      if (answer.body['code'] !== 'RATE_LIMIT_EXCEEDED') return answer
      await passed(Number(answer.headers.get('retry-after')) * 1000)
    }
  }
  const taken: Promise<Answer>[] = []
  for (let n = 0; n < 1_000; n++) {
    taken.push(one(n))
    if (n % 50 === 49) await Promise.all(taken)
  }
  expect((await Promise.all(taken)).every(({ status }) => status === 202)).toBe(true)
  const refused = await one(1_000)
  expect([refused.status, refused.body['code']]).toEqual([429, 'COMMAND_QUEUE_FULL'])
  expect((await user.get('/commands/many?status=pending&per_page=1')).body['total']).toBe(1_000)
})
