// The first steps of a newcomer with a whole service: the lines of the README, and what they rely on.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import type { MqttClient } from 'mqtt'
import { afterAll, expect } from 'vitest'
import { applied, PROFILE, type Service, until } from './testing/service.ts'
import { connectDevice, publish, watch } from './testing/service-clients.ts'
import { historyOf, type Rest, registerDevice } from './testing/service-rest.ts'
import { test } from './testing/shared-service.ts'

let service: Service
let admin: Rest
let device: MqttClient

test.beforeAll(async ({ service: given }) => {
  service = given
  admin = await service.admin()
  device = await connectDevice(
    service,
    'robot-1',
    await registerDevice(admin, 'robot-1', { group: 'hall/a' }),
  )
})
afterAll(async () => {
  await device?.endAsync(true)
})

/** A line of the Prometheus text format. */
const SAMPLE = /^[a-z_:][\w:]*(\{(\w+="[^"]*",?)*\})? (-?[\d.e+-]+|NaN|[+-]Inf)$/i
const connectivity = (body: Readonly<Record<string, unknown>>) => Object(body['connectivity'])

/** The acknowledgement of a broker outside comes before the service has the message. */
const ARRIVED = `until curl -s "$API/telemetry/thermo-1" -H "Authorization: Bearer $TOKEN" | grep -q 21.5; do :; done
`

test('the lines of the README work as printed', async () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const [, script = ''] = /```bash\n(API=[\s\S]*?)```/.exec(readme) ?? []
  const { port } = new URL(service.mqttUrl)
  const lines = script
    .replace('http://localhost:8000', service.httpUrl)
    .replace('-h localhost', '-h 127.0.0.1')
    .replace('FLEET_MQTT_PORT:-1883', `FLEET_MQTT_PORT:-${port}`)
    // The package mqtt brings the same program under another name.
    .replace('mosquitto_pub', 'node node_modules/mqtt/build/bin/pub.js')
    .replace('# 4.', `${PROFILE === 'cluster' ? ARRIVED : ''}# 4.`)
  const root = new URL('../..', import.meta.url)
  const run = promisify(execFile)
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', lines], { cwd: root })
  const said = stdout
  expect(said).toContain('"data":{"temperature":21.5,"battery":{"percent":88}}')
  expect(said).toContain('"metric":"temperature"')
  expect(said).toMatch(/"device_id":"thermo-1".*"status":"online"/s)
})

test('a device is provisioning until it connects, and answers have the fields of the contract', async () => {
  const registered = await admin.post('/devices', { name: 'New', type: 'gateway', tags: ['red'] })
  expect(registered.status).toBe(201)
  const id = String(registered.body['device_id'])
  expect(registered.body).toMatchObject({
    id,
    status: 'provisioning',
    mqtt_topics: { publish: `fleet/${id}/#`, subscribe: `fleet/${id}/#` },
    mqtt_endpoint: service.mqttUrl,
  })
  expect(registered.headers.get('location')).toBe(`/api/v1/devices/${id}`)
  expect(await admin.get(`/telemetry/${id}`)).toMatchObject({
    status: 200,
    body: { data: {}, timestamp: null },
  })

  await applied(async () => {
    const found = await admin.get('/devices/robot-1')
    expect(found.body).toMatchObject({ status: 'online', group: 'hall/a' })
    expect(connectivity(found.body)).toMatchObject({ connected: true, reason: 'connect' })
  })
  const listed = await admin.get('/devices?group=hall&status=online&per_page=1')
  expect(listed.body).toMatchObject({ page: 1, per_page: 1, total: 1, data: [{ device_id: 'robot-1' }] })
  expect(listed.headers.get('x-total-count')).toBe('1')
  expect(await admin.get('/auth/me')).toMatchObject({ status: 200, body: { role: 'admin' } })
})

// A broker outside acknowledges before the log has a message.
test.skipIf(PROFILE === 'cluster')(
  'an acknowledged message is in the next snapshot, two hundred times in a row',
  async () => {
    for (let n = 1; n <= 200; n++) {
      await publish(device, 'robot-1', { n, position: { x: n / 2 } })
      const { body } = await admin.get('/telemetry/robot-1')
      expect(body['data']).toMatchObject({ n, position: { x: n / 2 } })
    }
  },
)

test('buckets of every interval are exact for history that arrives out of order', async () => {
  const start = Date.UTC(2025, 2, 3, 22, 59, 40)
  // A point every 7 s for 75 minutes, across the end of an hour and of a day; half of them in reverse order.
  const points = Array.from({ length: 643 }, (_, i) => ({ at: start + i * 7_000, value: (i * 37) % 101 }))
  const shuffled = [
    ...points.filter((_, i) => i % 2 === 0).reverse(),
    ...points.filter((_, i) => i % 2 === 1),
  ]
  for (let i = 0; i < shuffled.length; i += 100) {
    const report = shuffled
      .slice(i, i + 100)
      .map(({ at, value }) => ({ timestamp: new Date(at).toISOString(), load: value }))
    await publish(device, 'robot-1', report)
  }
  // A correction and its repetition: the later value counts, and nothing is counted twice.
  const first = points[0] ?? { at: 0, value: 0 }
  await publish(device, 'robot-1', { timestamp: first.at, load: 500 })
  await publish(device, 'robot-1', { timestamp: first.at, load: 500 })
  const told = points.map((point) => (point.at === first.at ? { ...point, value: 500 } : point))

  const range = { metric: 'load', from: start - 1_000, to: start + 86_400_000 }
  const widths = { '10s': 10, '1m': 60, '5m': 300, '1h': 3_600, '1d': 86_400 }
  await until('every point is queryable', async () => {
    const [day] = await historyOf(admin, 'robot-1', { ...range, interval: '1d' })
    return day?.max === 500 && (await countOf(range)) === points.length
  })
  for (const [interval, seconds] of Object.entries(widths)) {
    const buckets = await historyOf(admin, 'robot-1', { ...range, interval })
    expect(buckets, interval).toEqual(bucketsOf(told, seconds * 1000))
  }

  async function countOf(asked: typeof range): Promise<number> {
    const buckets = await historyOf(admin, 'robot-1', { ...asked, interval: '1h' })
    return buckets.reduce((sum, { count }) => sum + count, 0)
  }
})

function bucketsOf(points: readonly { readonly at: number; readonly value: number }[], width: number) {
  const groups = new Map<number, number[]>()
  for (const { at, value } of points) {
    const time = at - (at % width)
    groups.set(time, [...(groups.get(time) ?? []), value])
  }
  return [...groups].map(([time, values]) => ({
    time: new Date(time).toISOString(),
    avg: expect.closeTo(values.reduce((sum, value) => sum + value, 0) / values.length, 9),
    min: Math.min(...values),
    max: Math.max(...values),
    count: values.length,
    last: values.at(-1),
  }))
}

test('/ws sends the present state and then every change', async () => {
  const watcher = await watch(service, admin)
  await publish(device, 'robot-1', { speed: 1 })
  await applied(async () =>
    expect((await admin.get('/telemetry/robot-1')).body['data']).toMatchObject({ speed: 1 }),
  )
  await watcher.subscribe('d', 'devices', { snapshot: true })
  await watcher.subscribe('t', 'telemetry', { filter: { device_id: 'robot-1' }, snapshot: true })
  const devices = await watcher.next('devices', ({ type, id }) => type === 'snapshot' && id === 'd')
  expect(JSON.stringify(devices.data)).toContain('"device_id":"robot-1"')
  const telemetry = await watcher.next('telemetry', ({ type, id }) => type === 'snapshot' && id === 't')
  expect(JSON.stringify(telemetry.data)).toContain('"speed":1')

  for (let n = 2; n <= 20; n++) await publish(device, 'robot-1', { speed: n })
  const token = await registerDevice(admin, 'robot-2')
  const other = await connectDevice(service, 'robot-2', token)
  await publish(other, 'robot-2', { speed: 99 })
  await watcher.next('the last report', ({ type, data }) => type === 'event' && speedOf(data) === 20)
  await watcher.next(
    'a status',
    ({ event, device_id }) => event === 'device.status' && device_id === 'robot-2',
  )
  const heard = watcher.frames.filter(({ type, id }) => type === 'event' && id === 't')
  expect(heard.map(({ data }) => speedOf(data))).toEqual(Array.from({ length: 19 }, (_, i) => i + 2))
  expect(heard.map(({ seq }) => seq)).toEqual(heard.map((_, i) => i + (heard[0]?.seq ?? 0)))
  watcher.socket.terminate()
  await other.endAsync(true)
})

const speedOf = (data: unknown): unknown => Reflect.get(Object(Reflect.get(Object(data), 'data')), 'speed')

test('an invalid message is acknowledged, becomes a dead letter with its reason, and stops nothing', async () => {
  const id = 'strange-1'
  const strange = await connectDevice(service, id, await registerDevice(admin, id))
  const bad: Readonly<Record<string, string | Buffer>> = {
    not_json: '{"a":',
    not_object: '"text"',
    too_deep: `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`,
    bad_number: '{"a":1e400}',
    not_utf8: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
    too_many_fields: JSON.stringify(
      Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`f${i}`, i])),
    ),
    bad_timestamp: '{"timestamp":"2026-02-30T00:00:00Z","a":1}',
  }
  for (const payload of Object.values(bad)) await publish(strange, id, payload)
  await publish(strange, id, { big: 2 ** 53, __proto__: null, '__proto__.x': 1, constructor: { name: 3 } })
  for (const timestamp of ['1970-01-01T00:00:00Z', '2999-01-01T00:00:00Z'])
    await publish(strange, id, { timestamp, clock: 1 })

  const letters = await until('the dead letters', async () => {
    const { body } = await admin.get(`/dead-letters?device_id=${id}&per_page=200`)
    return body['total'] === Object.keys(bad).length && body['data']
  })
  // The answer has the type of its schema.
  const list = letters as readonly {
    readonly reason: string
    readonly topic: string
    readonly payload_bytes: number
  }[]
  expect(list.map(({ reason }) => reason).reverse()).toEqual(Object.keys(bad))
  expect(
    list.every(({ topic, payload_bytes: bytes }) => topic === `fleet/${id}/telemetry` && bytes > 0),
  ).toBe(true)
  await applied(async () =>
    expect((await admin.get(`/telemetry/${id}`)).body['data']).toMatchObject({
      big: 2 ** 53,
      clock: 1,
      constructor: { name: 3 },
    }),
  )
  const now = Date.now()
  const clock = { metric: 'clock', interval: '1h', from: now - 3_600_000, to: now + 60_000 }
  const stored = await until('both points', async () => {
    const buckets = await historyOf(admin, id, clock)
    const count = buckets.reduce((sum, bucket) => sum + bucket.count, 0)
    return count >= 2 && count
  })
  expect(stored).toBe(2)
  expect(strange.connected).toBe(true)
  await strange.endAsync(true)
})

