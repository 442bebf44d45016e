// Users who use up what they can, each beside others who must not notice.
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { ADMIN, type Service, ServiceHarness, until } from '../testing/service.ts'
import { connectDevice, publish } from '../testing/service-clients.ts'
import { type Rest, registerDevice } from '../testing/service-rest.ts'
import { Honest, repeat } from './testing/honest.ts'

/** Messages per second of one device, as by default. */
const PUBLISH_RATE = 100
/** Seconds of that rate that a device saves up at most, and what was on its way. */
const SAVED_UP_SEC = 12

const harness = new ServiceHarness()
afterAll(() => harness.close())

test('a viewer who reads a device as fast as possible keeps nobody from commanding it', async () => {
  const service = await harness.start({ FLEET_DEVICE_REQUEST_RATE: '20', FLEET_USER_REQUEST_RATE: '1000' })
  const admin = await service.admin()
  await registerDevice(admin, 'r1')
  const viewer = { email: 'vic@example.com', password: 'correct horse', name: 'Vic', role: 'viewer' }
  expect((await admin.post('/auth/register', viewer)).status).toBe(201)
  const { body } = await service.nobody.post('/auth/login', viewer)
  const reader = service.nobody.as(String(body['access_token']))
  const stop = new AbortController()
  let refused = 0
  const attack = repeat(stop.signal, async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => reader.get('/shadows/r1')))
    refused += answers.filter(({ status }) => status === 429).length
  })
  const statuses: number[] = []
  // More than the rate allows of other commands.
  for (let i = 0; i < 50; i++)
    statuses.push(
      (await admin.post('/commands/r1', { command: 'emergency_stop', priority: 'critical' })).status,
    )
  statuses.push((await admin.post('/commands/r1', { command: 'go' })).status)
  stop.abort()
  await attack
  expect(refused).toBeGreaterThan(0)
  expect(new Set(statuses)).toEqual(new Set([202]))
})

