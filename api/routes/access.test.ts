// Which role may call which route. A route without a row here fails.
import { beforeAll, describe, expect, test } from 'vitest'
import { Millis } from '../../schemas/ids.ts'
import { openHarness } from '../testing/rest.ts'
import { FLOOR_PLAN, fill, RULE } from './testing/access-world.ts'
import { openObjects } from './testing/open-objects.ts'

type Row = readonly [admin: number, operator: number, outside: number, viewer: number]
const OPEN: Row = [200, 200, 200, 200]
/** Statuses of a valid request about the device `r` of group `a/b`. The outsider is an operator of `c`. */
const TABLE: Readonly<Record<string, Row>> = {
  register: [201, 201, 201, 201],
  login: [401, 401, 401, 401],
  refresh: [401, 401, 401, 401],
  logout: [204, 204, 204, 204],
  createBrowserSession: [403, 403, 403, 403], // The requests do not come from a page of the service, see sessions.test.ts.
  refreshBrowserSession: [403, 403, 403, 403],
  deleteBrowserSession: [403, 403, 403, 403],
  listSessions: OPEN,
  endSession: [404, 404, 404, 404],
  me: OPEN,
  editMe: OPEN,
  listPublicKeys: OPEN,
  listUsers: [200, 403, 403, 403],
  getUser: [200, 403, 403, 403],
  editUser: [200, 403, 403, 403],
  deleteUser: [204, 403, 403, 403],
  listViews: OPEN,
  createView: [201, 201, 201, 201],
  getView: [404, 404, 404, 404],
  editView: [404, 404, 404, 404],
  deleteView: [404, 404, 404, 404],
  getPreferences: OPEN,
  putPreferences: OPEN,
  createApiKey: [201, 403, 403, 403],
  listApiKeys: [200, 403, 403, 403],
  getApiKey: [200, 403, 403, 403],
  deleteApiKey: [204, 403, 403, 403],
  createProvisioningKey: [201, 403, 403, 403],
  listProvisioningKeys: [200, 403, 403, 403],
  getProvisioningKey: [200, 403, 403, 403],
  deleteProvisioningKey: [204, 403, 403, 403],
  approveProvisioning: [200, 403, 403, 403],
  rejectProvisioning: [204, 403, 403, 403],
  // Only a device has the provisioning key that this route needs.
  provisionDevice: [401, 401, 401, 401],
  issueDeviceToken: [200, 200, 404, 403],
  // Only a device has the token that this route needs.
  renewDeviceToken: [401, 401, 401, 401],
  revokeDeviceTokens: [200, 200, 404, 403],
  issueSocketTicket: OPEN,
  issueDownloadTicket: OPEN,
  listDevices: OPEN,
  getFleetIndex: OPEN,
  getFleetSummary: OPEN,
  getFleetTrend: OPEN,
  getFloorPlan: [204, 204, 204, 204],
  putFloorPlan: [204, 204, 403, 403],
  deleteFloorPlan: [204, 204, 403, 403],
  getLatestOfMany: OPEN,
  registerDevice: [201, 403, 403, 403],
  bulkRegisterDevices: [200, 403, 403, 403],
  bulkEditDevices: [200, 403, 403, 403],
  exportDevices: OPEN,
  getDevice: [200, 200, 404, 200],
  replaceDevice: [200, 403, 403, 403],
  editDevice: [200, 403, 403, 403],
  decommissionDevice: [200, 403, 403, 403],
  listFleetLogs: OPEN,
  listFleetEvents: OPEN,
  listDeviceLogs: [200, 200, 404, 200],
  listDeviceEvents: [200, 200, 404, 200],
  getTelemetry: [200, 200, 404, 200],
  getTelemetryHistory: [200, 200, 404, 200],
  listMetrics: [200, 200, 404, 200],
  getFleetTelemetry: OPEN,
  listDeviceTypes: OPEN,
  getShadow: [200, 200, 404, 200],
  getShadowDelta: [200, 200, 404, 200],
  getShadowHistory: [200, 200, 404, 200],
  setDesiredState: [200, 200, 404, 403],
  revertShadow: [200, 200, 404, 403],
  uploadFirmware: [400, 403, 403, 403],
  listFirmware: [200, 200, 200, 403],
  getFirmware: [404, 404, 404, 403],
  getFirmwareFile: [404, 404, 404, 403],
  editFirmware: [404, 403, 403, 403],
  deleteFirmware: [404, 403, 403, 403],
  listOtaKeys: OPEN,
  listFleetCommands: [200, 200, 200, 403],
  sendCommand: [202, 202, 404, 403],
  listCommands: [200, 200, 404, 403],
  getCommand: [200, 200, 404, 403],
  cancelCommand: [200, 200, 404, 403],
  broadcastCommand: [202, 202, 404, 403],
  getBroadcast: [200, 200, 404, 403],
  listBroadcasts: [200, 200, 200, 403],
  listBroadcastDevices: [200, 200, 404, 403],
  cancelBroadcast: [200, 200, 404, 403],
  createDeployment: [201, 201, 404, 403],
  listDeployments: [200, 200, 200, 403],
  getDeployment: [200, 200, 404, 403],
  listDeploymentDevices: [200, 200, 404, 403],
  pauseDeployment: [200, 200, 404, 403],
  resumeDeployment: [409, 409, 404, 403],
  approveDeployment: [409, 409, 404, 403],
  cancelDeployment: [200, 200, 404, 403],
  retryDeploymentDevice: [409, 409, 404, 403],
  cancelDeploymentDevice: [200, 200, 404, 403],
  getDeviceFirmware: [200, 200, 404, 403],
  unblockFirmware: [204, 403, 403, 403],
  rollBackDevice: [409, 403, 403, 403],
  listFirmwareVersions: OPEN,
  listChannels: OPEN,
  createChannel: [201, 403, 403, 403],
  getChannel: OPEN,
  editChannel: [200, 403, 403, 403],
  deleteChannel: [204, 403, 403, 403],
  testChannel: [200, 403, 403, 403],
  rotateChannelSecret: [200, 403, 403, 403],
  listDeliveries: [200, 403, 403, 403],
  redeliver: [202, 403, 403, 403],
  listDeadLetters: [200, 403, 403, 403],
  summarizeDeadLetters: [200, 403, 403, 403],
  replayDeadLetter: [404, 403, 403, 403],
  discardDeadLetter: [404, 403, 403, 403],
  replayDeadLetters: [200, 403, 403, 403],
  discardDeadLetters: [200, 403, 403, 403],
  listAlerts: OPEN,
  getAlertSummary: OPEN,
  // No such alert exists. Access to an alert of a device depends on the device.
  getAlert: [404, 404, 404, 404],
  ackAlert: [404, 404, 404, 403],
  unackAlert: [404, 404, 404, 403],
  resolveAlert: [404, 404, 404, 403],
  assignAlert: [404, 404, 404, 403],
  snoozeAlert: [404, 404, 404, 403],
  unsnoozeAlert: [404, 404, 404, 403],
  bulkAlerts: [200, 200, 200, 403],
  commentAlert: [404, 404, 404, 403],
  listAlertRules: OPEN,
  createAlertRule: [201, 201, 404, 403],
  getAlertRule: [200, 200, 404, 200],
  replaceAlertRule: [200, 200, 404, 403],
  editAlertRule: [200, 200, 404, 403],
  deleteAlertRule: [204, 204, 404, 403],
  testAlertRule: [422, 422, 422, 403],
  listSilences: OPEN,
  createSilence: [201, 201, 404, 403],
  getSilence: [200, 200, 404, 200],
  editSilence: [200, 200, 404, 403],
  deleteSilence: [204, 204, 404, 403],
  listAudit: [200, 403, 403, 403],
  startRepair: [202, 403, 403, 403],
  getRepair: [200, 403, 403, 403],
  getSystem: [200, 403, 403, 403],
  livez: OPEN,
  healthz: OPEN,
  readyz: OPEN,
  metrics: OPEN,
  openapi: OPEN,
  asyncapi: OPEN,
  docsAsync: OPEN,
  docs: OPEN,
  listProblems: OPEN,
  getProblem: OPEN,
}
const BODIES: Readonly<Record<string, object>> = {
  register: { email: 'new@example.com', password: 'correct horse', name: 'x' },
  login: { email: 'nobody@example.com', password: 'x' },
  refresh: { refresh_token: 'x' },
  createBrowserSession: { email: 'nobody@example.com', password: 'x' },
  refreshBrowserSession: {},
  issueDeviceToken: { device_id: 'r' },
  renewDeviceToken: { mqtt_token: 'x' },
  replayDeadLetters: {},
  discardDeadLetters: {},
  issueDownloadTicket: { path: '/api/v1/devices/export?format=csv' },
  createView: { name: 'x', path: '/devices' },
  editView: { name: 'x' },
  putPreferences: { theme: 'dark' },
  editMe: { name: 'x' },
  editUser: { name: 'x' },
  createApiKey: { name: 'x', role: 'viewer' },
  createProvisioningKey: { type: 'mqtt_device', limit: 1 },
  provisionDevice: { key: 'x', device_id: 'r' },
  registerDevice: { name: 'x', type: 'simulator' },
  bulkRegisterDevices: { name: 'x', type: 'simulator' },
  bulkEditDevices: { device_ids: ['r'], patch: { tags_add: ['x'] } },
  replaceDevice: { name: 'x', group: 'a/b' },
  editDevice: { name: 'x' },
  uploadFirmware: {},
  editFirmware: { status: 'deprecated' },
  putFloorPlan: FLOOR_PLAN,
  setDesiredState: { a: 1 },
  revertShadow: { to_version: 0 },
  getLatestOfMany: { filter: {}, metrics: ['m'] },
  sendCommand: { command: 'go' },
  broadcastCommand: { group: 'a', command: 'go' },
  createDeployment: { firmware_version: '2.0', target: { type: 'device', value: 'r' } },
  createChannel: { type: 'email', to: ['ops@example.com'] },
  editChannel: { name: 'x' },
  assignAlert: { user_id: null },
  snoozeAlert: { for_sec: 60 },
  bulkAlerts: { filter: {}, action: 'ack' },
  commentAlert: { text: 'x' },
  createAlertRule: RULE,
  replaceAlertRule: RULE,
  editAlertRule: { enabled: false },
  testAlertRule: { rule: RULE, from: '-1h' },
  createSilence: { matchers: { group: 'a/b' }, ends_at: '2026-03-02T00:00:00Z', comment: 'x' },
  editSilence: { comment: 'y' },
}
const IDS = {
  device_id: 'r',
  cmd_id: 'cmd_1',
  broadcast_id: 'bc_1',
  user_id: 'usr_else',
  key_id: 'key_1',
  provisioning_key_id: 'prk_1',
  waiting_id: 'r',
  channel_id: 'ch_1',
  delivery_id: 'del_alt_test_1_1_fired_0_ch_1',
  code: 'not-found',
  letter_id: 'dl_1_1_0',
  deployment_id: 'dep_1',
  firmware_id: 'fw_1',
  alert_id: 'alt_0123456789abcdef_r',
  rule_id: 'rul_1',
  silence_id: 'sil_1',
  session_id: 'fam_x',
  view_id: 'vw_x',
}
const { routes } = openHarness()
/** What all users share. A user who is limited to groups may not change it. */
const OF_ALL = new Set(['putFloorPlan', 'deleteFloorPlan'])
const NEEDS_METRIC = new Set(['getTelemetryHistory', 'getFleetTelemetry'])
function lineOf({ method, path, operationId }: (typeof routes)[number]): string {
  const one = Object.entries(IDS).reduce((text, [name, id]) => text.replace(`{${name}}`, id), path)
  return `${method} ${one}${NEEDS_METRIC.has(operationId) ? '?metric=m' : ''}`
}

