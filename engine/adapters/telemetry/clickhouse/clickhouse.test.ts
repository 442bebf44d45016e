import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Micros, Millis } from '../../../../schemas/ids.ts'
import { gridOf } from '../../../domain/telemetry/grid.ts'
import type { DeadLetter } from '../../../ports/store.ts'
import { Inserter } from '../../../runtime/rows/inserter.ts'
import { realSchedule } from '../../../runtime/schedule.ts'
import { ChdbSupervisor } from '../chdb/chdb-supervisor.ts'
import { auditContract } from '../testing/audit-contract.ts'
import { censusContract } from '../testing/census-contract.ts'
import { telemetryContract } from '../testing/contract.ts'
import { devicesContract } from '../testing/devices-contract.ts'
import { fleetHistoryContract } from '../testing/fleet-history-contract.ts'
import { historyContract } from '../testing/history-contract.ts'
import { pastAlertsContract } from '../testing/past-alerts-contract.ts'
import { seriesContract } from '../testing/series-contract.ts'
import { begun, DeviceIdOf, historyBlock, pointsBlock, urlOf } from '../testing/telemetry.ts'
import { ClickHouseLink } from './clickhouse-link.ts'
import { type ServerTelemetryOptions, serverTelemetry } from './server.ts'

const dir = mkdtempSync(join(tmpdir(), 'fleet-telemetry-'))
let chdb: ChdbSupervisor

beforeAll(async () => {
  // Buckets must not depend on the server's time zone, which is 5½ hours off here.
  chdb = await ChdbSupervisor.open({ dataDir: dir, env: { TZ: 'Asia/Kolkata' } })
})
afterAll(async () => {
  await chdb.close()
  rmSync(dir, { recursive: true, force: true })
})

const open = (over: Partial<ServerTelemetryOptions> = {}) =>
  begun(serverTelemetry({ url: urlOf(chdb.endpoint()), ...over }))

telemetryContract({
  name: 'ClickHouse, served by chdb',
  open: () => open(),
  restart: async (telemetry) => {
    await telemetry.close()
    const { restarts } = chdb
    process.kill(chdb.pid, 'SIGKILL')
    await expect.poll(() => chdb.restarts).toBe(restarts + 1)
    return open()
  },
  runs: 40,
})

historyContract({ name: 'ClickHouse, served by chdb', open: () => open(), runs: 20 })

fleetHistoryContract({ name: 'ClickHouse, served by chdb', open: () => open(), runs: 8 })
pastAlertsContract({ name: 'ClickHouse, served by chdb', open: () => open(), runs: 8 })

auditContract({ name: 'ClickHouse, served by chdb', open: () => open(), runs: 20 })

censusContract({ name: 'ClickHouse, served by chdb', open: () => open() })
devicesContract({ name: 'ClickHouse, served by chdb', open: () => open() })

seriesContract({ name: 'ClickHouse, served by chdb', open: () => open(), runs: 20, parquet: true })

async function query(sql: string): Promise<string> {
  const link = new ClickHouseLink(() => chdb.endpoint())
  const rows = await link.query({ sql, timeoutMs: 10_000 })
  await link.close()
  return rows.toString().trim()
}

test('the chdb process runs in another time zone', async () => {
  expect(await query('SELECT timezone()')).toBe('Asia/Kolkata')
})

test('a block becomes one part, and its points count once when it is sent again', async () => {
  const telemetry = await open()
  const messages = Array.from({ length: 30_000 }, (_, i) => ({
    device: `parts${i % 100}`,
    at: Date.UTC(2025, 0, 1) * 1000 + i,
    version: i,
    values: { a: i, b: i, c: i, d: i, e: i, f: i, g: i, h: i },
  }))
  const block = pointsBlock(messages)
  const parts = () =>
    query(`SELECT sum(rows) FROM system.parts WHERE active AND table = 'points' AND rows = 240000 FORMAT TSV`)
  await telemetry.insert(block)
  expect(await parts()).toBe('240000')
  await telemetry.insert(block)
  expect(await telemetry.countPoints(DeviceIdOf('parts7'))).toBe(2_400)
  await telemetry.close()
})

test('only the messages that a table does not take become dead letters, not their whole block', async () => {
  const telemetry = await open()
  await query(`ALTER TABLE points ADD CONSTRAINT sane CHECK device_id != 'bound' OR value < 100`)
  const letters: DeadLetter[] = []
  const inserter = new Inserter({
    telemetry,
    schedule: realSchedule,
    ticks: () => performance.now(),
    signal: () => {},
    park: async (more) => void letters.push(...more),
  })
  const at = Date.UTC(2025, 5, 1) * 1000
  const messages = Array.from({ length: 40 }, (_, n) => ({
    device: 'bound',
    at: at + n,
    version: 65_536 + n,
    values: { v: n === 17 ? 1_000 : n, w: 1 },
  }))
  expect(await inserter.insert([pointsBlock(messages)])).toBe(true)
  await query('ALTER TABLE points DROP CONSTRAINT sane')
  expect(await telemetry.countPoints(DeviceIdOf('bound'))).toBe(2 * 39)
  expect(letters.map(({ id }) => id)).toEqual([expect.stringMatching(/_1_17$/)])
  expect(letters[0]?.detail).toContain('Constraint `sane`')
  await telemetry.close()
})

