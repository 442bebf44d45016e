import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { StandingTime } from '../../engine/testing/standing-time.ts'
import { createWorkBudget } from '../rates/work-budget.ts'
import { dial } from './testing/raw-client.ts'
import { openSocketService, type SocketService, START } from './testing/socket-service.ts'

let service: SocketService

beforeEach(async () => {
  service = await openSocketService({ subscriptionsPerSocketMax: 3, socketsMax: 4, frameInBytesMax: 4_096 })
  service.fleet.addUser('ada')
  await service.fleet.addDevice('robot-1', { group: 'eu/north' })
})
afterEach(() => service.close())

describe('authentication', () => {
  test('a token in the first frame logs in', async () => {
    const client = await service.dial()
    client.send({ type: 'auth', token: 'ada:600' })
    expect(await client.next('auth_ok')).toEqual({
      type: 'auth_ok',
      user: { id: 'usr_ada', email: 'ada@example.com', name: 'ada', role: 'admin' },
      expires_at: new Date(START + 600_000).toISOString(),
    })
  })

  test('a token in the subprotocol logs in, and only the first part is answered', async () => {
    const client = await service.dial({ protocols: 'fleet.v1, bearer.ada' })
    await client.next('auth_ok')
    expect(client.handshake.toLowerCase()).toContain('sec-websocket-protocol: fleet.v1\r\n')
    expect(client.handshake).not.toContain('bearer')
  })

  test('a token in the query logs in, on both paths', async () => {
    await (await service.dial({ path: '/ws?token=ada' })).next('auth_ok')
    await (await service.dial({ path: '/api/v1/ws?token=ada%3A60' })).next('auth_ok')
  })

  test('the header that REST takes logs in; another scheme is ignored', async () => {
    await (await service.dial({ headers: { authorization: 'Bearer ada' } })).next('auth_ok')
    const other = await service.dial({ headers: { authorization: 'Basic YWRhOmFkYQ==' } })
    other.send({ type: 'auth', token: 'ada' })
    await other.next('auth_ok')
    expect(other.frames).toHaveLength(1)
  })

  test('a ticket logs in once', async () => {
    service.fleet.tickets.set('t1', 'ada')
    await (await service.dial({ path: '/ws?ticket=t1' })).next('auth_ok')
    const again = await service.dial({ path: '/ws?ticket=t1' })
    await again.until(() => again.closed !== undefined)
    expect(again.closed?.code).toBe(4401)
  })

  test.each(['/ws?token=eve', '/ws?ticket=none'])(
    'a wrong one (%s) gets an error and is closed with 4401',
    async (path) => {
      const client = await service.dial({ path })
      const { problem } = await client.next('error')
      expect(problem).toEqual({
        title: 'No valid access token',
        status: 401,
        code: 'UNAUTHENTICATED',
        detail: expect.any(String),
        instance: '/ws',
        request_id: expect.stringMatching(/^ws_\d+$/),
      })
      await client.until(() => client.closed !== undefined)
      expect(client.closed?.code).toBe(4401)
    },
  )

  test('a socket without a login is closed in time, with 4408', async () => {
    const client = await service.dial()
    service.fleet.time.at += 10_000
    await client.until(() => client.closed !== undefined)
    expect(client.closed?.code).toBe(4408)
  })

  test('a subscription before the login is refused, and the socket is closed', async () => {
    const client = await service.dial()
    client.send({ type: 'subscribe', id: 's1', channel: 'devices' })
    expect(await client.next('error')).toMatchObject({ id: 's1', problem: { code: 'UNAUTHENTICATED' } })
    await client.until(() => client.closed !== undefined)
    expect(client.closed?.code).toBe(4401)
  })

  test('the end of a token is announced, and closes the socket with 4401', async () => {
    const client = await service.login('ada:600')
    service.fleet.time.at += 540_000
    expect(await client.next('token_expiring')).toEqual({ type: 'token_expiring', in: 60 })
    service.fleet.time.at += 60_000
    expect(await client.next('error')).toMatchObject({ problem: { code: 'TOKEN_EXPIRED' } })
    await client.until(() => client.closed !== undefined)
    expect(client.closed?.code).toBe(4401)
  })

  test('a login can be renewed on the same socket', async () => {
    const client = await service.login('ada:600')
    client.send({ type: 'auth', token: 'ada:1200' })
    await client.next('auth_ok', ({ expires_at: at }) => at === new Date(START + 1_200_000).toISOString())
    service.fleet.time.at += 1_139_000
    client.send({ type: 'ping' })
    await client.next('pong')
    expect(client.frames.map(({ type }) => type)).toEqual(['auth_ok', 'auth_ok', 'pong'])
  })

  test('a socket cannot become that of another user', async () => {
    service.fleet.addUser('bob')
    const client = await service.login('ada')
    client.send({ type: 'auth', token: 'bob' })
    expect(await client.next('error')).toMatchObject({ problem: { code: 'FORBIDDEN' } })
    await client.until(() => client.closed !== undefined)
    expect(client.closed?.code).toBe(4403)
  })

  test.each([
    ['locked', { disabled: true }],
    ['given a new password', { tokensValidFrom: (START + 1) as typeof START }],
  ])('a socket ends with the next event at the latest once its user is %s', async (_, change) => {
    const isNotTold = { users: { onChange: () => () => {} } }
    const unaware = await openSocketService({}, isNotTold)
    await unaware.fleet.addDevice('robot-1')
    unaware.fleet.addUser('ada')
    const client = await unaware.login('ada')
    client.send({ type: 'subscribe', id: 's1', channel: 'devices' })
    await client.next('subscribed')
    unaware.fleet.addUser('ada', change)
    await unaware.fleet.edit('robot-1', { name: 'Robot' })
    await client.until(() => client.closed !== undefined)
    expect(client.closed?.code).toBe(4401)
    expect(client.frames.some(({ type }) => type === 'event')).toBe(false)
    await unaware.close()
  })
})

