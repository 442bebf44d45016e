// Requests whose sender leaves before the answer, and answers that break off.
import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { realSchedule } from '../../engine/index.ts'
import { Millis, UserId } from '../../schemas/ids.ts'
import { httpServers } from '../testing/http-server.ts'
import { NOW } from '../testing/rest.ts'
import { Tunnels } from '../ws/tunnel.ts'

const openServer = httpServers()
const tunnels = new Tunnels({
  port: 1,
  secret: '',
  tunnelsMax: 0,
  lingerMs: 1_000,
  isKnownHost: () => true,
  clientOf: () => '',
  schedule: realSchedule,
  onRefused: () => undefined,
})

async function start() {
  const errors: unknown[] = []
  const ignore = () => undefined
  const logger = {
    debug: ignore,
    info: ignore,
    warn: ignore,
    error: (...line: unknown[]) => errors.push(line),
  }
  const server = await openServer({ logger })
  const { engine, http, port, tokens, clock } = server
  const admin = await server.admin()
  const id = UserId('usr_viewer')
  await engine.users.put({
    ...{
      id,
      email: 'v@example.com',
      name: 'v',
      role: 'viewer',
      groups: [],
      passwordHash: '',
      disabled: false,
    },
    ...{ createdAt: Millis(NOW), lastLoginAt: undefined, tokensValidFrom: Millis(NOW) },
  })
  const viewer = (await tokens.issueAccess({ userId: id, at: clock.now() })).token
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${admin}`, 'content-type': 'application/json' }
    const sent = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const response = await fetch(`${http.url.replace(/\/$/, '')}/api/v1${path}`, sent)
    return (await response.json()) as Record<string, unknown>
  }
  return { admin, ask, engine, errors, http, port, viewer }
}

test('a refused request is not carried out when its sender leaves before the answer', async () => {
  const { ask, engine, errors, port, viewer } = await start()
  await ask('POST', '/devices', { device_id: 'r', name: 'R', type: 'simulator' })
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const record = engine.record.bind(engine)
  const recording = vi.spyOn(engine, 'record').mockImplementation(async (entries) => {
    await held
    await record(entries)
  })
  const socket = connect(port, '127.0.0.1')
  const host = `Host: 127.0.0.1:${port}\r\nAuthorization: Bearer ${viewer}\r\n`
  socket.write(`DELETE /api/v1/devices/r HTTP/1.1\r\n${host}\r\n`)
  // The refusal is known, and its audit entry is being written.
  await vi.waitFor(() => expect(recording).toHaveBeenCalled(), { timeout: 60_000 })
  socket.destroy()
  await once(socket, 'close')
  // Once these are answered, the service has seen the end of the connection.
  for (let i = 0; i < 5; i++) await ask('GET', '/devices/r')
  release()
  for (let i = 0; i < 5; i++) expect((await ask('GET', '/devices/r'))['status']).not.toBe('decommissioned')
  expect(recording.mock.calls.flatMap(([entries]) => entries.map(({ code }) => code))).toEqual(['FORBIDDEN'])
  expect(errors).toEqual([])
})

// Some HTTP clients offer `h2c`. Node does not report to requests on such a connection that their sender has left.
const OFFER = 'Connection: Upgrade\r\nUpgrade: h2c\r\n'

test.each([
  ['its first byte', '', false],
  ['its first byte, with an offer to upgrade', OFFER, false],
  ['it begins', '', true],
  ['it begins, with an offer to upgrade', OFFER, true],
])('a reader who leaves a file before %s is no error', async (_, offer, isHeld) => {
  const { admin, ask, engine, errors, http, port } = await start()
  tunnels.attach(http.server)
  await ask('POST', '/devices', { device_id: 'r', name: 'R', type: 'simulator' })
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const file = new Readable({ read() {} })
  const exporting = vi.spyOn(engine, 'exportTelemetry').mockImplementation(async () => {
    if (isHeld) await held
    return file
  })
  const socket = connect(port, '127.0.0.1')
  const rest = `HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${admin}\r\n`
  const path = '/api/v1/telemetry/r/history?metric=a&interval=raw&format=csv'
  socket.write(`GET ${path} ${rest}${offer}\r\nGET /api/v1/devices ${rest}${offer}\r\n`)
  await vi.waitFor(() => expect(exporting).toHaveBeenCalled(), { timeout: 60_000 })
  // Once these are answered, the service has done all it can before the reader leaves, and has seen that it left.
  for (let i = 0; i < 5; i++) await ask('GET', '/devices/r')
  socket.destroy()
  for (let i = 0; i < 5; i++) await ask('GET', '/devices/r')
  release()
  await vi.waitFor(() => expect(file.destroyed).toBe(true), { timeout: 60_000 })
  for (let i = 0; i < 5; i++) await ask('GET', '/devices/r')
  expect(errors).toEqual([])
})

test('a file that breaks off after its first bytes ends the connection, and is not answered once more', async () => {
  const { admin, ask, engine, errors, http } = await start()
  await ask('POST', '/devices', { device_id: 'r', name: 'R', type: 'simulator' })
  const file = new Readable({ read() {} })
  file.push('device_id\n')
  vi.spyOn(engine, 'exportTelemetry').mockResolvedValue(file)
  const url = new URL('/api/v1/telemetry/r/history?metric=a&interval=raw&format=csv', http.url)
  const response = await fetch(url, { headers: { authorization: `Bearer ${admin}` } })
  expect(response.status).toBe(200)
  file.destroy(new Error('the database went away'))
  await expect(response.text()).rejects.toMatchObject({ message: 'terminated' })
  expect((await ask('GET', '/devices/r'))['device_id']).toBe('r')
  expect(errors).toEqual([])
})
