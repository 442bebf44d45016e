// The history of devices, queried from a whole service in every form, with ten million points as a file.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ChdbSupervisor } from '../../engine/adapters/telemetry/chdb/chdb-supervisor.ts'
import { ClickHouseLink, type Endpoint } from '../../engine/adapters/telemetry/clickhouse/clickhouse-link.ts'
import { LIMITS } from '../../engine/limits.ts'
import { AGGREGATES } from '../../schemas/vocabulary.ts'
import { passed, type Service, ServiceHarness, until } from './testing/service.ts'
import { connectDevice, publish } from './testing/service-clients.ts'
import { type Rest, registerDevice } from './testing/service-rest.ts'

const MIB = 1024 * 1024
const ROWS = 10_000_000
/** The device with many points reports ten per second from this time on. */
const START = Date.UTC(2026, 0, 1)
/** Longer than the device with many points is old, whenever this runs. */
const RETENTION_DAYS = Math.ceil((Date.now() - START) / 86_400_000) + 30
const LOG_RETENTION_DAYS = 14

const harness = new ServiceHarness()
let service: Service
let admin: Rest

beforeAll(async () => {
  const first = await harness.start({ FLEET_RETENTION_DAYS: String(RETENTION_DAYS) })
  await registerDevice(await first.admin(), 'many')
  await registerDevice(await first.admin(), 'aged')
  first.kill('SIGTERM')
  await first.ended
  await fill(first)
  // One user sends more requests than a person would.
  service = await first.again({ FLEET_USER_REQUEST_RATE: '0', FLEET_DEVICE_REQUEST_RATE: '0' })
  admin = await service.admin()
})
afterAll(async () => {
  await harness.close()
})

async function fill({ dataDir, settings }: Service): Promise<void> {
  const server = settings['FLEET_CLICKHOUSE_URL']
  const own =
    server === undefined ? await ChdbSupervisor.open({ dataDir: join(dataDir, 'telemetry') }) : undefined
  const link = new ClickHouseLink(() => own?.endpoint() ?? endpointOf(server ?? ''))
  await link.query({
    sql: `INSERT INTO points (device_id, metric, ts, value, version, received)
      SELECT 'many', 'load', fromUnixTimestamp64Milli(toInt64({start:Int64} + number * 100), 'UTC'), number % 1000 / 8, number,
        toDateTime(intDiv({start:Int64} + number * 100, 1000), 'UTC') FROM numbers(${ROWS})`,
    params: { start: START },
    timeoutMs: 60_000,
  })
  // Together with the existing ones, these are a few more points than one query may read.
  await link.query({
    sql: `INSERT INTO points SELECT device_id, 'more', ts + toIntervalMicrosecond(n), value, version, received
      FROM points ARRAY JOIN [0, 1] AS n WHERE metric = 'load'`,
    timeoutMs: 60_000,
  })
  // What came in an hour before and an hour after the end of the retention, together, so that ClickHouse drops neither.
  const aged = (days: number) => `(SELECT arrayJoin([${days * 24 - 1}, ${days * 24 + 1}]) AS age)`
  await link.query({
    sql: `INSERT INTO points (device_id, metric, ts, value, version, received)
      SELECT 'aged', 'load', now64(6) - toIntervalHour(age), age, age, now() - toIntervalHour(age)
      FROM ${aged(RETENTION_DAYS)}`,
    timeoutMs: 60_000,
  })
  await link.query({
    sql: `INSERT INTO history (device_id, kind, at, version, received, body)
      SELECT 'aged', 'log', now64(6) - toIntervalHour(age), age, now() - toIntervalHour(age),
        concat('{"level":"info","message":"', toString(age), '"}')
      FROM ${aged(LOG_RETENTION_DAYS)}`,
    timeoutMs: 60_000,
  })
  await link.close()
  await own?.close()
}

function endpointOf(address: string): Endpoint {
  const { origin, username, password } = new URL(address)
  return { url: origin, username, password }
}

const at = (second: number) => new Date(START + second * 1000).toISOString()