describe('a change of a caller', () => {
  test('a change of a user ends the sockets whose token is void, at once, and no others', async () => {
    service.fleet.addUser('bob')
    const [idle, waiting, other] = [
      await service.login('ada'),
      await service.login('ada'),
      await service.login('bob'),
    ]
    waiting.send({ type: 'subscribe', id: 's1', channel: 'telemetry' })
    await waiting.next('subscribed')
    service.fleet.addUser('ada', { tokensValidFrom: (START + 1) as typeof START })
    for (const client of [idle, waiting]) {
      await client.until(() => client.closed !== undefined)
      expect(client.closed?.code).toBe(4401)
    }
    other.send({ type: 'ping' })
    await other.next('pong')
  })

  test('a change of a user that voids no token leaves the sockets alone', async () => {
    const client = await service.login('ada')
    service.fleet.addUser('ada', { name: 'Ada' })
    client.send({ type: 'ping' })
    await client.next('pong')
    expect(client.closed).toBeUndefined()
  })
})

describe('an API key', () => {
  test('a key without expiry says so, and its end is not announced', async () => {
    const client = await service.dial({ path: '/ws?token=ada:never' })
    expect(await client.next('auth_ok')).toMatchObject({ expires_at: null })
    service.fleet.time.at += 400 * 86_400_000
    client.send({ type: 'ping' })
    await client.next('pong')
    expect(client.frames.map(({ type }) => type)).toEqual(['auth_ok', 'pong'])
  })

  test('a key that expires in a year sets no timer that fires at once', async () => {
    const year = 365 * 86_400
    const { time } = service.fleet
    let longest = 0
    const after = time.after.bind(time)
    time.after = (ms, run) => {
      longest = Math.max(longest, ms)
      return after(ms, run)
    }
    const client = await service.dial({ path: `/ws?token=ada:${year}` })
    await client.next('auth_ok')
    expect(longest).toBeLessThan(2 ** 31)
    service.fleet.time.at += (year - 60) * 1000
    expect(await client.next('token_expiring')).toEqual({ type: 'token_expiring', in: 60 })
    service.fleet.time.at += 60_000
    await client.until(() => client.closed !== undefined)
    expect(client.closed?.code).toBe(4401)
  })
})