test('the retention of raw telemetry and of the audit can be set, changed and lifted', async () => {
  for (const retentionDays of [30, 60, undefined]) {
    const auditRetentionDays = retentionDays && retentionDays * 10
    const telemetry = await open({ retentionDays, auditRetentionDays })
    await telemetry.close()
    const points = await query('SHOW CREATE TABLE points FORMAT TSVRaw')
    expect(/TTL received \+ toIntervalDay\((\d+)\)/.exec(points)?.[1]).toBe(retentionDays?.toString())
    const audit = await query('SHOW CREATE TABLE audit FORMAT TSVRaw')
    expect(/TTL toDateTime\(at\) \+ toIntervalDay\((\d+)\)/.exec(audit)?.[1]).toBe(
      auditRetentionDays?.toString(),
    )
  }
})

test('what is older than the retention is not read, although ClickHouse has not dropped it yet', async () => {
  const telemetry = await open({ retentionDays: 7 })
  await query('SYSTEM STOP TTL MERGES points')
  const day = 86_400_000_000
  const now = Date.now() * 1000
  const at = [1, 6, 8, 40].map((age) => now - age * day)
  const about = { deviceId: DeviceIdOf('aged'), metric: 'm', from: Millis(0), to: Millis(Date.now()) }
  const messages = at.map((time, version) => ({ device: 'aged', at: time, version, values: { m: version } }))
  await telemetry.insert(pointsBlock(messages))
  expect(await query(`SELECT count() FROM points WHERE device_id = 'aged' FORMAT TSV`)).toBe('4')
  const points = await telemetry.points({ ...about, after: undefined, limit: 9 })
  expect(points.map(({ value }) => value)).toEqual([1, 0])
  const file = await telemetry.export({
    kind: 'points',
    query: { ...about, deviceIds: [about.deviceId], metrics: ['m'] },
    format: 'csv',
  })
  expect((await file.toArray()).join('').trim().split('\n')).toHaveLength(3)
  const [series] = await telemetry.series({
    ...about,
    deviceIds: [about.deviceId],
    metrics: ['m'],
    by: 'device',
    grid: gridOf({ interval: '1d', zone: undefined, from: about.from, to: about.to }),
    aggregates: ['first', 'count'],
    lateHours: [],
  })
  expect(series?.buckets.map(({ count }) => count)).toEqual([1, 1])
  const logs = [13, 15, 22].map((age) => ({
    deviceId: about.deviceId,
    kind: 'log' as const,
    at: Micros(now - age * day),
    version: age,
    body: {},
  }))
  await telemetry.insert(historyBlock(logs))
  const filter = { deviceId: about.deviceId, kinds: ['log'] as const }
  expect((await telemetry.history({ ...filter, limit: 9 })).map(({ version }) => version)).toEqual([13])
  expect(await telemetry.countHistory(filter)).toBe(1)
  await query('SYSTEM START TTL MERGES points')
  await telemetry.close()
})

test('moves of alerts are not read after their retention, and are deleted by the month when hours are settled', async () => {
  const telemetry = await open({ alertRetentionDays: 7 })
  const day = 86_400_000_000
  const now = Date.now() * 1000
  const deviceId = DeviceIdOf('alerting')
  const kinds = ['alert', 'status'] as const
  const rows = [1, 8, 75].flatMap((age) =>
    kinds.map((kind) => ({ deviceId, kind, at: Micros(now - age * day), version: age, body: { age } })),
  )
  await telemetry.insert(historyBlock(rows))
  const read = async (kind: (typeof kinds)[number]) =>
    (await telemetry.history({ deviceId, kinds: [kind], limit: 9 })).map(({ version }) => version)
  expect([await read('alert'), await read('status')]).toEqual([[1], [1, 8, 75]])
  expect(await telemetry.countHistory({ deviceId, kinds })).toBe(4)
  await telemetry.settle(Millis(Date.now()), [])
  const stored = `SELECT groupArray((kind, version)) FROM history WHERE device_id = 'alerting' FORMAT TSV`
  await expect.poll(() => query(stored)).not.toContain(`('alert',75)`)
  expect(await query(stored)).toContain(`('status',75)`)
  expect(await read('alert')).toEqual([1])
  await telemetry.close()
})

test('logs are dropped when they are 14 days old, and all other kinds stay', async () => {
  const telemetry = await open()
  const day = 86_400_000_000
  const now = Date.now() * 1000
  const kinds = ['log', 'status', 'shadow', 'command'] as const
  const rows = [0, 13, 22, 60].flatMap((age) =>
    kinds.map((kind) => ({
      deviceId: DeviceIdOf('old'),
      kind,
      at: Micros(now - age * day),
      version: age,
      body: { age },
    })),
  )
  await telemetry.insert(historyBlock(rows))
  const ages = async () => {
    // Does nothing, and says nothing, while the server merges parts of the table by itself.
    await query('OPTIMIZE TABLE history FINAL')
    const kept = await telemetry.history({ deviceId: DeviceIdOf('old'), kinds, limit: 99 })
    return kinds.map((kind) => kept.filter((row) => row.kind === kind).map(({ version }) => version))
  }
  const all = [0, 13, 22, 60]
  await expect.poll(ages).toEqual([[0, 13], all, all, all])
  await telemetry.close()
})