/** Two minutes of a device: numbers, a text and a boolean, some of them nested. */
async function report(deviceId: string, more: object = {}): Promise<void> {
  const token = await registerDevice(admin, deviceId, more)
  const client = await connectDevice(service, deviceId, token)
  const values = [4, 1, 3, 2]
  await publish(
    client,
    deviceId,
    values.map((v, i) => ({
      timestamp: at(i * 30),
      speed: v,
      battery: { percent: 90 - i, volt: 12.5 },
      state: i < 2 ? 'idle' : '=busy',
      on: i % 2 === 0,
    })),
  )
  await client.endAsync(true)
  await until(
    'the points',
    async () => (await past(deviceId, 'metric=speed&agg=count')).body['data']?.length === 2,
  )
}

const TWO_MINUTES = `from=${at(0)}&to=${at(120)}`
const past = async (deviceId: string, query: string) => {
  const { status, headers, body, text } = await admin.get(
    `/telemetry/${deviceId}/history?${TWO_MINUTES}&${query}`,
  )
  // Tests read fields of bodies directly; other tests check the schemas.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  return { status, headers, text, body: body as any }
}

describe('what a device reported', () => {
  beforeAll(() => report('robot', { group: 'hall/a' }))

  test('the metrics of a device are listed', async () => {
    const { body } = await admin.get('/telemetry/robot/metrics')
    const shown = (body['data'] as { metric: string; type: string; value: unknown }[]).map(
      ({ metric, type, value }) => [metric, type, value],
    )
    expect(shown).toEqual([
      ['battery.percent', 'number', 87],
      ['battery.volt', 'number', 12.5],
      ['on', 'boolean', false],
      ['speed', 'number', 2],
      ['state', 'string', '=busy'],
    ])
  })

  test('a range that the database cannot hold is refused with the one it can', async () => {
    for (const [from, to] of [
      ['0001-01-01', '0002-01-01'],
      ['1890-01-01', '1891-01-01'],
      ['1969-01-01', '1971-01-01'],
      ['2150-01-01', '2151-01-01'],
      ['9998-01-01', '9999-01-01'],
    ])
      for (const path of ['telemetry/robot/history?metric=speed&interval=1d', 'devices/robot/logs?limit=1']) {
        const { status, body } = await admin.get(`/${path}&from=${from}&to=${to}`)
        expect([path, from, status, body['code']]).toEqual([path, from, 422, 'VALIDATION_FAILED'])
        expect(body['detail']).toMatch(/must be from 1970-01-01T00:00:00.000Z to 2100-01-01T00:00:00.000Z/)
      }
    const ever = await admin.get('/telemetry/robot/history?metric=speed&interval=1d&from=2010-01-01')
    expect(ever.status).toBe(200)
  })

  test('points and log lines are there up to the end of their retention, and gone after it', async () => {
    const points = await admin.get(
      `/telemetry/aged/history?metric=load&interval=raw&from=-${RETENTION_DAYS + 2}d`,
    )
    const values = (points.body['data'] as { value: unknown }[]).map(({ value }) => value)
    expect(values).toEqual([RETENTION_DAYS * 24 - 1])
    const logs = await admin.get('/devices/aged/logs')
    const messages = (logs.body['data'] as { message: unknown }[]).map(({ message }) => message)
    expect(messages).toEqual([String(LOG_RETENTION_DAYS * 24 - 1)])
  })

  test('times may be relative to the present', async () => {
    const count = async (query: string) =>
      (await admin.get(`/telemetry/robot/history?metric=speed&interval=1d&agg=count&${query}`)).body['data']
    const days = Math.ceil((Date.now() - START) / 86_400_000) + 1
    expect(await count(`from=-${days}d&to=now`)).toEqual([{ time: at(0), count: 4 }])
    expect(await count(`from=${START}&to=now-1m`)).toEqual([{ time: at(0), count: 4 }])
    expect(await count('from=-15m')).toEqual([])
    expect((await admin.get('/devices/robot/events?from=-2h')).body['data']).not.toEqual([])
    expect((await admin.get('/telemetry/robot/history?metric=speed&from=-2x')).text).toContain('-15m')
  })

  test('every aggregate is exact', async () => {
    const { body } = await past('robot', `metric=speed&interval=1h&agg=${AGGREGATES.join(',')}`)
    const { time, stddev, ...bucket } = body.data[0]
    expect([body.data.length, time]).toEqual([1, at(0)])
    expect(stddev).toBeCloseTo(Math.sqrt(1.25))
    expect(bucket.p95).toBeCloseTo(3.85)
    expect(bucket).toMatchObject({ avg: 2.5, min: 1, max: 4, count: 4, last: 2, sum: 10, first: 4, p50: 2.5 })
  })

  test('a prefix gives a series per metric, filled, in days of a time zone', async () => {
    const { body } = await past('robot', 'metric=battery.*&agg=last&fill=previous&interval=10s')
    expect(body.series.map(({ metric }: { metric: string }) => metric)).toEqual([
      'battery.percent',
      'battery.volt',
    ])
    expect(body.series[0].data.map(({ last }: { last: number }) => last)).toEqual([
      90, 90, 90, 89, 89, 89, 88, 88, 88, 87, 87, 87,
    ])
    const days = await past('robot', 'metric=speed&interval=1d&tz=America/New_York&agg=count')
    expect(days.body.data).toEqual([{ time: '2025-12-31T05:00:00.000Z', count: 4 }])
  })

  test('points are listed, texts too', async () => {
    const { body } = await past('robot', 'metric=state&interval=raw')
    expect(body.data.map(({ value }: { value: string }) => value)).toEqual(['idle', 'idle', '=busy', '=busy'])
    expect((await past('robot', 'metric=state')).body.data).toEqual([])
    expect((await past('robot', 'metric=on&interval=raw&limit=2')).body).toMatchObject({
      data: [{ value: 1 }, { value: 0 }],
      next_cursor: expect.any(String),
    })
  })

  test('history is exported in every format', async () => {
    const csv = await past('robot', 'metric=state,speed&interval=raw&format=csv')
    expect(csv.headers.get('content-disposition')).toContain('attachment; filename="robot-20260101T000000Z-')
    const rows = csv.text.trim().split('\n')
    expect(rows[0]).toBe('"device_id","metric","time","value","text"')
    expect(rows).toContain('"robot","speed","2026-01-01T00:00:30.000000Z",1,')
    expect(rows).toContain('"robot","state","2026-01-01T00:01:00.000000Z",,"\'=busy"')
    expect(rows).toHaveLength(9)
    const lines = await past('robot', 'metric=speed&agg=max&format=ndjson')
    expect(
      lines.text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).max),
    ).toEqual([4, 3])
    const parquet = await past('robot', 'metric=speed&format=parquet')
    expect([parquet.headers.get('content-type'), parquet.text.slice(0, 4)]).toEqual([
      'application/vnd.apache.parquet',
      'PAR1',
    ])
  })

  test('a group is queried as a whole', async () => {
    await report('robot2', { group: 'hall' })
    const fleet = async (query: string) =>
      (await admin.get(`/telemetry?metric=speed&group=hall&interval=1h&${TWO_MINUTES}&${query}`)).body
    expect(await fleet('agg=sum')).toMatchObject({
      total: 2,
      data: [
        { device_id: 'robot', data: [{ time: at(0), sum: 10 }] },
        { device_id: 'robot2', data: [{ time: at(0), sum: 10 }] },
      ],
    })
    expect(await fleet('by=group&agg=sum,count,p50')).toMatchObject({
      devices: 2,
      data: [{ time: at(0), sum: 20, count: 8, p50: 2.5 }],
    })
  })
})

