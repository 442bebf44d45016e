// Who may call what, for every route of the table: a route without a row here fails.
import { expect, test } from 'vitest'
import { BroadcastId, CommandId, type DeviceId, Millis } from '../../schemas/ids.ts'
import type { FakeEngine } from '../http/fake-engine.ts'
import { openHarness } from '../http/rest-harness.ts'

type Row = readonly [admin: number, operator: number, outside: number, viewer: number]
const OPEN: Row = [200, 200, 200, 200]
/** Statuses for a valid request about the device `r` of group `a/b`; the outsider is an operator of `c`. */
const TABLE: Readonly<Record<string, Row>> = {
  register: [201, 201, 201, 201],
  login: [401, 401, 401, 401],
  refresh: [401, 401, 401, 401],
  logout: [204, 204, 204, 204],
  me: OPEN,
  issueDeviceToken: [200, 200, 404, 403],
  listDevices: OPEN,
  registerDevice: [201, 403, 403, 403],
  getDevice: [200, 200, 404, 200],
  replaceDevice: [200, 403, 403, 403],
  editDevice: [200, 403, 403, 403],
  decommissionDevice: [200, 403, 403, 403],
  listDeviceLogs: [200, 200, 404, 200],
  listDeviceEvents: [200, 200, 404, 200],
  getTelemetry: [200, 200, 404, 200],
  getTelemetryHistory: [200, 200, 404, 200],
  listDeviceTypes: OPEN,
  getShadow: [200, 200, 404, 200],
  getShadowDelta: [200, 200, 404, 200],
  getShadowHistory: [200, 200, 404, 200],
  setDesiredState: [200, 200, 404, 403],
  sendCommand: [202, 202, 404, 403],
  listCommands: [200, 200, 404, 403],
  getCommand: [200, 200, 404, 403],
  cancelCommand: [200, 200, 404, 403],
  broadcastCommand: [202, 202, 422, 403],
  getBroadcast: [200, 200, 404, 403],
  cancelBroadcast: [200, 200, 404, 403],
  listDeadLetters: [200, 403, 403, 403],
  livez: OPEN,
  healthz: OPEN,
  readyz: OPEN,
  metrics: OPEN,
  openapi: OPEN,
  docs: OPEN,
}
const BODIES: Readonly<Record<string, object>> = {
  register: { email: 'new@example.com', password: 'correct horse', name: 'x' },
  login: { email: 'nobody@example.com', password: 'x' },
  refresh: { refresh_token: 'x' },
  issueDeviceToken: { device_id: 'r' },
  registerDevice: { name: 'x', type: 'simulator' },
  replaceDevice: { name: 'x', group: 'a/b' },
  editDevice: { name: 'x' },
  setDesiredState: { a: 1 },
  sendCommand: { command: 'go' },
  broadcastCommand: { group: 'a', command: 'go' },
}
const { routes } = openHarness()

function lineOf({ method, path, operationId }: (typeof routes)[number]): string {
  const one = path.replace('{device_id}', 'r').replace('{cmd_id}', 'cmd_1').replace('{broadcast_id}', 'bc_1')
  return `${method} ${one}${operationId === 'getTelemetryHistory' ? '?metric=m' : ''}`
}

/** A command and a broadcast of somebody else's. */
async function fill(engine: FakeEngine, deviceId: DeviceId): Promise<void> {
  const wish = { name: 'go' }
  await engine.submit(deviceId, { kind: 'command', id: CommandId('cmd_1'), wish }, 'usr_else')
  const broadcastId = BroadcastId('bc_1')
  await engine.broadcast({ broadcastId, group: 'a/b', command: 'go', by: 'usr_else' })
}

test('every route has a row, and every row a route', () => {
  expect(Object.keys(TABLE).sort()).toEqual(routes.map(({ operationId }) => operationId).sort())
})

test.each(routes.map((route) => [route.operationId, route] as const))('%s', async (name, route) => {
  const row = TABLE[name] ?? expect.fail('no row')
  const line = lineOf(route)
  const statusFor = async (
    role: 'admin' | 'operator' | 'viewer' | undefined,
    groups: readonly string[] = [],
  ) => {
    const { login, request, device, move, engine } = openHarness()
    move({ state: 'serving' })
    await fill(engine, await device('r', { group: 'a/b' }))
    const token = role === undefined ? undefined : (await login(role, { groups })).token
    return (await request(line, { token, body: BODIES[name] })).status
  }
  expect(await statusFor('admin')).toBe(row[0])
  expect(await statusFor('operator')).toBe(row[1])
  expect(await statusFor('operator', ['a/b'])).toBe(row[1])
  expect(await statusFor('operator', ['a'])).toBe(row[1])
  expect(await statusFor('operator', ['c'])).toBe(row[2])
  expect(await statusFor('viewer')).toBe(row[3])
  expect(await statusFor(undefined)).toBe(route.access === 'public' ? row[0] : 401)
})

test.each(
  routes.filter(({ access }) => access !== 'public').map((route) => [route.operationId, route] as const),
)('%s takes no expired, foreign, demoted or orphaned token', async (name, route) => {
  const line = lineOf(route)
  const { login, request, device, engine, tokens, clock } = openHarness()
  const deviceId = await device('r')
  const { token, user } = await login('admin')
  const issued = await tokens.issueDevice({ deviceId, validFrom: Millis(0), ttlHours: 9 })
  const status = async (bearer: string) => (await request(line, { token: bearer, body: BODIES[name] })).status
  expect(await status(issued.token)).toBe(401)
  expect(await status('rt_refresh')).toBe(401)
  await engine.users.put({ ...user, role: 'viewer' })
  if (route.access !== 'public' && !route.access.includes('viewer')) expect(await status(token)).toBe(403)
  engine.users.remove(user.id)
  expect(await status(token)).toBe(401)
  await engine.users.put(user)
  clock.at += 3_600_000
  expect(await status(token)).toBe(401)
})