/** The row that an operation's declaration implies, for comparison. */
function rowOf({ access, scope }: (typeof routes)[number], [admin, operator, outside, viewer]: Row): Row {
  const allowed = (role: 'admin' | 'operator' | 'viewer', status: number) =>
    access === 'public' || access.includes(role) ? status : 403
  const hidden = scope === 'device' ? 404 : outside
  return [
    allowed('admin', admin),
    allowed('operator', operator),
    allowed('operator', hidden),
    allowed('viewer', viewer),
  ]
}

const CALLERS = [
  'no token',
  'an expired token',
  'a viewer',
  'an operator without groups',
  'an operator of the group',
  'an operator of the group above',
  'an operator of another group',
  'an operator of a group whose name goes on',
  'an admin',
  'a device token',
  'a refresh token',
  'a deleted user',
  'a disabled user',
  'a demoted admin',
] as const

/** A harness with the device, and the caller's token. */
async function openFor(caller: (typeof CALLERS)[number]) {
  const harness = openHarness()
  const { login, device, move, engine, tokens, clock, request, repairs } = harness
  move({ state: 'serving' })
  const deviceId = await device('r', { group: 'a/b' })
  await fill(engine, deviceId)
  await repairs.start({})
  const operator = async (...groups: string[]) => (await login('operator', { groups })).token
  const bearer: Readonly<Record<(typeof CALLERS)[number], () => Promise<string | undefined>>> = {
    'no token': async () => undefined,
    'a viewer': async () => (await login('viewer')).token,
    'an operator without groups': () => operator(),
    'an operator of the group': () => operator('x', 'a/b'),
    'an operator of the group above': () => operator('a'),
    'an operator of another group': () => operator('c'),
    'an operator of a group whose name goes on': () => operator('a/bb', 'a/b/c'),
    'an admin': async () => (await login('admin')).token,
    'a device token': async () =>
      (await tokens.issueDevice({ deviceId, validFrom: Millis(0), ttlSec: 9 * 3600 })).token,
    async 'an expired token'() {
      const { token } = await login('admin')
      clock.at += 3_600_000
      return token
    },
    async 'a refresh token'() {
      const { user } = await login('admin')
      const body = { email: user.email, password: 'correct horse' }
      return (await request('POST /api/v1/auth/login', { body })).body.refresh_token
    },
    async 'a deleted user'() {
      const { user, token } = await login('admin')
      engine.users.forget(user.id)
      return token
    },
    async 'a disabled user'() {
      const { user, token } = await login('admin')
      await engine.users.put({ ...user, disabled: true })
      return token
    },
    async 'a demoted admin'() {
      const { user, token } = await login('admin')
      await engine.users.put({ ...user, role: 'viewer' })
      return token
    },
  }
  return { ...harness, token: await bearer[caller](), people: engine.users.list() }
}

