// The cluster profile as several processes, each with one role, which form one service.
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { NatsServer } from '../../engine/adapters/nats/testing/nats-server.ts'
import { AlertedGroup } from './testing/alerted-group.ts'
import { ClusterServers, HAS_CLUSTER_SERVERS } from './testing/cluster.ts'
import { type Service, ServiceHarness, type Settings, until } from './testing/service.ts'
import { connectDevice, publish, watch } from './testing/service-clients.ts'
import { listen } from './testing/service-inbox.ts'
import { registerDevice } from './testing/service-rest.ts'
import { WebhookSink } from './testing/webhook-sink.ts'

/** Makes the packages of the embedded profile impossible to load, since the cluster image lacks them. */
const HOOK = `
  import { register } from 'node:module'
  const hook = \`export function resolve(name, context, next) {
    if (/^(chdb|@chdb|lmdb|@lmdb)/.test(name)) throw new Error('not in this image: ' + name)
    return next(name, context)
  }\`
  register('data:text/javascript,' + encodeURIComponent(hook))
`
const LEAN = `--import=data:text/javascript,${encodeURIComponent(HOOK)}`

describe.skipIf(!HAS_CLUSTER_SERVERS)('a cluster (needs servers that `npm test` finds)', () => {
  const harness = new ServiceHarness()
  let servers: ClusterServers
  let engine: Service
  let ingress: Service
  let api: Service
  let other: Service
  let sink: WebhookSink

  beforeAll(async () => {
    ;[servers, sink] = await Promise.all([ClusterServers.start(), WebhookSink.open()])
    const start = (FLEET_ROLES: string) =>
      harness.startNode({ ...servers.settings, FLEET_ROLES, FLEET_WEBHOOK_ALLOW: sink.host }, servers)
    const before = process.env['NODE_OPTIONS']
    process.env['NODE_OPTIONS'] = LEAN
    try {
      ;[engine, ingress, api, other] = await Promise.all([
        start('engine'),
        start('ingress'),
        start('api'),
        start('api'),
      ])
    } finally {
      process.env['NODE_OPTIONS'] = before ?? ''
    }
  })
  afterAll(async () => {
    await harness.close()
    sink?.close()
    await servers?.stop()
  })

  test('telemetry, commands and live data pass through several processes', async () => {
    const admin = await api.admin()
    const elsewhere = other.nobody.as(admin.token ?? '')
    const device = await listen(api, admin, { id: 'r1' })
    const watcher = await watch(other, admin)
    await watcher.subscribe('points', 'telemetry', { filter: { device_id: 'r1' } })
    await device.say('telemetry', { battery: { percent: 71 } })
    const isThere = async () => (await elsewhere.get('/telemetry/r1')).body['data']
    expect(await until('the snapshot', async () => Object((await isThere()) ?? {})['battery'])).toEqual({
      percent: 71,
    })
    // Events before an engine knew of the subscription are not sent.
    await until('a point on /ws', async () => {
      await device.say('telemetry', { n: 1 })
      return watcher.frames.some(({ id, type }) => type === 'event' && id === 'points')
    })
    await until(
      'presence',
      async () => (await elsewhere.get('/devices/r1')).body['status'] === 'online' || undefined,
    )
    const { body } = await elsewhere.post('/commands/r1', { command: 'go' })
    const message = await device.next('the command', ({ body: sent }) => sent['command'] === 'go')
    expect(message.body['request_id']).toBe(body['command_id'])
    const state = await admin.call('PUT', '/shadows/r1/desired', { speed: 3 })
    expect(state.body).toMatchObject({ version: 1, desired: { speed: 3 } })
    expect((await elsewhere.get('/shadows/r1')).body).toMatchObject({ desired: { speed: 3 } })
    await device.end()
  })

  test('every node answers probes and metrics, and only API nodes answer REST', async () => {
    for (const { nobody } of [engine, ingress, api]) {
      expect((await nobody.get('//readyz')).status).toBe(200)
      expect((await nobody.get('//metrics')).text).toContain('fleet_build_info')
    }
    const statuses = await Promise.all(
      [engine, ingress, api].map(async ({ nobody }) => (await nobody.get('/devices')).status),
    )
    expect(statuses).toEqual([404, 404, 401])
  })

  test('alerts that fire and end while Redis is away are told of once, and not before they are saved', async () => {
    const hot = await AlertedGroup.make(api, await api.admin(), { group: 'hot', size: 12, sink })
    const [first = '', ...others] = hot.names
    const { held, kept } = await firstIsBeingTold(hot, first)
    sink.answer = () => 200
    await servers.redis.kill()
    await hot.say(11, others)
    await until('a save fails', async () => (await saveFailures(engine)) > 0)
    held.writeHead(200).end()
    const passing = others.slice(0, 4)
    await hot.say(1, passing)
    expect(sink.taken).toEqual([])
    await servers.redis.start()
    expect(await hot.found()).toEqual(hot.names.map(() => 1))
    const lasting = others.slice(passing.length)
    await hot.isToldOfAll('alert.fired', lasting)
    await hot.say(1, [first, ...lasting])
    await hot.isToldOfAll('alert.resolved')
    const counts = (type: string) => (name: string) => hot.toldOf(name, type).length
    expect(lasting.map(counts('alert.fired'))).toEqual(lasting.map(() => 1))
    expect(hot.names.map(counts('alert.resolved'))).toEqual(hot.names.map(() => 1))
    // Those that ended meanwhile are told of in one message or in two.
    expect(Math.max(...passing.map(counts('alert.fired')))).toBeLessThanOrEqual(1)
    expect(kept.alerts).toEqual([hot.alertOf(first)])
    expect(counts('alert.fired')(first)).toBe(0)
    await hot.end()
  })

  /** Lets this device fire until it is being told of. The sink holds back its answer. */
  async function firstIsBeingTold(group: AlertedGroup, first: string) {
    sink.taken.length = 0
    let held: ServerResponse | undefined
    sink.answer = (response) => {
      held = response
      return 0
    }
    // A rule counts on all nodes a moment after it was made.
    const answer = await until('the first is being told', async () => {
      await group.say(11, [first])
      return held
    })
    const [kept] = sink.taken.splice(0)
    if (kept === undefined) throw new Error('the sink keeps what it took')
    return { held: answer, kept }
  }

  test('without an engine a device has no owner and requests are refused; the next engine takes over', async () => {
    const admin = await api.admin()
    const token = await registerDevice(admin, 'r2')
    engine.kill('SIGKILL')
    await engine.ended
    const client = await connectDevice(api, 'r2', token)
    await publish(client, 'r2', { n: 1 })
    const refused = await until('no owner', async () => {
      const answer = await admin.call('PUT', '/shadows/r2/desired', { a: 1 })
      return answer.status === 503 && answer
    })
    expect(refused.headers.get('retry-after')).toMatch(/^\d+$/)
    engine = await engine.again()
    await until(
      'an owner',
      async () => (await admin.call('PUT', '/shadows/r2/desired', { a: 1 })).status === 200,
    )
    const snapshot = async () => Object((await admin.get('/telemetry/r2')).body['data'])['n']
    await until('what was sent meanwhile', async () => (await snapshot()) === 1)
    await client.endAsync()
  })

  test('the leader is killed while Redis is away and alerts fire: none is lost, and none is told under two ids', async () => {
    const next = await harness.startNode({ ...engine.settings, FLEET_HTTP_PORT: '0' }, servers)
    const warm = await AlertedGroup.make(api, await api.admin(), { group: 'warm', size: 8, sink })
    const [first = '', ...others] = warm.names
    const { kept } = await firstIsBeingTold(warm, first)
    const leader = await leading([engine, next])
    engine = leader === engine ? next : engine
    await servers.redis.kill()
    await warm.say(11, others)
    const failures = async () => (await Promise.all([leader, engine].map(saveFailures))).some((n) => n > 0)
    await until('a save fails', failures)
    leader.kill('SIGKILL')
    await leader.ended
    // What was under way when the leader died breaks off, and nobody knows whether it came.
    sink.cut()
    sink.answer = () => 200
    const passing = others.slice(0, 3)
    await warm.say(1, passing)
    expect(sink.taken).toEqual([])
    await servers.redis.start()
    expect(await warm.found()).toEqual(warm.names.map(() => 1))
    const lasting = others.slice(passing.length)
    await warm.isToldOfAll('alert.fired', [first, ...lasting])
    await warm.say(1, [first, ...lasting])
    await warm.isToldOfAll('alert.resolved')
    for (const name of warm.names) {
      const fired = warm.toldOf(name, 'alert.fired')
      const resolved = warm.toldOf(name, 'alert.resolved')
      // Only what was under way is told twice, and then it has its id from before.
      expect([fired.length, resolved.length]).toEqual([passing.includes(name) ? fired.length : 1, 1])
      expect(fired.length).toBeLessThanOrEqual(1)
      for (const call of fired) expect(call).toBeLessThan(resolved[0] ?? -1)
    }
    expect(sink.idsOf(warm.alertOf(first), 'alert.fired')).toEqual([kept.id])
    await warm.end()
  })

  test('S3 is away in a rollout, then the leader is killed: no place is given twice, and the rollout ends', async ({
    skip,
  }) => {
    const { s3 } = servers
    if (s3 === undefined) return skip('versitygw is needed, which `npm test` finds')
    const admin = await api.admin()
    const engines = [engine, await harness.startNode({ ...servers.settings, FLEET_ROLES: 'engine' }, servers)]
    const upload = async (version: string) => {
      const form = new FormData()
      form.set('version', version)
      form.set('device_type', 'mqtt_device')
      form.set('file', new Blob([`image ${version}`]), 'firmware.bin')
      const headers = { authorization: `Bearer ${admin.token}` }
      const url = `${api.httpUrl}/api/v1/ota/firmware`
      expect((await fetch(url, { method: 'POST', headers, body: form })).status).toBe(201)
    }
    await upload('2.0')
    const devices = await Promise.all(
      ['f1', 'f2', 'f3'].map(async (id) => {
        const device = await listen(api, admin, { id, about: { group: 'f' } })
        await device.client.subscribeAsync(`fleet/${id}/ota`, { qos: 1 })
        return device
      }),
    )
    const target = { type: 'group', value: 'f' }
    const canary = { strategy: 'canary', canary: { count: 1, soak_sec: 1 }, proof: 'report' }
    const wish = { firmware_version: '2.0', target, ...canary, max_concurrent: 1 }
    const id = String((await admin.post('/ota/deployments', wish)).body['deployment_id'])
    const told = () => devices.filter(({ inbox }) => inbox.some(({ suffix }) => suffix === 'ota'))
    const done = new Set<(typeof devices)[number]>()
    while (done.size < devices.length) {
      const device = await until('the next device is told', () => told().find((each) => !done.has(each)))
      if (done.size === 1) {
        const leader = await leading(engines)
        leader.kill('SIGKILL')
        // It was told no address under which devices could load anything.
        expect((await leader.ended).stdout).toContain('set FLEET_PUBLIC_URL')
        await leading(engines.filter((each) => each !== leader))
      }
      expect(told()).toHaveLength(done.size + 1)
      done.add(device)
      const { body: order } = await device.next('its message', ({ suffix }) => suffix === 'ota')
      // Links name the node that sent them, which tests cannot know before it is started.
      const { pathname, search } = new URL(String(order['url']))
      const load = () => fetch(`${other.httpUrl}${pathname}${search}`, { headers: { range: 'bytes=2-' } })
      if (done.size === 0) {
        // While images cannot be had, the device is sent away and keeps its place.
        await s3.kill()
        const away = await load()
        expect([away.status, away.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)])
        await away.text()
        expect((await admin.get(`/ota/deployments/${id}`)).body).toMatchObject({ status: 'in_progress' })
        expect(told()).toHaveLength(1)
        await s3.start()
      }
      const image = await load()
      expect([image.status, await image.text()]).toEqual([206, 'age 2.0'])
      await device.say('status', { status: 'online', firmware_version: '2.0' })
      await device.say('ota/status', { deployment_id: id, status: 'succeeded', version: '2.0' })
    }
    const ended = await until('the rollout ends', async () => {
      const { body } = await admin.get(`/ota/deployments/${id}`)
      return body['finished_at'] !== null && body
    })
    expect(ended).toMatchObject({
      ...{ status: 'completed', progress: { succeeded: 3 } },
      stages: [
        { total: 1, state: 'passed' },
        { total: 2, state: 'passed' },
      ],
    })

    // A canary that fails stops the next one, goes back, and nobody else is told.
    await upload('3.0')
    const worse = { firmware_version: '3.0', target, ...canary, retry: { max: 0 } }
    const badId = (await admin.post('/ota/deployments', worse)).body['deployment_id']
    const isTold = ({ inbox }: (typeof devices)[number]) =>
      inbox.some(({ suffix, body }) => suffix === 'ota' && body['deployment_id'] === badId)
    const first = await until('the canary is told', () => devices.find(isTold))
    for (const status of ['downloaded', 'installing', 'failed'])
      await first.say('ota/status', { deployment_id: badId, status })
    const isWayBack = ({ suffix, body }: (typeof first.inbox)[number]) =>
      suffix === 'ota' && body['deployment_id'] === badId && body['action'] === 'rollback'
    const { body: back } = await until('the way back', () => first.inbox.find(isWayBack))
    expect(back).toMatchObject({ version: '2.0', local_ok: true })
    await first.say('ota/status', { deployment_id: badId, status: 'succeeded', version: '2.0' })
    const stopped = await until('it has stopped', async () => {
      const { body } = await admin.get(`/ota/deployments/${badId}`)
      return body['finished_at'] !== null && body
    })
    expect(stopped).toMatchObject({ status: 'rolled_back', progress: { rolled_back: 1, cancelled: 2 } })
    expect(devices.filter(isTold)).toEqual([first])
    await Promise.all(devices.map((each) => each.end()))
  })

  test('a start ends with a useful line and without a password if waiting would not help', async () => {
    const lax = await NatsServer.start({ syncInterval: '2m' })
    onTestFinished(() => lax.remove())
    const redisUrl = `redis://fleet:hunter2@127.0.0.1:${servers.redis.port}`
    const wrong: readonly (readonly [Settings, RegExp])[] = [
      [{ FLEET_REDIS_URL: redisUrl }, /^fleet: Redis at .*check user and password in the URL\)\n$/],
      [
        { FLEET_NATS_URL: `nats://${lax.url}`, FLEET_NATS_MONITOR_URL: lax.monitor },
        /^fleet: nats-server .* set sync_interval: always .*\n$/,
      ],
    ]
    const ends = wrong.map(([settings]) => harness.run({ ...servers.settings, ...settings }))
    for (const [n, { code, stdout, stderr }] of (await Promise.all(ends)).entries()) {
      expect(code).toBe(1)
      expect(stderr).toMatch(wrong[n]?.[1] ?? '')
      expect(stdout + stderr).not.toContain('hunter2')
    }
  })

  test('a start waits for a server that is away, and is ready when it is there', async () => {
    const late = await ClusterServers.start()
    try {
      await late.redis.kill()
      const asked = await refuseAt(late.redis.port)
      let isReady = false
      const starting = harness.startNode(late.settings, late).then((node) => {
        isReady = true
        return node
      })
      await asked.twice
      expect(isReady).toBe(false)
      await asked.close()
      await late.redis.start()
      const node = await starting
      expect((await node.nobody.get('//readyz')).status).toBe(200)
      node.kill('SIGTERM')
      const { code, stdout } = await node.ended
      expect(code).toBe(0)
      expect(stdout).toContain('waiting for a server')
    } finally {
      await late.stop()
    }
  })
})

/** A server that closes every connection. */
async function refuseAt(port: number) {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.destroy()
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const twice = until('it to be asked again', () => connections > 1)
  return {
    twice,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

async function saveFailures({ nobody }: Service): Promise<number> {
  const { text } = await nobody.get('//metrics')
  return Number(/^fleet_store_save_failures_total (\S+)$/m.exec(text)?.[1] ?? 0)
}

/** The node that decides about deployments: it spends time on that, and no other does. */
async function leading(engines: readonly Service[]): Promise<Service> {
  const spent = async ({ nobody }: Service) => {
    const { text } = await nobody.get('//metrics')
    return Number(/^fleet_ota_orchestrator_seconds_total (\S+)$/m.exec(text)?.[1] ?? 0)
  }
  const before = await Promise.all(engines.map(spent))
  return until('one of them leads', async () => {
    const now = await Promise.all(engines.map(spent))
    return engines.find((_, i) => Number(now[i]) > Number(before[i]))
  })
}
