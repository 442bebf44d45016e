import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type ClickHouseClient, createClient } from '@clickhouse/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LIMITS } from '../../../limits.ts'
import { ClickHouseError, ClickHouseHttp, type Statement } from '../clickhouse/clickhouse-http.ts'
import { ChdbSupervisor } from './chdb-supervisor.ts'

const dir = mkdtempSync(join(tmpdir(), 'fleet-chdb-http-'))
let chdb: ChdbSupervisor
let client: ClickHouseClient
let http: ClickHouseHttp

beforeAll(async () => {
  chdb = await ChdbSupervisor.open({ dataDir: dir })
  const { url, username, password } = chdb.endpoint()
  // Errors are thrown as well; its own reports would only fill the test's output.
  client = createClient({ url, username, password, log: { level: 127 } })
  http = new ClickHouseHttp(() => chdb.endpoint())
})
afterAll(async () => {
  await client.close()
  http.close()
  await chdb.close()
  rmSync(dir, { recursive: true, force: true })
})

const run = async (sql: string, more: Partial<Statement> = {}) =>
  (await http.run({ sql, timeoutMs: 10_000, ...more })).toString().trim()
const code = (work: Promise<unknown>) =>
  work.then(
    () => 0,
    (cause) => (cause instanceof ClickHouseError ? cause.code : cause),
  )

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

function ask(
  path: string,
  {
    method = 'GET',
    headers = {},
    body = '',
  }: { method?: string; headers?: object; body?: string | Buffer } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(`${chdb.endpoint().url}${path}`, { method, headers: { ...headers } }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

const login = () => {
  const { username, password } = chdb.endpoint()
  return { 'X-ClickHouse-User': username, 'X-ClickHouse-Key': password }
}

test('the official client inserts, queries, binds parameters and sees errors', async () => {
  await client.command({ query: 'CREATE TABLE clients (a UInt32, b String) ENGINE = MergeTree ORDER BY a' })
  await client.insert({
    table: 'clients',
    values: [
      { a: 1, b: "it's" },
      { a: 2, b: '\t\\' },
    ],
    format: 'JSONEachRow',
  })
  await client.insert({
    table: 'clients',
    values: [['x', 3]],
    columns: ['b', 'a'],
    format: 'JSONCompactEachRow',
  })
  const rows = await client.query({
    query: 'SELECT a FROM clients WHERE b IN ({b:Array(String)}) ORDER BY a',
    query_params: { b: ["it's", '\t\\'] },
    format: 'JSONCompactEachRow',
    clickhouse_settings: { max_threads: 1 },
  })
  expect(await rows.json()).toEqual([[1], [2]])
  await expect(client.query({ query: 'SELECT nothing' })).rejects.toMatchObject({
    code: '47',
    type: 'UNKNOWN_IDENTIFIER',
  })
  expect(await client.ping({ select: true })).toEqual({ success: true })
})

test('the official client may compress', async () => {
  const { url, username, password } = chdb.endpoint()
  const packed = createClient({ url, username, password, compression: { request: true, response: true } })
  await packed.command({ query: 'CREATE TABLE packed (a UInt32) ENGINE = MergeTree ORDER BY a' })
  await packed.insert({ table: 'packed', values: [{ a: 7 }], format: 'JSONEachRow' })
  const rows = await packed.query({ query: 'SELECT a FROM packed', format: 'JSONEachRow' })
  expect(await rows.json()).toEqual([{ a: 7 }])
  await packed.close()
})

test('only who knows the password gets in, by header, basic authentication or URL', async () => {
  const { username, password } = chdb.endpoint()
  const basic = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString('base64')}` })
  const answers = await Promise.all([
    ask('/?query=SELECT+1', { headers: login() }),
    ask('/?query=SELECT+1', { headers: basic(`${username}:${password}`) }),
    ask(`/?query=SELECT+1&user=${username}&password=${password}`),
    ask('/?query=SELECT+1'),
    ask('/?query=SELECT+1', { headers: basic(`${username}:${password}x`) }),
    ask('/?query=SELECT+1', { headers: { 'X-ClickHouse-User': username } }),
  ])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 403, 403, 403])
  expect(answers[3]?.headers['x-clickhouse-exception-code']).toBe('516')
  expect((await ask('/ping')).text).toBe('Ok.\n')
})

test('errors have ClickHouse’s numbers and statuses', async () => {
  const post = (body: string) => ask('/', { method: 'POST', headers: login(), body })
  const wrong = await post('SELECT * FROM nowhere')
  expect([wrong.status, wrong.headers['x-clickhouse-exception-code']]).toEqual([404, '60'])
  expect(wrong.text).toMatch(/^Code: 60\. DB::Exception: .*\(UNKNOWN_TABLE\)/s)
  expect((await post('SELECT (')).status).toBe(400)
  expect((await post('')).status).toBe(400)
  expect((await ask('/play', { headers: login() })).status).toBe(404)
})

test('a GET changes nothing', async () => {
  await run('CREATE TABLE kept (a UInt8) ENGINE = MergeTree ORDER BY a')
  expect((await ask('/?query=DROP+TABLE+kept', { headers: login() })).status).toBe(403)
  expect(await run('EXISTS TABLE kept FORMAT TSV')).toBe('1')
})

test('rows come in the URL’s statement or behind the statement, in any format, as curl sends them', async () => {
  await run('CREATE TABLE rows (a UInt8, b String) ENGINE = MergeTree ORDER BY a')
  const post = (path: string, body: string | Buffer, headers: object = {}) =>
    ask(path, { method: 'POST', headers: { ...login(), ...headers }, body })
  await post('/?query=INSERT+INTO+rows+FORMAT+CSV', '1,one\n2,two\n')
  await post(`/?query=${encodeURIComponent('INSERT INTO rows (b, a) FORMAT TSV')}`, 'three\t3\n')
  await post('/', 'INSERT INTO rows FORMAT JSONEachRow\n{"a": 4, "b": "four"}\n')
  await post('/', "INSERT INTO rows VALUES (5, 'FORMAT CSV')")
  await post('/?query=INSERT+INTO+rows+VALUES', "(6, 'six')")
  await post('/?query=INSERT+INTO+rows+FORMAT+CSV', gzipSync('7,seven'), { 'Content-Encoding': 'gzip' })
  expect(await run('SELECT a, b FROM rows ORDER BY a FORMAT CSV')).toBe(
    '1,"one"\n2,"two"\n3,"three"\n4,"four"\n5,"FORMAT CSV"\n6,"six"\n7,"seven"',
  )
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
  await run('SET max_result_rows = 5')
  for (let i = 0; i < LIMITS.telemetryQueriesAtOnceMax + 1; i++) {
    expect(await run("SELECT getSetting('max_result_rows') FORMAT TSV")).toBe('0')
  }
  const answers = Array.from({ length: 60 }, (_, i) =>
    run('SELECT {a:String}, {b:String} FORMAT TSV', { params: { a: `${i}'\\`, b: i } }),
  )
  expect(await Promise.all(answers)).toEqual(answers.map((_, i) => `${i}\\'\\\\\t${i}`))
  expect(await code(run('SELECT 1', { settings: { no_such_setting: 1 } }))).toBe(115)
})

