// The checks of a service, area by area.
import { WebSocket } from 'ws'
import type { JsonObject } from '../../../../schemas/json.ts'
import type { Level } from '../report.ts'
import { Skipped, Unmet } from '../verdict.ts'
import { hostile } from './hostile.ts'
import { expectStatus, hasNoImages, type Run } from './run.ts'

export interface ServiceCheck {
  readonly id: string
  readonly level: Level
  /** True if it changes nothing. */
  readonly isRead?: true
  readonly clause: string
  readonly title: string
  readonly run: (run: Run) => Promise<void>
}

const REVOKED_MS = 2_000

export const SERVICE_CHECKS: readonly ServiceCheck[] = [
  {
    ...check('AUTH-01', 'Accounts', 'without a token, or with a wrong one, it answers 401'),
    isRead: true,
    run: async ({ rest }) => {
      for (const token of [null, 'wrong'])
        for (const path of ['/devices', '/users', '/audit', '/auth/me'])
          expectStatus(await rest.get(path, { token }), 401, `GET ${path} with ${token ?? 'no token'}`)
    },
  },
  {
    ...check('AUTH-02', 'Accounts', 'a device whose tokens are revoked is out within 2 s'),
    run: async (run) => {
      const device = await run.register()
      const { client } = await run.connect(device)
      const at = Date.now()
      const revoked = await run.rest.post(`/auth/devices/${device.id}/revoke`, {})
      if (revoked.status >= 300) expectStatus(revoked, 200, 'POST /auth/devices/{id}/revoke')
      await run.until('the session ends', () => (client.connected ? undefined : true))
      if (Date.now() - at > REVOKED_MS) throw new Unmet(`its session ended after ${Date.now() - at} ms`)
      await isRefused(run, { ...device })
    },
  },
  {
    ...check('REG-01', 'Devices', 'a device is registered, found in its group, changed and purged'),
    run: async (run) => {
      const { id } = await run.register({ tags: ['conformance'] })
      const read = await run.rest.get(`/devices/${id}`)
      expectStatus(read, 200, 'GET /devices/{id}')
      const { body } = await run.rest.get(`/devices?group=${encodeURIComponent(run.group)}&per_page=200`)
      const isListed =
        Array.isArray(body['data']) && body['data'].some((each) => Object(each).device_id === id)
      if (!isListed) throw new Unmet('a device that was registered is not in the list of its group', body)
      const changed = await run.rest.call('PATCH', `/devices/${id}`, { body: { name: 'another name' } })
      expectStatus(changed, 200, 'PATCH /devices/{id}')
      const twice = await run.rest.post('/devices', { device_id: id, name: id, type: 'mqtt_device' })
      expectStatus(twice, 409, 'POST /devices with an id that is taken')
      const purged = await run.rest.call('DELETE', `/devices/${id}?purge=true`)
      if (![200, 202].includes(purged.status)) expectStatus(purged, 200, 'DELETE /devices/{id}?purge=true')
      await run.until('404 after the purge', async () => {
        return (await run.rest.get(`/devices/${id}`)).status === 404 ? true : undefined
      })
    },
  },
  {
    ...check(
      'MQTT-01',
      'Writing a device',
      'it refuses a wrong token, an unknown device and another client id',
    ),
    run: async (run) => {
      const device = await run.register()
      await isRefused(run, { id: device.id, token: 'wrong' })
      await isRefused(run, { id: run.newId(), token: device.token })
      await isRefused(run, { id: `${device.id}-x`, token: device.token })
    },
  },
  {
    ...check('PRES-01', 'Presence', 'birth, farewell and last will make a device online and offline'),
    run: async (run) => {
      const device = await run.register()
      const topic = `fleet/${device.id}/status`
      const will = { topic, payload: Buffer.from(status('offline', 's2')), qos: 1, retain: true } as const
      const first = await run.connect(device)
      await first.say('status', status('online', 's1'))
      await hasStatus(run, device.id, 'online')
      await first.say('status', status('offline', 's1'))
      await first.client.endAsync()
      await hasStatus(run, device.id, 'offline')
      const second = await run.connect(device, { will })
      await second.say('status', status('online', 's2'))
      await hasStatus(run, device.id, 'online')
      second.client.stream.destroy()
      await hasStatus(run, device.id, 'offline')
    },
  },
  {
    ...check(
      'PRES-02',
      'Presence',
      'a second session of a device ends the first one, whose will changes nothing',
    ),
    run: async (run) => {
      const device = await run.register()
      const topic = `fleet/${device.id}/status`
      const willOf = (id: string) =>
        ({ topic, payload: Buffer.from(status('offline', id)), qos: 1, retain: true }) as const
      const first = await run.connect(device, { will: willOf('s1') })
      await first.say('status', status('online', 's1'))
      const second = await run.connect(device, { will: willOf('s2') })
      await second.say('status', status('online', 's2'))
      await run.until('the first session ends', () => (first.client.connected ? undefined : true))
      await second.say('telemetry', { here: 1 })
      await hasStatus(run, device.id, 'online')
    },
  },
  {
    ...check('TEL-01', 'Telemetry', 'what is acknowledged is in the latest values, and in the history'),
    run: async (run) => {
      const device = await run.register()
      const { say } = await run.connect(device)
      const from = Date.now() - 60_000
      const points = [3, 1, 2].map((n, index) => ({
        n,
        timestamp: new Date(from + index * 1_000).toISOString(),
      }))
      await say('telemetry', points)
      await say('telemetry', { room: { temperature: 21.5 }, on: true, mode: 'eco' })
      await run.until('the latest values', async () => {
        const latest = Object((await run.rest.get(`/telemetry/${device.id}`)).body['data'])
        const isThere = latest.room?.temperature === 21.5 && latest.mode === 'eco' && latest.on === true
        return isThere ? true : undefined
      })
      const range = `from=${new Date(from).toISOString()}&to=${new Date(from + 10_000).toISOString()}`
      const path = `/telemetry/${device.id}/history?metric=n&interval=10s&${range}`
      await run.until('buckets that say count 3, min 1, max 3, avg 2', async () => {
        const { body } = await run.rest.get(path)
        const buckets = Array.isArray(body['data']) ? body['data'].map(Object) : []
        const counts = buckets.reduce((sum, bucket) => sum + Number(bucket.count ?? 0), 0)
        const low = Math.min(...buckets.map((bucket) => Number(bucket.min ?? 9)))
        const high = Math.max(...buckets.map((bucket) => Number(bucket.max ?? 0)))
        return counts === 3 && low === 1 && high === 3 ? true : undefined
      })
    },
  },
  {
    ...check(
      'SHD-01',
      'Shadow',
      'of twenty writers with the same version one wins, and the device ends in sync',
    ),
    run: async (run) => {
      const device = await run.register()
      const session = await run.connect(device)
      await run.subscribe(session, device, 'shadow/desired', 'shadow/get/accepted')
      const path = `/shadows/${device.id}`
      const { version } = (await run.rest.get(path)).body
      const writes = Array.from({ length: 20 }, (_, n) =>
        run.rest.call('PUT', `${path}/desired`, { body: { n }, ifMatch: Number(version) }),
      )
      const won = (await Promise.all(writes)).filter((answer) => answer.status === 200)
      if (won.length !== 1) throw new Unmet(`${won.length} of 20 writers of the same version won, not one`)
      const wanted = Object((await run.rest.get(path)).body['desired']) as JsonObject
      await run.until('the device is told what is desired', () =>
        session.inbox.some(({ body }) => Object(body?.['state']).n === wanted['n']) ? true : undefined,
      )
      await session.say('shadow/reported', wanted)
      await run.until('the shadow is in sync', async () => {
        return (await run.rest.get(path)).body['in_sync'] === true ? true : undefined
      })
    },
  },
  {
    ...check('CMD-01', 'Commands', 'a command is delivered, acknowledged and completed'),
    run: async (run) => {
      const { device, session, order, id } = await ordered(run, { command: 'go', data: { speed: 2 } })
      await session.say('command/ack', { request_id: order, status: 'acked' })
      await hasCommand(run, { device, id, wanted: 'acked' })
      await session.say('command/ack', { request_id: order, status: 'completed', result: { far: 3 } })
      await hasCommand(run, { device, id, wanted: 'completed' })
    },
  },
  {
    ...check('CMD-02', 'Commands', 'nobody answers: it expires; a late answer counts all the same'),
    run: async (run) => {
      const { device, session, order, id } = await ordered(run, { command: 'go', timeout_sec: 1 })
      await hasCommand(run, { device, id, wanted: 'expired' })
      await session.say('command/ack', { request_id: order, status: 'completed' })
      await hasCommand(run, { device, id, wanted: 'completed' })
    },
  },
  {
    ...check('GW-01', 'Gateways', 'a gateway speaks for its sub-device, and for no other device'),
    run: async (run) => {
      const gateway = await run.register({ type: 'gateway' })
      const child = await run.register({ parent_id: gateway.id })
      const stranger = await run.register()
      const { say } = await run.connect(gateway)
      await say(`sub/${child.id}/telemetry`, { n: 7 })
      await say(`sub/${stranger.id}/telemetry`, { n: 8 })
      await run.until('the value of the sub-device', async () => {
        const { body } = await run.rest.get(`/telemetry/${child.id}`)
        return Object(body['data']).n === 7 ? true : undefined
      })
      const { body } = await run.rest.get(`/telemetry/${stranger.id}`)
      if (Object(body['data']).n !== undefined)
        throw new Unmet('a gateway spoke for a device that is not its own', body)
    },
  },
  {
    ...check(
      'OTA-01',
      'Firmware',
      'an image is uploaded, told to a device, loaded by ranges, and proved by a new session',
    ),
    run: updates,
  },
  {
    ...check('ALR-01', 'Alerts', 'a rule fires on a value, and is resolved by another'),
    run: async (run) => {
      const device = await run.register()
      const { say } = await run.connect(device)
      const made = await run.rest.post('/alerts/rules', {
        ...{ name: `conformance ${run.id}`, target: { type: 'device', value: device.id }, channels: [] },
        condition: { kind: 'threshold', metric: 'heat', op: '>', value: 80 },
      })
      expectStatus(made, 201, 'POST /alerts/rules')
      run.later(() => run.rest.call('DELETE', `/alerts/rules/${made.body['rule_id']}`))
      const count = async (state: string) =>
        Number((await run.rest.get(`/alerts?device_id=${device.id}&state=${state}`)).body['total'])
      await say('telemetry', { heat: 90 })
      await run.until('an alert that fires', async () => ((await count('firing')) === 1 ? true : undefined))
      await say('telemetry', { heat: 20 })
      await run.until('a resolved alert', async () => ((await count('resolved')) === 1 ? true : undefined))
    },
  },
  {
    ...check('WS-01', 'Live: /ws', 'telemetry arrives on /ws as soon as it is acknowledged'),
    run: async (run) => {
      const device = await run.register()
      const { say } = await run.connect(device)
      const ticket = await run.rest.post('/auth/ws-ticket', {})
      const socket = new WebSocket(`${run.url.replace(/^http/, 'ws')}/ws?ticket=${ticket.body['ticket']}`)
      try {
        const frames: JsonObject[] = []
        socket.on('error', () => undefined)
        socket.on('message', (data) => frames.push(JSON.parse(String(data))))
        await run.until('the socket opens', () => (socket.readyState === WebSocket.OPEN ? true : undefined))
        const filter = { device_id: device.id }
        socket.send(JSON.stringify({ type: 'subscribe', id: 's1', channel: 'telemetry', filter }))
        await run.until('subscribed', () => frames.find(({ type }) => type === 'subscribed'))
        await say('telemetry', { n: 42 })
        await run.until('the value on /ws', () =>
          frames.find((frame) => frame['type'] === 'event' && JSON.stringify(frame).includes('42')),
        )
      } finally {
        socket.terminate()
      }
    },
  },
  {
    ...check(
      'ERR-01',
      'Errors',
      'a wrong request is answered by a problem document with a code, and never by 5xx',
    ),
    isRead: true,
    run: hostile,
  },
  {
    ...check('OPS-01', 'Operation', 'it says that it lives and that it is ready'),
    isRead: true,
    run: async ({ rest }) => {
      for (const path of ['//livez', '//readyz'])
        expectStatus(await rest.get(path, { token: null }), 200, `GET ${path.slice(1)}`)
    },
  },
]