function expected(caller: (typeof CALLERS)[number], route: (typeof routes)[number], row: Row): number {
  const [admin, operator, outside, viewer] = row
  const inside = OF_ALL.has(route.operationId) ? outside : operator
  const stranger = route.access === 'public' ? admin : 401
  const statuses: Readonly<Record<(typeof CALLERS)[number], number>> = {
    'no token': stranger,
    'an expired token': stranger,
    'a viewer': viewer,
    'an operator without groups': operator,
    'an operator of the group': inside,
    'an operator of the group above': inside,
    'an operator of another group': outside,
    // The broadcast goes to a group above theirs, which means their part of it. There is no device in that.
    'an operator of a group whose name goes on': route.operationId === 'broadcastCommand' ? 422 : outside,
    'an admin': admin,
    'a device token': stranger,
    'a refresh token': stranger,
    'a deleted user': stranger,
    'a disabled user': stranger,
    'a demoted admin': viewer,
  }
  return statuses[caller]
}

test('every route has a row, and every row has a route', () => {
  expect(Object.keys(TABLE).sort()).toEqual(routes.map(({ operationId }) => operationId).sort())
})

test('a scope by device needs the device in the path', () => {
  const bound = routes.filter(({ scope }) => scope === 'device').map(({ path }) => path)
  expect(bound.filter((path) => !path.includes('{device_id}'))).toEqual([])
  const loose = routes.filter(({ scope, path }) => scope !== 'device' && path.includes('{device_id}'))
  expect(loose.map(({ path }) => path)).toEqual([])
})

