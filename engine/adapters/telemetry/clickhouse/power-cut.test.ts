import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { Micros, Millis } from '../../../../schemas/ids.ts'
import { auditRow } from '../../../domain/audit/entry.ts'
import { type CrashDisk, mountCrashDisk } from '../../testing/crash-disk.ts'
import { ChdbSupervisor } from '../chdb/chdb-supervisor.ts'
import { auditBlock, begun, DeviceIdOf, historyBlock, pointsBlock, textsBlock } from '../testing/telemetry.ts'
import { ClickHouseTelemetry } from './clickhouse.ts'
import { ClickHouseLink } from './clickhouse-link.ts'

const TABLES = ['points', 'texts', 'history', 'audit']
const HOUR_MS = 3_600_000
const DAY = Date.UTC(2026, 0, 1)
const deviceId = DeviceIdOf('d')

let dir = ''
let disk: CrashDisk | undefined
const closing: (() => Promise<void>)[] = []

async function stop() {
  for (const close of closing.splice(0).reverse()) await close()
}

afterEach(async () => {
  await stop()
  disk?.unmount()
  disk = undefined
  rmSync(dir, { recursive: true, force: true })
})

async function start(dataDir: string) {
  const chdb = await ChdbSupervisor.open({ dataDir })
  const link = new ClickHouseLink(() => chdb.endpoint())
  closing.push(() => link.close())
  const telemetry = await begun(new ClickHouseTelemetry({ openServer: async () => chdb }))
  closing.push(() => telemetry.close())
  const query = async (sql: string) => (await link.query({ sql, timeoutMs: 10_000 })).toString().trim()
  return { telemetry, query }
}

const blocks = (n: number) => [
  pointsBlock([{ device: 'd', at: DAY * 1000 + n, version: n, values: { v: n } }]),
  textsBlock([{ device: 'd', at: DAY * 1000 + n, version: n, values: { t: `${n}` } }]),
  historyBlock([{ deviceId, kind: 'shadow', at: Micros(DAY * 1000 + n), version: n, body: { n } }]),
  auditBlock([
    auditRow(
      { actor: { type: 'user', id: 'usr_a' }, action: 'login', outcome: 'success' },
      { at: Millis(DAY + n), number: n, count: 1 },
    ),
  ]),
]

test('an insert and a settlement are synced to the disk before they are answered', async () => {
  dir = mkdtempSync(join(tmpdir(), 'fleet-synced-'))
  const { telemetry, query } = await start(dir)
  const synced = async () =>
    (
      await query(
        "SELECT sumIf(value, event = 'FileSync'), sumIf(value, event = 'DirectorySync') FROM system.events",
      )
    )
      .split('\t')
      .map(Number)
  let before = await synced()
  const expectMore = async (files: number, directories: number) => {
    const [file = 0, directory = 0] = await synced()
    expect(file - (before[0] ?? 0)).toBeGreaterThanOrEqual(files)
    expect(directory - (before[1] ?? 0)).toBeGreaterThanOrEqual(directories)
    before = [file, directory]
  }
  for (const block of blocks(1)) {
    await telemetry.insert(block)
    await expectMore(2, 1)
  }
  await telemetry.settle(Millis(DAY + HOUR_MS), [])
  // Minutes, hours, the begin and the end.
  await expectMore(8, 4)
  await telemetry.insert(blocks(2)[0] ?? expect.fail())
  await expectMore(2, 1)
  await query('OPTIMIZE TABLE points FINAL')
  await expectMore(2, 1)
})

test('a power cut takes nothing that an answer said is stored', async ({ skip }) => {
  dir = mkdtempSync(join(tmpdir(), 'fleet-power-cut-'))
  disk = mountCrashDisk(dir)
  if (disk === undefined) return skip('only root on Linux may mount a disk')
  const { telemetry } = await start(join(disk.path, 'data'))
  for (let n = 0; n < 30; n++) for (const block of blocks(n)) await telemetry.insert(block)
  await telemetry.settle(Millis(DAY + HOUR_MS), [])
  const after = await start(join(disk.cut(), 'data'))
  const counts = await Promise.all(TABLES.map((table) => after.query(`SELECT count() FROM ${table} FINAL`)))
  expect(counts).toEqual(TABLES.map(() => '30'))
  expect(await after.query('SELECT sum(count) FROM rollup_1h FINAL')).toBe('30')
  expect(after.telemetry.horizon()).toBe(DAY + HOUR_MS)
})

test('a block that ClickHouse lost the rows of is stored when it is sent again', async () => {
  dir = mkdtempSync(join(tmpdir(), 'fleet-sent-again-'))
  const before = await start(dir)
  for (const block of blocks(1)) await before.telemetry.insert(block)
  const named = TABLES.map((table) => `'${table}'`).join(', ')
  const parts = await before.query(`SELECT path FROM system.parts WHERE active AND table IN (${named})`)
  await stop()
  for (const path of parts.split('\n')) rmSync(path, { recursive: true })
  const after = await start(dir)
  for (const block of blocks(1)) await after.telemetry.insert(block)
  const counts = await Promise.all(TABLES.map((table) => after.query(`SELECT count() FROM ${table}`)))
  expect(counts).toEqual(TABLES.map(() => '1'))
})