function check(id: string, clause: string, title: string): Omit<ServiceCheck, 'run'> {
  return { id, level: 'MUST', clause: `api/README.md, ${clause}`, title }
}

function status(word: 'online' | 'offline', sessionId: string, version = '1.0.0'): string {
  return JSON.stringify({ status: word, session_id: sessionId, firmware_version: version })
}

async function isRefused(run: Run, device: { readonly id: string; readonly token: string }): Promise<void> {
  const isIn = await run.connect(device).then(
    () => true,
    () => false,
  )
  if (isIn) throw new Unmet(`it lets in ${device.id}, which it should refuse`)
}

async function hasStatus(run: Run, id: string, wanted: string): Promise<void> {
  await run.until(`the status ${wanted}`, async () => {
    return (await run.rest.get(`/devices/${id}`)).body['status'] === wanted ? true : undefined
  })
}

/** A device that was sent a command. */
async function ordered(run: Run, body: JsonObject) {
  const device = await run.register()
  const session = await run.connect(device)
  await run.subscribe(session, device, 'command')
  await session.say('status', status('online', 's1'))
  const made = await run.rest.post(`/commands/${device.id}`, body)
  if (made.status >= 300) expectStatus(made, 202, 'POST /commands/{id}')
  const id = String(made.body['command_id'])
  const told = await run.until('the command on MQTT', () =>
    session.inbox.find(({ topic }) => topic === 'command'),
  )
  return { device, session, id, order: told.body?.['request_id'] ?? null }
}