test('metrics beyond a device’s limit do not affect the others', async () => {
  const id = 'wide-1'
  const wide = await connectDevice(service, id, await registerDevice(admin, id))
  for (let part = 0; part < 20; part++) {
    const fields = Array.from({ length: 500 }, (_, i) => [`m${part * 500 + i}`, i])
    await publish(wide, id, Object.fromEntries(fields))
  }
  await publish(wide, id, { m1: 77 })
  await applied(async () => {
    const { body } = await admin.get(`/telemetry/${id}`)
    expect(Object.keys(Object(body['data']))).toHaveLength(2_000)
    expect(body['data']).toMatchObject({ m1: 77 })
  })
  const { text } = await service.nobody.get('//metrics')
  expect(text).toMatch(/^fleet_ingest_points_dropped_total [1-9]/m)
  await wide.endAsync(true)
})

test('metrics hold no ids, and probes and problems are as documented', async () => {
  const metrics = await service.nobody.get('//metrics')
  expect(metrics.headers.get('content-type')).toContain('text/plain')
  const lines = metrics.text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const odd = lines.filter((line) => !SAMPLE.test(line))
  expect(odd).toEqual([])
  expect(metrics.text).not.toMatch(/robot-1|strange-1|wide-1|usr_/)
  expect(metrics.text).toMatch(/^fleet_ingest_messages_total\{.*result="stored".*\} [1-9]/m)
  expect(lines.length).toBeLessThan(1_500)

  expect(await service.nobody.get('//livez')).toMatchObject({ status: 200 })
  expect(await service.nobody.get('//healthz')).toMatchObject({ status: 200 })
  const ready = await service.nobody.get('//readyz?verbose')
  expect(ready).toMatchObject({
    status: 200,
    body: { status: 'ready', http_url: service.httpUrl, mqtt_url: service.mqttUrl },
  })
  const problems = [
    await admin.call('PUT', '/devices'),
    await admin.get('/nothing'),
    await admin.get('/devices/nobody'),
    await service.nobody.get('/devices'),
    await admin.get('/devices?per_page=201'),
    await admin.post('/devices', { name: 'x', type: 'no such type' }),
  ]
  expect(problems.map(({ status }) => status)).toEqual([405, 404, 404, 401, 422, 422])
  for (const { status, headers, body } of problems) {
    expect(headers.get('content-type')).toContain('application/problem+json')
    expect(body).toMatchObject({ status, code: expect.any(String), request_id: expect.any(String) })
  }
  expect(problems[0]?.headers.get('allow')).toContain('GET')
})
