// Requests whose sender leaves before the answer.
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test, vi } from 'vitest'
import { Millis, UserId } from '../../schemas/ids.ts'
import { httpServers } from '../testing/http-server.ts'
import { NOW } from '../testing/rest.ts'

const openServer = httpServers()

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
  return { ask, engine, errors, port, viewer }
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
  await vi.waitFor(() => expect(recording).toHaveBeenCalled(), { timeout: 30_000 })
  socket.destroy()
  await once(socket, 'close')
  // By these answers the service has seen the end of the connection.
  for (let i = 0; i < 5; i++) await ask('GET', '/devices/r')
  release()
  for (let i = 0; i < 5; i++) expect((await ask('GET', '/devices/r'))['status']).not.toBe('decommissioned')
  expect(recording.mock.calls.flatMap(([entries]) => entries.map(({ code }) => code))).toEqual(['FORBIDDEN'])
  expect(errors).toEqual([])
})
