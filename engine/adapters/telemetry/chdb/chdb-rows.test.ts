import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LIMITS } from '../../../limits.ts'
import { ClickHouseLink, errorCode, type Statement } from '../clickhouse/clickhouse-link.ts'
import { ChdbSupervisor } from './chdb-supervisor.ts'

const MIB = 1024 * 1024
const dir = mkdtempSync(join(tmpdir(), 'fleet-chdb-rows-'))
let chdb: ChdbSupervisor
let link: ClickHouseLink

beforeAll(async () => {
  chdb = await ChdbSupervisor.open({ dataDir: dir })
  link = new ClickHouseLink(() => chdb.endpoint())
})
afterAll(async () => {
  await link.close()
  await chdb.close()
  rmSync(dir, { recursive: true, force: true })
})

const stream = (sql: string, more: Partial<Statement> = {}) =>
  link.stream({ sql, timeoutMs: 10_000, settings: { max_threads: 1 }, ...more })
const ENDLESS = 'SELECT number, toString(number) AS text FROM numbers(100000000000) FORMAT CSV'
/** The number of statements being executed, without this one. */
const running = async () =>
  Number(
    (
      await link.query({ sql: 'SELECT count() - 1 FROM system.processes FORMAT TSV', timeoutMs: 10_000 })
    ).toString(),
  )

test('a stream may be larger than a result, in any format', async () => {
  const rows = Math.ceil((LIMITS.telemetryResultBytesMax + MIB) / 100)
  let length = 0
  let first = ''
  for await (const chunk of await stream(`SELECT repeat('x', 97) FROM numbers(${rows}) FORMAT CSV`)) {
    // Without an encoding set, a response gives buffers.
    const bytes = chunk as Buffer
    if (first === '') first = bytes.toString('utf8', 0, 3)
    length += bytes.length
  }
  expect([first, length]).toEqual(['"xx', rows * 100])
  const parquet = Buffer.concat(
    await (await stream('SELECT number FROM numbers(300000) FORMAT Parquet')).toArray(),
  )
  expect([parquet.toString('latin1', 0, 4), parquet.toString('latin1', parquet.length - 4)]).toEqual([
    'PAR1',
    'PAR1',
  ])
})

test('a stream’s parameters are bound, and its settings are not those of the next', async () => {
  const text = "'; DROP TABLE x; --\t\\"
  const rows = await stream('SELECT {text:String} FORMAT TSVRaw', { params: { text } })
  expect(Buffer.concat(await rows.toArray()).toString()).toBe(`${text}\n`)
  for (let i = 0; i <= LIMITS.telemetryStreamsAtOnceMax; i++) {
    const threads = await (
      await stream("SELECT getSetting('max_threads') FORMAT TSV", { settings: {} })
    ).toArray()
    expect(Buffer.concat(threads).toString()).not.toBe('1\n')
  }
})

test('a statement that fails is refused before its first row, and cut short after it', async () => {
  expect(await stream('SELECT * FROM nowhere FORMAT CSV').catch(errorCode)).toBe(60)
  const broken = await stream("SELECT throwIf(number = 5000000, 'no more') FROM numbers(10000000) FORMAT CSV")
  await expect(broken.toArray()).rejects.toThrow()
})

test('a reader that takes nothing delays no other statement and costs no memory', async () => {
  const slow = await stream(ENDLESS)
  slow.once('data', () => slow.pause())
  await expect.poll(() => slow.isPaused()).toBe(true)
  let before = memoryOf(chdb.pid)
  // The engine would send hundreds of megabytes a second, so it is at rest when memory stops growing.
  await expect
    .poll(
      () => {
        const grown = memoryOf(chdb.pid) - before
        before += grown
        return grown
      },
      { interval: 300 },
    )
    .toBeLessThan(MIB)
  for (let i = 0; i < 5; i++) expect(await running()).toBe(1)
  expect(memoryOf(chdb.pid) - before).toBeLessThan(32 * MIB)
  expect(slow.readableLength).toBeLessThan(MIB)
  slow.destroy()
  await expect.poll(running).toBe(0)
})

test('a reader that leaves ends its statement, at the latest with the first row', async () => {
  const gone = await stream(ENDLESS)
  gone.destroy()
  await expect.poll(running).toBe(0)
  const never = stream('SELECT sum(sleepEachRow(0.5)) FROM numbers(4) FORMAT CSV', {
    timeoutMs: 200,
    settings: { max_block_size: 1 },
  })
  await expect(never).rejects.toThrow('no answer')
  await expect.poll(running).toBe(0)
})

test('a reader too many is refused at once, and queries are still answered', async () => {
  const many = await Promise.all(
    Array.from({ length: LIMITS.telemetryStreamsAtOnceMax }, () => stream(ENDLESS)),
  )
  expect(await stream(ENDLESS).catch(errorCode)).toBe(202)
  expect(await running()).toBe(LIMITS.telemetryStreamsAtOnceMax)
  for (const one of many) one.destroy()
  await expect.poll(running).toBe(0)
  expect(Buffer.concat(await (await stream('SELECT 1 FORMAT TSV')).toArray()).toString()).toBe('1\n')
})

test('a request may list all devices of the largest group', async () => {
  const devices = Array.from({ length: LIMITS.groupDevicesMax }, (_, i) => `${'d'.repeat(60)}${i + 1000}`)
  const rows = await link.query({
    sql: 'SELECT length({devices:Array(String)}) FORMAT TSV',
    params: { devices },
    timeoutMs: 10_000,
  })
  expect(rows.toString()).toBe(`${LIMITS.groupDevicesMax}\n`)
})

/** Bytes that a process holds in memory. */
function memoryOf(pid: number): number {
  const [, kib = '0'] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) * 1024
}
