// The typed client against the real HTTP layer, and against servers that misbehave on purpose.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { NOW, openHarness } from '../api/testing/rest.ts'
import { type ClientOptions, ConnectionError, createClient, RefusalError } from './client.ts'
import { Micros } from './ids.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

async function serve() {
  const harness = openHarness()
  const baseUrl = await harness.app.listen({ port: 0, host: '127.0.0.1' })
  closing.push(() => harness.app.close())
  const { token } = await harness.login('admin')
  return { ...harness, baseUrl, token, fleet: createClient({ baseUrl, token }) }
}

type Script = (request: IncomingMessage, response: ServerResponse, call: number) => void

/** A scripted server, a client that does not really pause, and a record of requests and pauses. */
async function scripted(script: Script, options: Partial<ClientOptions> = {}) {
  const sent: IncomingMessage[] = []
  const pausesMs: number[] = []
  const server = createServer((request, response) => {
    request.resume()
    sent.push(request)
    script(request, response, sent.length)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  // The address of a server that listens on TCP is an object.
  const { port } = server.address() as AddressInfo
  const wait = async (ms: number) => void pausesMs.push(ms)
  const fleet = createClient({ baseUrl: `http://127.0.0.1:${port}/`, token: 't', wait, ...options })
  return { fleet, sent, pausesMs, server, port }
}

function refuse(response: ServerResponse, status: number, code: string, headers: object = {}) {
  response.writeHead(status, { 'content-type': 'application/problem+json', ...headers })
  const problem = { type: '/problems/x', title: 'No', status, code, instance: '/', request_id: 'req_1' }
  response.end(JSON.stringify(problem))
}

function accept(response: ServerResponse, body: unknown = {}) {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(body))
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => expect.fail('it succeeded'),
    (error: unknown) => error,
  )
}

test('a call for bytes returns them unchanged', async () => {
  const { fleet } = await serve()
  const image = Uint8Array.from({ length: 256 }, (_, i) => i)
  const body = new FormData()
  body.set('version', '1.0.0')
  body.set('device_type', 'simulator')
  body.set('file', new Blob([image]), 'image.bin')
  const { firmware_id } = await fleet.uploadFirmware({ body })
  const file = await fleet.getFirmwareFile({ firmware_id })
  expect(new Uint8Array(await file.arrayBuffer())).toEqual(image)
  const failure = await failureOf(fleet.getFirmwareFile({ firmware_id: 'fw_none' }))
  expect(failure).toMatchObject({ code: 'NOT_FOUND' })
})

test('a call takes path, query and body, and returns the typed answer', async () => {
  const { fleet } = await serve()
  const registered = await fleet.registerDevice({
    body: { device_id: 'r1', name: 'One', type: 'mqtt_device', group: 'w/a', tags: ['x', 'y'] },
  })
  const token: string = registered.access_token
  expect(token).toMatch(/^ey/)
  await fleet.registerDevice({ body: { device_id: 'r2', name: 'Two', type: 'mqtt_device', tags: ['x'] } })
  const both = await fleet.listDevices({ query: { tag: ['x', 'y'], group: 'w', group_exact: false } })
  expect(both.data.map(({ device_id }) => device_id)).toEqual(['r1'])
  const device = await fleet.editDevice({
    device_id: 'r1',
    body: { name: 'Uno' },
    ifMatch: registered.etag,
  })
  expect(device.name).toBe('Uno')
  const figures: string = await fleet.metrics()
  expect(figures).toContain('# TYPE fleet_')
  const nothing: undefined = await fleet.logout()
  expect(nothing).toBeUndefined()
})

test('a refused call fails with code, detail, errors and request id', async () => {
  const { fleet } = await serve()
  const unknown = await failureOf(fleet.getDevice({ device_id: 'a/b' }))
  expect(unknown).toBeInstanceOf(RefusalError)
  expect(unknown).toMatchObject({ code: 'NOT_FOUND', status: 404, detail: 'no such device' })
  expect(unknown).toMatchObject({ requestId: expect.stringMatching(/^req_/) })
  const invalid = await failureOf(fleet.listDevices({ query: { per_page: 1000 } }))
  expect(invalid).toMatchObject({
    code: 'VALIDATION_FAILED',
    problem: { errors: [expect.objectContaining({ path: '/per_page' })] },
  })
})

test('a call with a version or an ETag changes only that state', async () => {
  const { fleet, device } = await serve()
  await device('r1')
  const call = { device_id: 'r1', body: { speed: 1 } }
  expect(await fleet.setDesiredState({ ...call, ifMatch: 0 })).toMatchObject({ version: 1 })
  const stale = await failureOf(fleet.setDesiredState({ ...call, body: { speed: 2 }, ifMatch: 0 }))
  expect(stale).toMatchObject({ code: 'DEVICE_SHADOW_CONFLICT', problem: { expected: 1, got: 0 } })
})