describe('logins', () => {
  let service: Service
  let honest: Honest
  beforeAll(async () => {
    service = await harness.start({
      FLEET_TRUSTED_PROXIES: '127.0.0.1',
      FLEET_REGISTRATION: 'locked',
      FLEET_ADMIN_EMAIL: ADMIN.email,
      FLEET_ADMIN_PASSWORD: ADMIN.password,
    })
    honest = await Honest.open(service)
  })
  afterAll(() => honest.close())

  const login = async (from: string, email: string, password: string): Promise<number> => {
    const response = await fetch(`${service.httpUrl}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
      body: JSON.stringify({ email, password }),
    })
    await response.text()
    return response.status
  }

  test('with made-up e-mails from a few addresses keep nobody elsewhere from logging in', async () => {
    const stop = new AbortController()
    const attacks = Array.from({ length: 80 }, (_, i) =>
      repeat(stop.signal, () => login(`198.51.100.${i % 4}`, `x${i}@example.com`, 'guessed it')),
    )
    const statuses: number[] = []
    for (let i = 0; i < 15; i++) statuses.push(await login('192.0.2.1', ADMIN.email, ADMIN.password))
    stop.abort()
    await Promise.all(attacks)
    expect(new Set(statuses)).toEqual(new Set([200]))
    // Whom they were about is in the audit, although the addresses before have filled their shares of it.
    expect(await login('192.0.2.2', 'victim@example.com', 'guessed it')).toBe(401)
    const admin = await service.admin()
    const entry = await until('the entry of the guess', async () => {
      const { body } = await admin.get('/audit?action=login&outcome=refused&actor=victim@example.com')
      return (body['data'] as readonly object[] | undefined)?.[0]
    })
    expect(entry).toMatchObject({ ip: '192.0.2.2', actor: { name: 'victim@example.com' } })
  })

  test('from all addresses of an IPv6 network are those of one guesser, and slow nobody down', async () => {
    let guesses = 0
    let judged = 0
    await honest.bears((stop) =>
      Promise.all(
        Array.from({ length: 4 }, () =>
          repeat(stop, async () => {
            const status = await login(`2001:db8:0:1::${(++guesses).toString(16)}`, ADMIN.email, 'guessed it')
            if (status === 401) judged++
          }),
        ),
      ),
    )
    // More than the pace of one address, several minutes long.
    expect(guesses).toBeGreaterThan(judged)
    expect(judged).toBeLessThan(60)
    expect(await login('192.0.2.1', ADMIN.email, ADMIN.password)).toBe(200)
  })
})

describe('the work of one viewer or one device', () => {
  let service: Service
  let honest: Honest
  let token = ''
  beforeAll(async () => {
    // Both as they are by default.
    service = await harness.start({
      FLEET_USER_WORK_RATE: '200',
      FLEET_DEVICE_PUBLISH_RATE: String(PUBLISH_RATE),
    })
    honest = await Honest.open(service)
    const admin = await service.admin()
    const viewer = { email: 'vic@example.com', password: 'correct horse', name: 'Vic', role: 'viewer' }
    expect((await admin.post('/auth/register', viewer)).status).toBe(201)
    token = String((await service.nobody.post('/auth/login', viewer)).body['access_token'])
    const devices = Array.from({ length: 300 }, (_, i) => ({
      device_id: `d${i}`,
      name: `d${i}`,
      type: 'simulator',
    }))
    expect((await admin.post('/devices/bulk', devices)).status).toBe(200)
  })
  afterAll(() => honest.close())

  /** The token that a device gets, for a request with this key. */
  async function issueWithKey(rest: Rest, key: string): Promise<string> {
    const response = await fetch(`${service.httpUrl}/api/v1/auth/devices/token`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${rest.token}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify({ device_id: 'honest' }),
    })
    const body = (await response.json()) as { mqtt_token?: string }
    return body.mqtt_token ?? ''
  }

  const AGGREGATES = 'avg,min,max,count,last,sum,first,stddev,p50,p95,p99'
  test.each([
    [
      'the widest histories there are',
      `/telemetry/honest/history?metric=a,b,c,d,e,f,g,h,i,j&from=now-7d&to=now&interval=5m&fill=null&agg=${AGGREGATES}`,
    ],
    [
      'the telemetry of a fleet',
      '/telemetry?metric=n&from=now-109m&to=now&interval=1m&fill=null&per_page=200',
    ],
    [
      'days of a time zone',
      '/telemetry/honest/history?metric=n&from=now-10000d&interval=1d&tz=Africa/Casablanca',
    ],
    ['files of all devices', '/devices/export'],
  ])('is bounded: %s slow nobody down', async (_, path) => {
    const reader = service.nobody.as(token)
    const seen = new Set<number>()
    await honest.bears((stop) =>
      Promise.all(
        Array.from({ length: 8 }, () =>
          repeat(stop, async () => {
            const { status } = await reader.get(path)
            seen.add(status)
            // A client that waits a little after a refusal, far less than it is told.
            if (status === 429) await delay(20)
          }),
        ),
      ),
    )
    for (const status of seen) expect([200, 429]).toContain(status)
  })

  test('is bounded: snapshots on many sockets slow nobody down', async () => {
    await honest.bears((stop) =>
      Promise.all(
        Array.from({ length: 4 }, (_, index) =>
          repeat(stop, async () => {
            const socket = new WebSocket(`${service.wsUrl}?token=${token}`)
            socket.on('error', () => undefined)
            const closed = new Promise((resolve) => socket.once('close', resolve))
            socket.once('open', () => {
              for (let i = 0; i < 90; i++)
                socket.send(
                  JSON.stringify({
                    type: 'subscribe',
                    id: `${index}-${i}`,
                    channel: 'devices',
                    snapshot: true,
                  }),
                )
            })
            await delay(500)
            socket.terminate()
            await closed
          }),
        ),
      ),
    )
  })

  test('is bounded: a device that sends what it can, rubbish too, slows nobody down and drops no other dead letter', async () => {
    const admin = await service.admin()
    const letters = async (id: string) =>
      Number((await admin.get(`/dead-letters?device_id=${id}`)).body['total'])
    const quiet = await connectDevice(service, 'quiet', await registerDevice(admin, 'quiet'))
    await publish(quiet, 'quiet', 'rubbish')
    await until('its dead letter', async () => (await letters('quiet')) === 1)
    const loud = await connectDevice(service, 'loud', await registerDevice(admin, 'loud'))
    const startedAt = performance.now()
    let acknowledged = 0
    await honest.bears((stop) => {
      const stopped = once(stop, 'abort')
      return Promise.all(
        Array.from({ length: 200 }, (_, i) =>
          repeat(stop, async () => {
            const report = i % 2 === 0 ? 'rubbish' : { text: 'x'.repeat(16_000) }
            // What waits when the attack stops may be acknowledged much later.
            await Promise.race([publish(loud, 'loud', report).then(() => acknowledged++), stopped])
          }),
        ),
      )
    })
    loud.end(true)
    await quiet.endAsync()
    const seconds = (performance.now() - startedAt) / 1_000
    expect(acknowledged).toBeGreaterThan(0)
    expect(acknowledged).toBeLessThan(PUBLISH_RATE * (seconds + SAVED_UP_SEC))
    expect(await letters('quiet')).toBe(1)
    expect(await letters('loud')).toBeGreaterThan(0)
  })

  test('is bounded: an operator who sends a new Idempotency-Key with each request takes no kept answer from others', async () => {
    const admin = await service.admin()
    const token = await issueWithKey(admin, 'mine')
    const account = { email: 'olga@example.com', password: 'correct horse', name: 'Olga', role: 'operator' }
    expect((await admin.post('/auth/register', account)).status).toBe(201)
    const login = await service.nobody.post('/auth/login', account)
    const operator = service.nobody.as(String(login.body['access_token']))
    let sent = 0
    await honest.bears((stop) =>
      Promise.all(
        Array.from({ length: 8 }, () =>
          repeat(stop, async () => {
            await issueWithKey(operator, `fill-${sent++}`)
          }),
        ),
      ),
    )
    expect(sent).toBeGreaterThan(0)
    // The same answer as before, and a new one.
    expect(await issueWithKey(admin, 'mine')).toBe(token)
    expect(await issueWithKey(admin, 'next')).not.toBe('')
  })

  test('is bounded: choices of a thousand metrics and messages of nine hundred slow nobody down', async () => {
    const admin = await service.admin()
    const wide = await connectDevice(service, 'wide', await registerDevice(admin, 'wide'))
    const report = Object.fromEntries(
      Array.from({ length: 900 }, (_, i) => [`a_metric_with_a_long_name_${i}`, i]),
    )
    const refusals = new Set<string>()
    await honest.bears(async (stop) => {
      const sockets = Array.from({ length: 4 }, () => new WebSocket(`${service.wsUrl}?token=${token}`))
      for (const socket of sockets) {
        socket.on('error', () => undefined)
        socket.on('message', (data) => {
          const frame = JSON.parse(String(data))
          if (frame.type === 'error') refusals.add(frame.problem.code)
        })
        socket.once('open', () => {
          for (let i = 0; i < 90; i++) {
            const metrics = Array.from({ length: 100 }, (_, n) => `a_metric_with_a_long_name_${i * 100 + n}`)
            socket.send(
              JSON.stringify({ type: 'subscribe', id: `${i}`, channel: 'telemetry', filter: { metrics } }),
            )
          }
        })
      }
      const stopped = once(stop, 'abort')
      await repeat(stop, async () => {
        await Promise.race([publish(wide, 'wide', report), stopped])
      })
      for (const socket of sockets) socket.terminate()
    })
    expect(refusals).toContain('RATE_LIMIT_EXCEEDED')
    wide.end(true)
  })

  test('is bounded: a revoked token that is tried without pause opens nothing and slows nobody down', async () => {
    const admin = await service.admin()
    const leaked = await registerDevice(admin, 'leaked')
    expect((await admin.post('/auth/devices/leaked/revoke', undefined)).status).toBe(200)
    const outcomes = new Set<string>()
    await honest.bears((stop) =>
      Promise.all(
        Array.from({ length: 8 }, () =>
          repeat(stop, async () => {
            const opened = connectDevice(service, 'leaked', leaked).then(
              (client) => {
                client.end(true)
                return 'opened'
              },
              () => 'refused',
            )
            outcomes.add(await opened)
          }),
        ),
      ),
    )
    expect(outcomes).toEqual(new Set(['refused']))
  })
})