describe('frames', () => {
  test('a bad frame is answered with what is wrong, and the socket stays open', async () => {
    const client = await service.login('ada')
    client.sendText('{')
    client.sendText('[]')
    client.sendText('{"type":"dance"}')
    client.send({ type: 'subscribe', id: 's1', channel: 'weather' })
    client.send({ type: 'subscribe', id: 's2', channel: 'devices', filter: { deviceid: 'robot-1' } })
    client.sendText('{"type":"ping"}', 2)
    client.send({ type: 'ping' })
    await client.next('pong')
    const problems = client.frames.filter(({ type }) => type === 'error')
    expect(problems.map(({ id, problem }) => [id, (problem as { code: string }).code])).toEqual([
      [undefined, 'BAD_REQUEST'],
      [undefined, 'BAD_REQUEST'],
      [undefined, 'VALIDATION_FAILED'],
      ['s1', 'VALIDATION_FAILED'],
      ['s2', 'UNKNOWN_FIELD'],
      [undefined, 'BAD_REQUEST'],
    ])
    expect(problems[3]?.['problem']).toMatchObject({
      status: 422,
      errors: [{ path: '/channel', code: 'NOT_ALLOWED' }],
    })
    expect(client.closed).toBeUndefined()
  })

  test('too many bad frames close the socket', async () => {
    const client = await service.login('ada')
    for (let i = 0; i < 30; i++) client.sendText('{')
    await client.until(() => client.closed !== undefined)
    expect(client.closed?.code).toBe(1008)
  })

  test.each([4_097, 60_000, 300_000])('a frame of %i bytes is too large: 4413', async (length) => {
    const client = await service.login('ada')
    client.sendText('x'.repeat(length))
    await client.until(() => client.closed !== undefined)
    expect(client.closed?.code).toBe(4413)
  })

  test('a frame slightly above the limit is refused with both figures', async () => {
    const client = await service.login('ada')
    client.sendText('x'.repeat(4_097))
    const { problem } = await client.next('error')
    expect(problem).toMatchObject({ status: 413, code: 'PAYLOAD_TOO_LARGE', limit: 4_096, actual: 4_097 })
  })

  test('frames are processed in order, without waiting for answers', async () => {
    const client = await service.dial()
    client.send({ type: 'auth', token: 'ada' })
    client.send({ type: 'subscribe', id: 's1', channel: 'telemetry' })
    client.send({ type: 'ping' })
    client.send({ type: 'unsubscribe', id: 's1' })
    client.send({ type: 'unsubscribe', id: 's1' })
    await client.next('error')
    expect(client.frames.map(({ type }) => type)).toEqual([
      'auth_ok',
      'subscribed',
      'pong',
      'unsubscribed',
      'error',
    ])
  })
})

describe('limits', () => {
  test('one socket too many gets an error and is closed with 4429, and a freed place can be taken', async () => {
    const clients = []
    for (let i = 0; i < 4; i++) clients.push(await service.login('ada'))
    const late = await service.dial({ path: '/ws?token=ada' })
    await late.until(() => late.closed !== undefined)
    expect(late.closed?.code).toBe(4429)
    expect(late.frames).toMatchObject([{ type: 'error', problem: { status: 429 } }])
    clients[0]?.close()
    await expect.poll(() => service.sockets.counts().connections).toBe(3)
    await service.login('ada')
  })

  test('a user with too many sockets gets an error, and other users can still connect', async () => {
    const own = await openSocketService({ socketsPerUserMax: 2 })
    for (const name of ['ada', 'bob']) own.fleet.addUser(name)
    for (let i = 0; i < 2; i++) await own.login('ada')
    const late = await own.dial({ path: '/ws?token=ada' })
    await late.until(() => late.closed !== undefined)
    expect(late.closed?.code).toBe(4429)
    await own.login('bob')
    await own.close()
  })

  test('one subscription too many closes with 4429', async () => {
    const client = await service.login('ada')
    for (let i = 0; i < 4; i++) client.send({ type: 'subscribe', id: `s${i}`, channel: 'devices' })
    await client.until(() => client.closed !== undefined)
    expect(client.closed?.code).toBe(4429)
    expect(client.frames.filter(({ type }) => type === 'subscribed')).toHaveLength(3)
  })

  test('a subscription id can be in use only once', async () => {
    const client = await service.login('ada')
    client.send({ type: 'subscribe', id: 's1', channel: 'devices' })
    client.send({ type: 'subscribe', id: 's1', channel: 'telemetry' })
    expect(await client.next('error')).toMatchObject({ id: 's1', problem: { code: 'ALREADY_EXISTS' } })
  })

  test('a closed socket leaves nothing behind', async () => {
    const timers = new StandingTime(START)
    const own = await openSocketService({}, { schedule: timers })
    const { fleet } = own
    await fleet.addDevice('robot-1')
    fleet.addUser('ada')
    const client = await own.login('ada')
    client.send({ type: 'subscribe', id: 's1', channel: 'telemetry', throttle_ms: 100 })
    await client.next('subscribed')
    for (const n of [1, 2]) await fleet.report('robot-1', { n })
    expect(own.sockets.counts().heldBytes).toBeGreaterThan(0)
    client.close()
    await expect
      .poll(() => own.sockets.counts())
      .toMatchObject({
        connections: 0,
        subscriptions: 0,
        heldBytes: 0,
      })
    await expect.poll(() => fleet.wanted.at(-1)?.telemetry).toEqual({ all: false, devices: new Set() })
    timers.at += 2_000
    expect(timers.waiting).toBe(0)
    await own.close()
  })
})