test.each(['', '.', '..'])('the id "%s" cannot change the path of a call', async (id) => {
  const { fleet, sent } = await scripted((_, response) => accept(response))
  expect(await failureOf(fleet.getDevice({ device_id: id }))).toBeInstanceOf(TypeError)
  expect(sent).toEqual([])
})

test('a body that is not JSON is sent unchanged', async () => {
  const { fleet } = await serve()
  const result = await fleet.bulkRegisterDevices({
    body: 'device_id,name,type\nb1,"One, two",mqtt_device\nb 2,Two,mqtt_device\n',
    contentType: 'text/csv',
    query: { dry_run: true },
  })
  expect(result).toMatchObject({ dry_run: true, total: 2, valid: 1, failed: 1 })
})

test('an answer of text may be empty', async () => {
  const { fleet } = await scripted((_, response) => response.end())
  expect(await fleet.exportDevices()).toBe('')
})

test('required arguments cannot be left out', () => {
  const fleet = createClient({ baseUrl: 'http://localhost' })
  // Only compiled, never called.
  const wrong = () => [
    // @ts-expect-error a history is of a metric
    fleet.getTelemetryHistory({ device_id: 'r' }),
    // @ts-expect-error the query is the operation's own
    fleet.listDevices({ query: { colour: 'red' } }),
    // @ts-expect-error one device is no list
    fleet.pages.getDevice,
  ]
  expect(wrong).toBeTypeOf('function')
})

test('pages by number follow each other with the filter of the first', async () => {
  const { fleet, device } = await serve()
  for (const id of ['a', 'b', 'c', 'd', 'e']) await device(id, { group: 'w' })
  await device('other')
  const ids: string[][] = []
  for await (const { data } of fleet.pages.listDevices({
    query: { group: 'w', per_page: 2, sort: 'name' },
  }))
    ids.push(data.map(({ device_id }) => device_id))
  expect(ids).toEqual([['a', 'b'], ['c', 'd'], ['e']])
})

test('pages by cursor follow each other', async () => {
  const { fleet, device, engine } = await serve()
  const deviceId = await device('r1')
  for (let n = 0; n < 5; n++)
    await engine.remember({
      deviceId,
      kind: 'log',
      at: Micros((NOW - n) * 1000),
      version: 9 - n,
      body: { level: 'info', message: `${n}` },
    })
  const lines: string[] = []
  for await (const { data } of fleet.pages.listDeviceLogs({ device_id: 'r1', query: { limit: 2 } }))
    lines.push(...data.map(({ message }) => message))
  expect(lines).toEqual(['0', '1', '2', '3', '4'])
})

describe('a login', () => {
  const account = { email: 'me@example.com', password: 'correct horse battery' }

  async function withAccount() {
    const served = await serve()
    await served.fleet.register({ body: { ...account, name: 'Me', role: 'admin' } })
    const count = (path: string) => served.done.filter(({ route }) => route === `/api/v1/auth/${path}`).length
    return { ...served, count }
  }

  test('the client logs in when it first needs to, and reports the session', async () => {
    const { baseUrl, count } = await withAccount()
    const sessions: unknown[] = []
    const fleet = createClient({
      baseUrl,
      credentials: account,
      onSession: (session) => sessions.push(session),
    })
    await fleet.livez()
    expect(count('login')).toBe(0)
    await Promise.all([fleet.me(), fleet.me(), fleet.listDevices()])
    expect(count('login')).toBe(1)
    expect(sessions).toEqual([{ access_token: expect.any(String), refresh_token: expect.any(String) }])
  })

  test('an expired access token is renewed once for all calls that wait', async () => {
    const { baseUrl, clock, count, fleet: anyone } = await withAccount()
    const session = await anyone.login({ body: account })
    const fleet = createClient({ baseUrl, session })
    clock.at += 2 * 3_600_000
    const people = await Promise.all(Array.from({ length: 5 }, () => fleet.me()))
    expect(people.map(({ email }) => email)).toEqual(Array(5).fill('me@example.com'))
    expect(count('refresh')).toBe(1)
    expect(count('login')).toBe(1)
  })

  test('a session that ended is replaced by a login with credentials, and without them its end is reported', async () => {
    const { baseUrl, clock, count, fleet: anyone } = await withAccount()
    const session = await anyone.login({ body: account })
    clock.at += 40 * 86_400_000
    expect(await failureOf(createClient({ baseUrl, session }).me())).toMatchObject({ code: 'TOKEN_EXPIRED' })
    expect(await createClient({ baseUrl, session, credentials: account }).me()).toMatchObject({ name: 'Me' })
    expect(count('login')).toBe(2)
  })

  test('a login with a wrong password is tried once', async () => {
    const { baseUrl, count } = await withAccount()
    const fleet = createClient({ baseUrl, credentials: { ...account, password: 'wrong horse' } })
    expect(await failureOf(fleet.me())).toMatchObject({ code: 'INVALID_CREDENTIALS' })
    expect(count('login')).toBe(1)
  })
})

