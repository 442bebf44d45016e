// Data that ClickHouse really lost is restored from the log by `fleet repair telemetry`.
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ChdbSupervisor } from '../../engine/adapters/telemetry/chdb/chdb-supervisor.ts'
import { ClickHouseLink } from '../../engine/adapters/telemetry/clickhouse/clickhouse-link.ts'
import { openCliHarness } from '../cli/testing/cli.ts'
import { type Service, ServiceHarness, until } from './testing/service.ts'
import { connectDevice, publish } from './testing/service-clients.ts'
import { registerDevice } from './testing/service-rest.ts'

const harness = new ServiceHarness()
const cli = openCliHarness()
afterAll(async () => {
  await cli.close()
  await harness.close()
})

const DEVICES = ['r1', 'r2', 'r3', 'r4', 'r5']
const MESSAGES = 200
const HOUR = 3_600_000

/** Runs while the service is stopped. */
async function inDatabase<Result>(
  { dataDir }: Service,
  use: (run: (sql: string) => Promise<string>) => Promise<Result>,
): Promise<Result> {
  const chdb = await ChdbSupervisor.open({ dataDir: join(dataDir, 'telemetry') })
  const link = new ClickHouseLink(() => chdb.endpoint())
  try {
    return await use(async (sql) => (await link.query({ sql, timeoutMs: 60_000 })).toString().trim())
  } finally {
    await link.close()
    await chdb.close()
  }
}

const ROWS = ['points', 'texts'].map(
  (table) =>
    `SELECT device_id, metric, ts, value, version, received FROM ${table} FINAL ORDER BY ALL FORMAT TSV`,
)
const LOGS = `SELECT device_id, kind, at, version, received, body FROM history FINAL WHERE kind = 'log' ORDER BY ALL FORMAT TSV`

const all = (run: (sql: string) => Promise<string>) => Promise.all([...ROWS, LOGS].map(run))

async function speak(service: Service, deviceId: string): Promise<void> {
  const admin = await service.admin()
  const token = await registerDevice(admin, deviceId)
  const client = await connectDevice(service, deviceId, token)
  const start = Date.now() - 3 * HOUR
  for (let n = 0; n < MESSAGES; n++) {
    const at = new Date(start + n * 50_000).toISOString()
    const report = { n, half: n / 2, nested: { mode: n % 7 === 0 ? 'idle' : 'busy' } }
    // Some messages carry their time, some get their receive time, and some repeat a point.
    await publish(client, deviceId, [n % 3 === 0 ? report : { timestamp: at, ...report }])
  }
  await client.publishAsync(`fleet/${deviceId}/log`, JSON.stringify({ level: 'warn', message: 'hot' }), {
    qos: 1,
  })
  await client.endAsync()
}

test('the rows of truncated tables are restored from the log while the service runs', async () => {
  const first = await harness.start()
  await Promise.all(DEVICES.map((id) => speak(first, id)))
  first.kill('SIGTERM')
  await first.ended
  const before = await inDatabase(first, all)
  expect(before[0]?.split('\n').length).toBe(DEVICES.length * MESSAGES * 2)
  expect(before[2]?.split('\n').length).toBe(DEVICES.length)
  await inDatabase(first, async (run) => {
    for (const table of ['points', 'texts', 'history']) await run(`TRUNCATE TABLE ${table}`)
    expect(await all(run)).toEqual(['', '', ''])
  })

  const service = await first.again()
  const admin = await service.admin()
  const env = { FLEET_CLI_URL: service.httpUrl, FLEET_CLI_TOKEN: admin.token ?? '' }
  const { body: issued } = await admin.post('/auth/devices/token', { device_id: 'r1' })
  const live = await connectDevice(service, 'r1', String(issued['mqtt_token']))
  const publishing = publish(live, 'r1', [{ live: 1 }])
  const repaired = await cli.run(['repair', 'telemetry', '--json'], { env })
  await publishing
  await live.endAsync()
  expect([repaired.code, repaired.stderr]).toEqual([0, expect.stringContaining('%')])
  expect(JSON.parse(repaired.stdout)).toMatchObject({ status: 'done', progress: 1, from: null, detail: null })
  expect((await admin.get('/telemetry/repair')).body).toMatchObject({ status: 'done' })
  const { body } = await admin.get('/devices/r2/logs')
  expect(body['data']).toMatchObject([{ level: 'warn', message: 'hot' }])
  await until('the live point', async () => {
    const { body } = await admin.get('/telemetry/r1/history?metric=live&agg=count&interval=1h')
    return JSON.stringify(body).includes('"count":1')
  })
  service.kill('SIGTERM')
  await service.ended
  const after = await inDatabase(service, all)
  expect(after.map((rows) => rows.replaceAll(/^r1\tlive\t.*\n?/gm, '').trim())).toEqual(before)
})