async function hasCommand(
  run: Run,
  {
    device,
    id,
    wanted,
  }: { readonly device: { readonly id: string }; readonly id: string; readonly wanted: string },
): Promise<void> {
  await run.until(`the command is ${wanted}`, async () => {
    return (await run.rest.get(`/commands/${device.id}/${id}`)).body['status'] === wanted ? true : undefined
  })
}

async function updates(run: Run): Promise<void> {
  const version = `0.0.0-conf.${run.id}`
  const image = `image of ${run.id}`
  const form = new FormData()
  for (const [name, value] of Object.entries({ version, device_type: 'mqtt_device' })) form.set(name, value)
  form.set('file', new Blob([image]), 'firmware.bin')
  const made = await run.rest.post('/ota/firmware', form)
  if (hasNoImages(made)) throw new Skipped('the service has no storage for images')
  expectStatus(made, 201, 'POST /ota/firmware')
  run.later(() => run.rest.call('DELETE', `/ota/firmware/${made.body['firmware_id']}?force=true`))
  const device = await run.register()
  const session = await run.connect(device)
  await run.subscribe(session, device, 'ota')
  await session.say('status', status('online', 's1'))
  const deployed = await run.rest.post('/ota/deployments', {
    ...{ firmware_id: made.body['firmware_id'] ?? null, target: { type: 'device', value: device.id } },
    ...{ strategy: 'all', stable_sec: 0, rollback_on_failure: false },
  })
  expectStatus(deployed, 201, 'POST /ota/deployments')
  const deployment = deployed.body['deployment_id'] ?? null
  run.later(() => run.rest.post(`/ota/deployments/${String(deployment)}/cancel`, {}))
  const { body } = await run.until('the message on ota', () =>
    session.inbox.find(({ topic }) => topic === 'ota'),
  )
  const part = await fetch(String(body?.['url']), { headers: { range: 'bytes=6-' } })
  const text = await part.text()
  if (part.status !== 206 || text !== image.slice(6))
    throw new Unmet(`a range of the image is answered ${part.status}`, text)
  for (const word of ['downloaded', 'installing', 'rebooting'])
    await session.say('ota/status', { deployment_id: deployment, attempt: 1, status: word })
  await session.client.endAsync()
  const next = await run.connect(device)
  await next.say('status', status('online', 's2', version))
  await run.until('the deployment is completed', async () => {
    const { status: word } = (await run.rest.get(`/ota/deployments/${String(deployment)}`)).body
    return word === 'completed' ? true : undefined
  })
}
