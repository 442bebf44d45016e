// The live log and timeline of a device on /ws, which are the same entries that REST shows afterwards.
import { once } from 'node:events'
import { afterAll, expect } from 'vitest'
import { WebSocket } from 'ws'
import { type Service, until } from './testing/service.ts'
import { type Frame, type Watcher, watch } from './testing/service-clients.ts'
import { type ListeningDevice, listen } from './testing/service-inbox.ts'
import type { Rest } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

let service: Service
let admin: Rest
let watcher: Watcher
let device: ListeningDevice

type Body = Readonly<Record<string, unknown>>

test.beforeAll(async ({ service: given }) => {
  service = given
  admin = await service.admin()
  watcher = await watch(service, admin)
  await watcher.subscribe('events', 'events', { filter: { group: 'foyer' } })
  device = await listen(service, admin, { id: 'live-1', about: { group: 'foyer/a' } })
})
afterAll(async () => {
  await device.end()
})

const told = (id: string): readonly Frame[] =>
  watcher.frames.filter((frame) => frame.type === 'event' && frame.id === id)

/** Resolves with the entries from REST, newest first, once there are that many. */
const listed = (path: string, count: number) =>
  until(path, async () => {
    const { data } = (await admin.get(path)).body as { readonly data?: readonly Body[] }
    return data !== undefined && data.length >= count && data
  })

test('log lines on /ws are those of REST, and a snapshot begins with earlier ones', async () => {
  await watcher.subscribe('logs', 'logs', { filter: { device_id: 'live-1' } })
  await device.say('log', [
    { level: 'warn', message: 'hot', fields: { t: 81 } },
    { level: 20, message: 'cooling' },
  ])
  await watcher.next('the second line', ({ id, seq }) => id === 'logs' && seq === 2)
  const lines = await listed('/devices/live-1/logs', 2)
  expect(told('logs').map(({ event, data }) => [event, data])).toEqual(
    lines.toReversed().map((line) => ['device.log', line]),
  )
  await watcher.subscribe('again', 'logs', { filter: { device_id: 'live-1' }, snapshot: true })
  const { data } = await watcher.next('the snapshot', ({ type }) => type === 'snapshot')
  expect(data).toEqual(lines.map((line) => ({ device_id: 'live-1', ...line })))
})

test('entries of the timeline on /ws are those of REST', async () => {
  await device.say('telemetry', { x: 1 })
  await admin.call('PUT', '/shadows/live-1/desired', { speed: 2 })
  const { body } = await admin.post('/commands/live-1', { command: 'go' })
  await device.next('the command', (message) => message.body['request_id'] === body['command_id'])
  await device.ack(body['command_id'], 'completed')
  const isLast = ({ id, data }: Frame) => {
    const entry = Object(data) as Body
    return id === 'events' && Object(entry['data'])['status'] === 'completed'
  }
  await watcher.next('the end of the command', isLast)
  const live = told('events')
  const entries = await listed('/devices/live-1/events', live.length)
  // Entries of one moment may be in another order.
  const sorted = (all: readonly unknown[]) => all.map((each) => JSON.stringify(each)).sort()
  expect(sorted(live.map(({ data }) => data))).toEqual(sorted(entries))
  const names = live.map(({ event }) => event)
  expect(names.slice(0, 2)).toEqual(['device.registered', 'device.status'])
  expect(new Set(names.slice(2))).toEqual(new Set(['shadow.updated', 'command.status']))
  expect(live[0]?.data).toMatchObject({
    kind: 'status',
    data: { from: null, to: 'provisioning', cause: 'register', actor: { type: 'user' } },
  })
})

test('a ticket opens one socket and no second one', async () => {
  const { status, body } = await admin.post('/auth/ws-ticket', undefined)
  expect([status, body['expires_in']]).toEqual([200, 30])
  const url = `${service.wsUrl}?ticket=${body['ticket']}`
  const first = new WebSocket(url)
  const [frame] = await once(first, 'message')
  expect(JSON.parse(String(frame))).toMatchObject({ type: 'auth_ok', user: { role: 'admin' } })
  first.close()
  const [code] = await once(new WebSocket(url), 'close')
  expect(code).toBe(4401)
})
