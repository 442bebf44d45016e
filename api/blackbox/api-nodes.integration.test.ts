// Several API nodes of a cluster, seen by a client whose requests go to any of them.
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { LIMITS } from '../../engine/limits.ts'
import { API_LIMITS } from '../limits.ts'
import { png } from '../routes/testing/pictures.ts'
import { ClusterServers, HAS_CLUSTER_SERVERS } from './testing/cluster.ts'
import { type Service, ServiceHarness, until } from './testing/service.ts'
import { watch } from './testing/service-clients.ts'

const RATE = 40
/** More than lies between a node and a reader who takes nothing. */
const IMAGE_BYTES = 32 * 2 ** 20
const ADA = { email: 'ada@example.com', name: 'Ada', password: 'correct horse battery', role: 'admin' }

describe.skipIf(!HAS_CLUSTER_SERVERS)('API nodes (needs servers that `npm test` finds)', () => {
  const harness = new ServiceHarness()
  let servers: ClusterServers
  let one: Service
  let other: Service

  beforeAll(async () => {
    servers = await ClusterServers.start()
    const start = (FLEET_ROLES: string) =>
      harness.startNode(
        {
          ...servers.settings,
          FLEET_ROLES,
          FLEET_USER_REQUEST_RATE: '0',
          FLEET_DEVICE_REQUEST_RATE: `${RATE}`,
          FLEET_OTA_DOWNLOADS_MAX: '1',
        },
        servers,
      )
    ;[one, other] = await Promise.all([start('api'), start('api'), start('engine,ingress')])
    await one.nobody.post('/auth/register', ADA)
  })
  afterAll(async () => {
    await harness.close()
    await servers?.stop()
  })

  async function enter(node: Service, user = ADA) {
    const { body } = await node.nobody.post('/auth/login', user)
    const token = String(body['access_token'])
    return { here: one.nobody.as(token), there: other.nobody.as(token) }
  }

  /** Calls this node with an Idempotency-Key. */
  function register(node: Service, token: string | undefined, key: string) {
    return fetch(`${node.httpUrl}/api/v1/devices`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify({ name: key, type: 'mqtt_device' }),
    })
  }

  test('requests with one key are carried out once, whichever nodes they go to', async () => {
    const { here } = await enter(one)
    for (let i = 0; i < 5; i++) {
      const nodes = [one, other, one, other, one, other]
      const answers = await Promise.all(nodes.map((node) => register(node, here.token, `k${i}`)))
      const statuses = answers.map(({ status }) => status)
      expect(statuses).toContain(201)
      expect(statuses.filter((status) => status !== 201 && status !== 409)).toEqual([])
      const again = await Promise.all([one, other].map((node) => register(node, here.token, `k${i}`)))
      expect(again.map(({ status, headers }) => [status, headers.get('idempotency-replayed')])).toEqual(
        [0, 1].map(() => [201, 'true']),
      )
      const made = await Promise.all(
        [...answers.filter(({ status }) => status === 201), ...again].map(textOf),
      )
      expect(new Set(made).size).toBe(1)
    }
    expect((await here.get('/devices')).body['total']).toBe(5)
  })

  test('a logout at one node ends the sockets of that login at the others', async () => {
    const { here, there } = await enter(other)
    const { socket } = await watch(other, there)
    const closed = once(socket, 'close')
    expect((await here.post('/auth/logout', {})).status).toBe(204)
    expect((await closed)[0]).toBe(4401)
    expect((await there.get('/auth/me')).status).toBe(401)
  })

  test('a node that stood still lists what was registered meanwhile', async () => {
    const { here, there } = await enter(one)
    await here.post('/devices', { device_id: 'before', name: 'before', type: 'mqtt_device' })
    await until(
      'the device at both nodes',
      async () => (await there.get('/devices?q=before')).body['total'] === 1,
    )
    await whileOtherStandsStill(async () => {
      for (let i = 0; i < 3; i++)
        await here.post('/devices', { device_id: `meanwhile-${i}`, name: 'x', type: 'mqtt_device' })
    })
    expect((await there.get('/devices?q=meanwhile')).body['total']).toBe(3)
  })

  test('a node that stood still shows the rules and silences that were written meanwhile', async () => {
    const { here, there } = await enter(one)
    const condition = { kind: 'threshold', metric: 't', op: '>', value: 3 }
    const wish = { name: 'hot', severity: 'warning', target: { type: 'all' }, condition }
    const create = async () => String((await here.post('/alerts/rules', wish)).body['rule_id'])
    const [edited, deleted] = [await create(), await create()]
    let etag = ''
    let made = ''
    let silenceId = ''
    await whileOtherStandsStill(async () => {
      for (let i = 0; i < 20; i++)
        etag = String((await here.call('PATCH', `/alerts/rules/${edited}`, { name: `n${i}` })).body['etag'])
      await here.call('DELETE', `/alerts/rules/${deleted}`)
      made = await create()
      const ends_at = new Date(Date.now() + 3_600_000).toISOString()
      const silence = await here.post('/alerts/silences', { matchers: { group: 'x' }, ends_at, comment: 'x' })
      silenceId = String(silence.body['silence_id'])
    })
    const [list, first, gone, latest, silence] = await Promise.all([
      there.get('/alerts/rules?q=n19'),
      there.get(`/alerts/rules/${edited}`),
      there.get(`/alerts/rules/${deleted}`),
      there.get(`/alerts/rules/${made}`),
      there.get(`/alerts/silences/${silenceId}`),
    ])
    expect([list.body['total'], first.body['etag']]).toEqual([1, etag])
    expect([gone, latest, silence].map(({ status }) => status)).toEqual([404, 200, 200])
  })

  /** The node stands still for longer than the look that it takes at Redis. */
  async function whileOtherStandsStill(work: () => Promise<void>) {
    other.kill('SIGSTOP')
    try {
      const stoodAt = performance.now()
      await until('the standstill', () => performance.now() - stoodAt > 2 * LIMITS.storePollMs)
      await work()
    } finally {
      other.kill('SIGCONT')
    }
  }

  test('a ticket for /ws is good once, at any node', async () => {
    const { here } = await enter(one)
    const ticket = String((await here.post('/auth/ws-ticket', {})).body['ticket'])
    const first = await Promise.all([other, one, other].map((node) => firstFrame(node, ticket)))
    expect(first.filter((type) => type === 'auth_ok')).toHaveLength(1)
    expect(await firstFrame(one, ticket)).toBe('error')
  })

  test('all nodes together send as many images from S3 as there may be downloads', async ({ skip }) => {
    if (servers.s3 === undefined) return skip('versitygw is needed, which `npm test` finds')
    const { here: ada } = await enter(one)
    const bob = { ...ADA, email: 'bob@example.com', name: 'Bob' }
    await one.nobody.post('/auth/register', bob)
    const { here: bobs } = await enter(one, bob)
    const form = new FormData()
    form.set('version', '1.0')
    form.set('device_type', 'mqtt_device')
    form.set('file', new Blob([Buffer.alloc(IMAGE_BYTES, 7)]), 'firmware.bin')
    const bearer = (token: string | undefined) => ({ authorization: `Bearer ${token}` })
    const path = '/api/v1/ota/firmware'
    const sent = { method: 'POST', headers: bearer(ada.token), body: form }
    const uploaded = await fetch(`${one.httpUrl}${path}`, sent)
    expect(uploaded.status).toBe(201)
    const { firmware_id: id } = (await uploaded.json()) as { firmware_id: string }
    const load = (node: Service, { token }: typeof ada, range = {}) =>
      fetch(`${node.httpUrl}${path}/${id}/file`, { headers: { ...bearer(token), ...range } })
    const first = await until('node one knows of it', async () => {
      const response = await load(one, ada)
      return response.status === 200 && response
    })
    const refusal = await until('the other node knows of it', async () => {
      const response = await load(other, bobs)
      return response.status !== 404 && response
    })
    expect(refusal.status).toBe(503)
    expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(0)
    await refusal.body?.cancel()
    await first.body?.cancel()
    const last = await until('its place is free', async () => {
      const response = await load(other, bobs, { range: `bytes=${IMAGE_BYTES - 3}-` })
      return response.status === 206 && response
    })
    expect([...new Uint8Array(await last.arrayBuffer())]).toEqual([7, 7, 7])
  })

  test('the floor plan that one node puts into S3 is shown by the others, and goes for all', async ({
    skip,
  }) => {
    if (servers.s3 === undefined) return skip('versitygw is needed, which `npm test` finds')
    const { here, there } = await enter(one)
    const place = { x_metric: 'position.x', y_metric: 'position.y', left: 0, bottom: 0, right: 40, top: 25 }
    // Larger than what is read from S3 at once.
    const picture = Buffer.concat([png(2_000, 1_000), Buffer.alloc(3 * 2 ** 20, 7)]).toString('base64')
    expect((await there.get('/floor-plan')).status).toBe(204)
    expect((await here.call('PUT', '/floor-plan', { ...place, picture })).status).toBe(204)
    const shown = await there.get('/floor-plan')
    expect([shown.status, shown.body['media_type'], shown.body['right']]).toEqual([200, 'image/png', 40])
    expect(shown.body['picture'] === picture).toBe(true)
    expect((await there.call('PUT', '/floor-plan', { ...place, right: 50, picture })).status).toBe(204)
    expect((await here.get('/floor-plan')).body['right']).toBe(50)
    expect((await there.call('DELETE', '/floor-plan')).status).toBe(204)
    expect((await here.get('/floor-plan')).status).toBe(204)
  })

  test('all nodes together allow a device’s rate of requests', async () => {
    const { here, there } = await enter(one)
    await here.post('/devices', { device_id: 'busy', name: 'busy', type: 'mqtt_device' })
    const startedAt = performance.now()
    let taken = 0
    while (performance.now() - startedAt < 3_000) {
      const asked = [here, there, here, there].map((rest) => rest.get('/devices/busy'))
      taken += (await Promise.all(asked)).filter(({ status }) => status === 200).length
    }
    const seconds = (performance.now() - startedAt) / 1_000
    // The rate of one node, a burst at both nodes, and requests that pass before the nodes have shared their counts.
    expect(taken).toBeLessThanOrEqual(RATE * seconds + 2 * RATE + 2 * RATE * 0.5)
    expect(taken).toBeGreaterThan(RATE)
  })

  test('failed logins count over all nodes', async () => {
    const wrong = { email: 'eve@example.com', password: 'not this one' }
    const statuses: number[] = []
    for (let i = 0; i < 2 * API_LIMITS.loginsPerMinuteMax; i++)
      statuses.push((await [one, other][i % 2]?.nobody.post('/auth/login', wrong))?.status ?? 0)
    const tried = statuses.filter((status) => status === 401).length
    expect(statuses.filter((status) => status !== 401 && status !== 429)).toEqual([])
    expect(tried).toBeLessThan(2 * API_LIMITS.loginsPerMinuteMax)
    expect(tried).toBeGreaterThanOrEqual(API_LIMITS.loginsPerMinuteMax)
  })
})

const textOf = (response: Response) => response.text()

/** Resolves with the first frame of a socket with this ticket. */
async function firstFrame(node: Service, ticket: string): Promise<unknown> {
  const socket = new WebSocket(`${node.wsUrl}?ticket=${ticket}`)
  const [frame] = await once(socket, 'message')
  socket.terminate()
  return Object(JSON.parse(String(frame)))['type']
}