describe('no parameter is SQL', () => {
  const EVIL = [
    "' OR 1=1 --",
    "'; DROP TABLE points; --",
    "\\'; DROP TABLE points; --",
    "m' UNION ALL SELECT * FROM system.tables --",
    '{device:String}',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: an injection attempt, not a template.
    '${7*7}',
    'toString(sleep(3))',
    "') FORMAT CSV",
    '*/ DROP TABLE points /*',
    '\0',
    '\t\n\\N',
    '`points`',
    "url('http://127.0.0.1:1/','CSV')",
    '%27%20OR%201=1',
  ]
  const PARAMETERS = [
    ...['metric', 'from', 'to', 'interval', 'agg', 'fill', 'tz', 'format', 'limit', 'cursor'].map(
      (name) => ['/telemetry/many/history', name] as const,
    ),
    ...[
      'metric',
      'group',
      'by',
      'from',
      'to',
      'interval',
      'agg',
      'fill',
      'tz',
      'format',
      'page',
      'per_page',
    ].map((name) => ['/telemetry', name] as const),
  ]
  const last = `from=${at(0)}&to=${at(60)}`

  test.each(PARAMETERS)('%s?%s= takes no SQL', async (path, name) => {
    for (const evil of EVIL)
      for (const more of ['', '&interval=raw', '&format=csv', '&interval=raw&format=ndjson']) {
        const given = `${name === 'metric' ? '' : '&metric=load'}${name === 'from' || name === 'to' ? '' : `&${last}`}`
        const rest = more.includes(`&${name}=`) ? '' : more
        const { status, text } = await admin.get(`${path}?${name}=${encodeURIComponent(evil)}${given}${rest}`)
        expect([200, 400, 422], `${path} ${name}=${evil}${rest}: ${text}`).toContain(status)
        expect(text).not.toMatch(/DB::Exception|Code: \d+|MergeTree/)
      }
    const { body } = await admin.get(`/telemetry/many/history?metric=load&agg=count&${last}`)
    expect(body['data']).toEqual([{ time: at(0), count: 600 }])
  })
})