test('a long statement holds up neither queries nor inserts', async () => {
  await run('CREATE TABLE beside (a UInt8) ENGINE = MergeTree ORDER BY a')
  let isOver = false
  const long = run('SELECT sum(sleepEachRow(0.5)) FROM numbers(4) SETTINGS max_block_size = 1').then(() => {
    isOver = true
  })
  await run('INSERT INTO beside VALUES (1)')
  expect(await run('SELECT {a:UInt8} + count() FROM beside', { params: { a: 1 } })).toBe('2')
  expect(isOver).toBe(false)
  await long
})

test('what is too large or too much is refused', async () => {
  const statement = `SELECT '${'x'.repeat(LIMITS.telemetryStatementBytesMax)}'`
  expect((await ask('/', { method: 'POST', headers: login(), body: statement })).status).toBe(413)
  const bomb = gzipSync(Buffer.alloc(LIMITS.telemetryBodyBytesMax + 1))
  await run('CREATE TABLE bombed (a String) ENGINE = MergeTree ORDER BY a')
  const path = '/?query=INSERT+INTO+bombed+FORMAT+LineAsString'
  const headers = { ...login(), 'Content-Encoding': 'gzip' }
  expect((await ask(path, { method: 'POST', headers, body: bomb })).status).toBe(413)
  expect(await code(run("SELECT repeat('x', 1000) FROM numbers(100000) FORMAT TSV"))).toBe(396)
  const many = Array.from({ length: LIMITS.telemetryQueriesWaitingMax + 20 }, () =>
    code(run('SELECT sleep(0.02)')),
  )
  const codes = await Promise.all(many)
  expect(codes).toContain(0)
  expect(codes.every((each) => each === 0 || each === 202)).toBe(true)
  expect(await run('SELECT 1')).toBe('1')
})

// One folder per data directory: others' may be in use.
const folder = `/dev/shm/fleet-${createHash('sha256').update(dir).digest('hex').slice(0, 16)}`

test.skipIf(!existsSync('/dev/shm'))('a folder for rows that was cleared away is made again', async () => {
  await run('CREATE TABLE cleared (a UInt8) ENGINE = MergeTree ORDER BY a')
  rmSync(folder, { recursive: true, force: true })
  await run('INSERT INTO cleared FORMAT CSV', { body: Buffer.from('1') })
  expect(await run('SELECT a FROM cleared FORMAT TSV')).toBe('1')
})

test('nothing of an insert is left in memory, taken or refused', async () => {
  await run('CREATE TABLE spooled (a UInt8) ENGINE = MergeTree ORDER BY a')
  await run('INSERT INTO spooled FORMAT CSV', { body: Buffer.from('1') })
  expect(await code(run('INSERT INTO spooled FORMAT CSV', { body: Buffer.from('"') }))).not.toBe(0)
  expect(existsSync(folder) ? readdirSync(folder) : []).toEqual([])
  expect(readdirSync(dir)).not.toContain('spool')
})
