import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LIMITS } from '../../../limits.ts'
import { ClickHouseLink, errorCode, type Statement } from '../clickhouse/clickhouse-link.ts'
import { ChdbSupervisor } from './chdb-supervisor.ts'

const dir = mkdtempSync(join(tmpdir(), 'fleet-chdb-http-'))
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

const run = async (sql: string, more: Partial<Statement> = {}) =>
  (await link.query({ sql, timeoutMs: 10_000, ...more })).toString().trim()
const insert = (table: string, rows: string) => {
  const sql = `INSERT INTO ${table} SELECT * FROM input('a UInt8, b String') FORMAT CSV`
  return link.insert({ sql, timeoutMs: 10_000 }, Buffer.from(rows))
}
const code = (work: Promise<unknown>) => work.then(() => 'done', errorCode)

test('rows of an insert are stored, and a query returns them', async () => {
  await link.command({
    sql: 'CREATE TABLE rows (a UInt8, b String) ENGINE = MergeTree ORDER BY a',
    timeoutMs: 9_000,
  })
  await insert('rows', "1,it's\n2,two\n")
  expect(await run('SELECT a, b FROM rows ORDER BY a FORMAT CSV')).toBe('1,"it\'s"\n2,"two"')
})

test('a request with another password is refused', async () => {
  const guessing = new ClickHouseLink(() => ({ ...chdb.endpoint(), password: 'guessed' }))
  expect(await code(guessing.query({ sql: 'SELECT 1', timeoutMs: 10_000 }))).toBe(516)
  await guessing.close()
})

test('errors have ClickHouse’s numbers', async () => {
  const errors = ['SELECT * FROM nowhere', 'SELECT (', 'SELECT nothing'].map((sql) => code(run(sql)))
  expect(await Promise.all(errors)).toEqual([60, 62, 47])
})

test('settings and parameters of a request are not those of the next', async () => {
  const settings = { max_threads: 3, max_result_rows: 1_000 }
  for (let i = 0; i < LIMITS.telemetryQueriesAtOnceMax; i++) {
    expect(await run("SELECT getSetting('max_threads') FORMAT TSV", { settings })).toBe('3')
  }
  for (let i = 0; i < LIMITS.telemetryQueriesAtOnceMax; i++) {
    expect(await run("SELECT getSetting('max_threads') = 3, getSetting('max_result_rows') FORMAT TSV")).toBe(
      '0\t0',
    )
  }
  const answers = Array.from({ length: 60 }, (_, i) =>
    run('SELECT {a:String}, {b:String} FORMAT TSV', { params: { a: `${i}'\\`, b: i } }),
  )
  expect(await Promise.all(answers)).toEqual(answers.map((_, i) => `${i}\\'\\\\\t${i}`))
  expect(await code(run('SELECT 1', { settings: { no_such_setting: 1 } }))).toBe(115)
})

test('a long statement delays neither queries nor inserts', async () => {
  await run('CREATE TABLE beside (a UInt8, b String) ENGINE = MergeTree ORDER BY a')
  let isOver = false
  const long = run('SELECT sum(sleepEachRow(0.5)) FROM numbers(4) SETTINGS max_block_size = 1').then(() => {
    isOver = true
  })
  await insert('beside', '1,x')
  expect(await run('SELECT {a:UInt8} + count() FROM beside', { params: { a: 1 } })).toBe('2')
  expect(isOver).toBe(false)
  await long
})

test('a result that is too large and a statement too many are refused', async () => {
  expect(
    await code(run("SELECT repeat('x', 1000) FROM numbers(70000) FORMAT TSV", { timeoutMs: 25_000 })),
  ).toBe(396)
  const links = Array.from({ length: 20 }, () => new ClickHouseLink(() => chdb.endpoint()))
  const many = Array.from({ length: LIMITS.telemetryQueriesWaitingMax + 20 }, (_, i) =>
    code(
      links[i % links.length]?.query({ sql: 'SELECT sleep(0.02)', timeoutMs: 30_000 }) ?? Promise.reject(),
    ),
  )
  const codes = await Promise.all(many)
  for (const each of links) await each.close()
  expect(codes).toContain('done')
  expect(codes).toContain(202)
  expect(codes.every((each) => each === 'done' || each === 202)).toBe(true)
  expect(await run('SELECT 1')).toBe('1')
})

// Each data directory has a folder of its own: others may be in use.
const folder = `/dev/shm/fleet-${createHash('sha256').update(dir).digest('hex').slice(0, 16)}`

test.skipIf(!existsSync('/dev/shm'))('a folder for rows that was cleared away is made again', async () => {
  await run('CREATE TABLE cleared (a UInt8, b String) ENGINE = MergeTree ORDER BY a')
  rmSync(folder, { recursive: true, force: true })
  await insert('cleared', '1,x')
  expect(await run('SELECT a FROM cleared FORMAT TSV')).toBe('1')
})

test('an insert leaves nothing in memory, whether it was accepted or refused', async () => {
  await run('CREATE TABLE spooled (a UInt8, b String) ENGINE = MergeTree ORDER BY a')
  await insert('spooled', '1,x')
  expect(await code(insert('spooled', '"'))).not.toBe('done')
  expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([])
  expect(readdirSync(dir)).not.toContain('spool')
})