describe('ten million points', () => {
  const WHOLE = `metric=load&from=${at(0)}&to=${at(ROWS / 10)}`
  const open = (query: string) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const url = `${service.httpUrl}/api/v1/telemetry/many/history?${WHOLE}&${query}`
      get(url, { headers: { authorization: `Bearer ${admin.token}` } }, resolve).once('error', reject)
    })

  // A first file takes memory that a large one does not.
  beforeAll(async () => {
    const { text } = await admin.get(
      `/telemetry/many/history?metric=load&interval=raw&format=csv&from=${at(0)}&to=${at(86_400)}`,
    )
    expect(text.length).toBeGreaterThan(10 * MIB)
  })

  test.each([['csv'], ['ndjson'], ['parquet']])(
    'ten million points are exported as %s without memory of the service',
    async (format) => {
      const before = memoryOf(service.pid)
      let most = 0
      let lines = 0
      const response = await open(`interval=raw&format=${format}`)
      for await (const chunk of response) {
        // A response without an encoding gives buffers.
        for (const byte of chunk as Buffer) if (byte === 10) lines++
        most = Math.max(most, memoryOf(service.pid))
      }
      expect(response.complete).toBe(true)
      if (format !== 'parquet') expect(lines).toBe(ROWS + (format === 'csv' ? 1 : 0))
      expect((most - before) / MIB).toBeLessThan(64)
    },
  )

  test('an export waits for a slow reader without buffering, and stops when the reader leaves', async () => {
    const before = memoryOf(service.pid)
    const slow = await open('interval=raw&format=csv')
    slow.once('data', () => slow.pause())
    await once(slow, 'pause')
    await passed(2_000)
    expect((memoryOf(service.pid) - before) / MIB).toBeLessThan(64)
    slow.destroy()
    // Exports whose reader left free their places.
    for (let i = 0; i < LIMITS.telemetryStreamsAtOnceMax * 2; i++) {
      const gone = await until('a place', async () => {
        const response = await open('interval=raw&format=ndjson')
        if (response.statusCode === 200) return response
        expect(response.statusCode).toBe(503)
        response.destroy()
        return undefined
      })
      gone.destroy()
    }
  })

  test('aggregates beyond rollups are exact, or refused with advice', async () => {
    const day = await admin.get(
      `/telemetry/many/history?metric=load&interval=1d&agg=p99,count&from=${at(0)}&to=${at(86_400)}`,
    )
    // There are 864 points for each value of 0 … 999 eighths.
    const p99 = expect.closeTo(989.01 / 8, 9)
    expect(day.body['data']).toEqual([{ time: at(0), p99, count: 864_000 }])
    const many = await admin.get(`/telemetry/many/history?${WHOLE}&interval=10s`)
    expect([many.status, many.text]).toEqual([422, expect.stringContaining('use interval=5m')])
    const points = await admin.get(`/telemetry/many/history?${WHOLE}&metric=more&interval=1d&agg=p50`)
    expect([points.status, points.text]).toEqual([422, expect.stringContaining('ask for less time')])
  })
})

/** Resident memory of a process in bytes. */
function memoryOf(pid: number): number {
  const [, kib = '0'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) * 1024
}