describe('a retry', () => {
  const busyTwice: Script = (_, response, call) =>
    call > 2 ? accept(response) : refuse(response, 503, 'DEPENDENCY_UNAVAILABLE', { 'retry-after': '7' })

  test('a call is repeated after the pause that the service asks for', async () => {
    const { fleet, sent, pausesMs } = await scripted(busyTwice)
    await fleet.me()
    expect([sent.length, pausesMs]).toEqual([3, [7000, 7000]])
  })

  test('a call is repeated after growing pauses, up to a number of tries', async () => {
    const { fleet, pausesMs } = await scripted((_, response) => refuse(response, 429, 'RATE_LIMIT_EXCEEDED'))
    expect(await failureOf(fleet.me())).toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' })
    expect(pausesMs).toHaveLength(3)
    for (const [i, ms] of pausesMs.entries()) {
      expect(ms).toBeGreaterThanOrEqual(125 * 2 ** i)
      expect(ms).toBeLessThanOrEqual(250 * 2 ** i)
    }
  })

  test('a POST is repeated only with an idempotency key', async () => {
    const { fleet, sent } = await scripted(busyTwice)
    const call = { device_id: 'r', body: { command: 'stop' } }
    expect(await failureOf(fleet.sendCommand(call))).toMatchObject({ retryAfterMs: 7000 })
    expect(sent).toHaveLength(1)
    await fleet.sendCommand({ ...call, idempotencyKey: 'k1' })
    expect(sent.slice(1).map(({ headers }) => headers['idempotency-key'])).toEqual(['k1', 'k1'])
  })

  test('a call is not repeated if that would not help, or only after a long pause', async () => {
    const late = await scripted((_, response) =>
      refuse(response, 429, 'RATE_LIMIT_EXCEEDED', { 'retry-after': '3600' }),
    )
    expect(await failureOf(late.fleet.me())).toMatchObject({ retryAfterMs: 3_600_000 })
    const refused = await scripted((_, response) => refuse(response, 409, 'DEVICE_DECOMMISSIONED'))
    await failureOf(refused.fleet.setDesiredState({ device_id: 'r', body: {} }))
    expect([late.sent.length, refused.sent.length]).toEqual([1, 1])
  })

  test('a call is repeated when the connection breaks, and finally fails with the fault', async () => {
    const broken = await scripted((request, response, call) =>
      call === 1 ? request.socket.destroy() : accept(response),
    )
    await broken.fleet.me()
    expect(broken.sent).toHaveLength(2)
    broken.server.closeAllConnections()
    await new Promise((resolve) => broken.server.close(resolve))
    const error = await failureOf(broken.fleet.me())
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error).toMatchObject({
      fault: 'unreachable',
      message: `127.0.0.1:${broken.port} cannot be reached: ECONNREFUSED`,
    })
    expect(broken.pausesMs).toHaveLength(4)
  })
})

test('a call without an answer fails after its timeout', async () => {
  const { fleet, pausesMs } = await scripted(() => undefined, { timeoutMs: 50, triesMax: 2 })
  expect(await failureOf(fleet.me())).toMatchObject({ name: 'ConnectionError', fault: 'timeout' })
  // On a busy machine the request may not even have been sent by then.
  expect(pausesMs).toHaveLength(1)
})

test('an upload takes as long as it takes, whatever the timeout of other calls is', async () => {
  const held: ServerResponse[] = []
  const hold = (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === 'POST') held.push(response)
  }
  const { fleet } = await scripted(hold, { timeoutMs: 50, triesMax: 1 })
  const uploading = fleet.uploadFirmware({ body: new FormData() })
  while (held.length === 0) await failureOf(fleet.me())
  expect(await failureOf(fleet.me())).toMatchObject({ fault: 'timeout' })
  for (const response of held) {
    response.statusCode = 201
    accept(response, { firmware_id: 'fw_1' })
  }
  expect(await uploading).toMatchObject({ firmware_id: 'fw_1' })
})

test('an aborted call ends with the caller’s reason', async () => {
  const caller = new AbortController()
  const { fleet, sent } = await scripted(() => caller.abort(new Error('enough')))
  expect(await failureOf(fleet.me({ signal: caller.signal }))).toMatchObject({ message: 'enough' })
  expect(await failureOf(fleet.me({ signal: caller.signal }))).toMatchObject({ message: 'enough' })
  expect(sent).toHaveLength(1)
})

test('an answer that is not the service’s does not count as a refusal', async () => {
  const { fleet } = await scripted((_, response) => response.writeHead(404).end('<html>'))
  expect(await failureOf(fleet.me())).toMatchObject({ fault: 'stranger', status: 404 })
})

test('an answer that is not JSON does not count as an answer', async () => {
  const { fleet } = await scripted((_, response) => response.end('<html>'))
  expect(await failureOf(fleet.me())).toMatchObject({ fault: 'stranger' })
})