describe('closing', () => {
  test('a stopping service tells every client to reconnect: 1012', async () => {
    const clients = [await service.login('ada'), await service.dial()]
    await service.sockets.close()
    for (const client of clients) {
      await client.until(() => client.closed !== undefined)
      expect(client.closed?.code).toBe(1012)
    }
    expect(service.sockets.counts().connections).toBe(0)
    const late = await dial({ port: service.port })
    expect(late.handshake).toContain('503')
  })
})

describe('what one user costs', () => {
  test('a user whose snapshots took too much work gets no more for a while, on any socket', async () => {
    const clock = { ticks: () => 0 }
    const work = createWorkBudget({ perSec: 4, clock, shares: undefined })
    const busy = await openSocketService({}, { work })
    busy.fleet.addUser('ada')
    busy.fleet.addUser('bob')
    for (let i = 0; i < 60; i++) await busy.fleet.addDevice(`dev-${i}`)
    const outcomes = async (token: string) => {
      const client = await busy.login(token)
      const seen: unknown[] = []
      for (const id of ['a', 'b', 'c']) {
        client.send({ type: 'subscribe', id, channel: 'devices', snapshot: true })
        await client.until(() => client.frames.some((frame) => frame['id'] === id))
        const [error] = client.frames.filter((frame) => frame['id'] === id && frame.type === 'error')
        seen.push(error === undefined ? 'taken' : (error['problem'] as { code: string }).code)
      }
      // A subscription without a snapshot costs almost nothing.
      client.send({ type: 'subscribe', id: 'd', channel: 'devices' })
      await client.next('subscribed', ({ id }) => id === 'd')
      return seen
    }
    // A snapshot of the whole fleet is charged in advance, and most of the price is refunded: 14 of 20, then 4 each.
    expect(await outcomes('ada')).toEqual(['taken', 'taken', 'RATE_LIMIT_EXCEEDED'])
    expect(await outcomes('ada')).toEqual(Array(3).fill('RATE_LIMIT_EXCEEDED'))
    expect(await outcomes('bob')).toContain('taken')
    await busy.close()
  })

  test('a user’s subscriptions may name a limited number of metrics, which are freed when they end', async () => {
    const busy = await openSocketService({ metricNamesPerUserMax: 3 })
    busy.fleet.addUser('ada')
    const client = await busy.login('ada')
    const subscribe = (id: string, ...metrics: string[]) =>
      client.send({ type: 'subscribe', id, channel: 'telemetry', filter: { metrics } })
    subscribe('a', 'x', 'y')
    await client.next('subscribed')
    subscribe('b', 'x', 'z')
    const { id, problem } = (await client.next('error')) as unknown as { id: string; problem: object }
    expect([id, problem]).toEqual(['b', expect.objectContaining({ code: 'RATE_LIMIT_EXCEEDED' })])
    client.send({ type: 'unsubscribe', id: 'a' })
    subscribe('c', 'x', 'z')
    await client.next('subscribed', (frame) => frame['id'] === 'c')
    await busy.close()
  })
})