test('every operation refuses unknown query parameters', () => {
  const open = routes.filter(({ path, query }) => path.startsWith('/api/') && query !== undefined)
  const found = open.filter(
    ({ query }) => (query as { additionalProperties?: unknown }).additionalProperties !== false,
  )
  expect(found.map(({ operationId }) => operationId)).toEqual([])
})

test('every operation refuses unknown fields of its body, but where clients send more on purpose', () => {
  const open = routes.flatMap(({ operationId, body }) =>
    openObjects(body).map((path) => `${operationId}${path}`),
  )
  expect(open).toEqual(['login', 'refresh', 'uploadFirmware'])
})

test.each(routes.map((route) => [route.operationId, route] as const))(
  '%s declares the access of the table',
  (name, route) => {
    const row = TABLE[name] ?? expect.fail('no row')
    expect(rowOf(route, row)).toEqual(row)
  },
)

describe.each(CALLERS)('%s', (caller) => {
  let open: Awaited<ReturnType<typeof openFor>>
  beforeAll(async () => {
    open = await openFor(caller)
  })

  test.each(routes.map((route) => [route.operationId, route] as const))('%s', async (name, route) => {
    const row = TABLE[name] ?? expect.fail('no row')
    const { request, token, people, engine, device, replaceEngine } = open
    // An earlier route may have changed the device.
    replaceEngine()
    for (const user of people) await engine.users.put(user)
    await fill(engine, await device('r', { group: 'a/b' }))
    const headers = route.streamsBody === true ? { 'content-type': String(route.bodyTypes?.[0]) } : {}
    const body = route.streamsBody === true ? JSON.stringify(BODIES[name]) : BODIES[name]
    const { status, text } = await request(lineOf(route), { token, headers, body })
    expect(status).toBe(expected(caller, route, row))
    const isOutside = caller.includes('another group') || caller.includes('goes on')
    if (isOutside && route.scope === 'list') expect(text).not.toMatch(/"r"|a\/b/)
  })
})
