import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, request as send } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { Authority } from '../../../../api/cli/certs/authority.ts'
import { Millis } from '../../../../schemas/ids.ts'
import { gridOf } from '../../../domain/telemetry/grid.ts'
import { Fault } from '../../../ports/fault.ts'
import type { Telemetry } from '../../../ports/telemetry.ts'
import { ChdbSupervisor } from '../chdb/chdb-supervisor.ts'
import { begun, DeviceIdOf, pointsBlock, urlOf } from '../testing/telemetry.ts'
import { ClickHouseTelemetry } from './clickhouse.ts'
import { ClickHouseLink } from './clickhouse-link.ts'
import { allTables } from './schema.ts'
import { type ServerTelemetryOptions, serverAt, serverTelemetry } from './server.ts'

const dir = mkdtempSync(join(tmpdir(), 'fleet-server-telemetry-'))
const VERSIONS = 7
let chdb: ChdbSupervisor
let link: ClickHouseLink
const opened: Telemetry[] = []
const servers: { close(): void }[] = []

beforeAll(async () => {
  chdb = await ChdbSupervisor.open({ dataDir: join(dir, 'data') })
  link = new ClickHouseLink(() => chdb.endpoint())
})
beforeEach(async () => {
  const tables = await query('SELECT name FROM system.tables WHERE database = currentDatabase() FORMAT TSV')
  for (const name of tables.split('\n').filter((line) => line !== '')) await query(`DROP TABLE ${name} SYNC`)
})
afterEach(async () => {
  for (const telemetry of opened.splice(0)) await telemetry.close()
  for (const server of servers.splice(0)) server.close()
})
afterAll(async () => {
  await link.close()
  await chdb.close()
  rmSync(dir, { recursive: true, force: true })
})

async function query(sql: string): Promise<string> {
  return (await link.query({ sql, timeoutMs: 10_000 })).toString().trim()
}

async function open(over: Partial<ServerTelemetryOptions> = {}): Promise<Telemetry> {
  const telemetry = await begun(serverTelemetry({ url: urlOf(chdb.endpoint()), ...over }))
  opened.push(telemetry)
  return telemetry
}

async function refusal(opening: Promise<unknown>): Promise<Fault> {
  const fault = await opening.then(
    () => expect.fail('it was opened'),
    (cause: unknown) => cause,
  )
  if (!(fault instanceof Fault)) throw fault
  return fault
}

const ALL_VERSIONS = Array.from({ length: VERSIONS }, (_, i) => i + 1).join('\n')
const versions = () => query('SELECT DISTINCT version FROM migrations ORDER BY version FORMAT TSV')

test('nodes that start at once make the tables, and all of them work', async () => {
  const nodes = await Promise.all([open(), open(), open(), open()])
  expect(await versions()).toBe(ALL_VERSIONS)
  const at = Date.UTC(2025, 0, 1) * 1000
  for (const [i, node] of nodes.entries())
    await node.insert(pointsBlock([{ device: 'a', at: at + i, version: i, values: { v: i } }]))
  for (const node of nodes) expect(await node.countPoints(DeviceIdOf('a'))).toBe(nodes.length)
})

test('tables of an earlier version are brought up to date and keep their rows', async () => {
  const before = await open()
  const block = pointsBlock([{ device: 'a', at: 1, version: 1, values: { v: 1 } }])
  await before.insert(block)
  for (const later of ['history', 'audit', 'migrations']) await query(`DROP TABLE ${later} SYNC`)
  await query(allTables()[0] ?? '')
  await query('INSERT INTO migrations VALUES (1)')
  const after = await open()
  expect(await versions()).toBe(ALL_VERSIONS)
  expect(await after.countPoints(DeviceIdOf('a'))).toBe(1)
  expect(await after.countHistory({ deviceId: DeviceIdOf('a'), kinds: ['log'] })).toBe(0)
})

test('tables of a later version are refused for good, and the error says what to do', async () => {
  await open()
  await query(`INSERT INTO migrations VALUES (${VERSIONS + 1})`)
  const fault = await refusal(open())
  expect([fault.code, fault.retryable]).toEqual(['TELEMETRY_TOO_NEW', false])
  expect(fault.message).toBe(
    `the tables in ClickHouse are of version ${VERSIONS + 1}, this version of Fleet knows them up to ${VERSIONS}: start the version that made them, or a later one`,
  )
})

test('a wrong password is refused for good and is not in the error', async () => {
  const url = new URL(urlOf(chdb.endpoint()))
  url.password = 'guessed'
  const fault = await refusal(open({ url: url.href }))
  expect([fault.code, fault.retryable]).toEqual(['TELEMETRY_FORBIDDEN', false])
  expect(fault.message).toContain('Authentication failed')
  expect(fault.message).not.toContain('guessed')
})

test('a server that is away is a retryable fault', async () => {
  const fault = await refusal(open({ url: 'http://user:hidden@127.0.0.1:1' }))
  expect([fault.code, fault.retryable]).toEqual(['TELEMETRY_UNAVAILABLE', true])
  expect(String(fault) + String(fault.cause)).not.toContain('hidden')
})

test('a horizon that was settled under a wrong clock does not count', async () => {
  const before = await open()
  const hour = Date.UTC(2025, 0, 1, 10)
  await before.insert(pointsBlock([{ device: 'a', at: hour * 1000, version: 1, values: { v: 1 } }]))
  await before.settle(Millis(hour), [])
  await before.settle(Millis(Date.UTC(2059, 11, 31)), [])
  const after = await open()
  expect(after.horizon()).toBe(hour)
  await after.settle(Millis(hour + 3_600_000), [])
  expect(after.horizon()).toBe(hour + 3_600_000)
  const sums = 'SELECT sum(count) FROM rollup_1h FINAL'
  expect(await query(sums)).toBe('1')
})

test('a node learns how far another node has settled', async () => {
  const [one, other] = [await open(), await open({ horizonAgeMsMax: 0 })]
  const day = Date.UTC(2025, 0, 1)
  await one.insert(pointsBlock([{ device: 'a', at: day * 1000, version: 1, values: { v: 1 } }]))
  await one.settle(Millis(day + 3_600_000), [])
  await expect.poll(() => other.horizon()).toBe(day + 3_600_000)
})

test('settlements of two nodes have different numbers', async () => {
  const nodes = [await open(), await open()]
  const day = Date.UTC(2025, 0, 1)
  await Promise.all(nodes.map((node) => node.settle(Millis(day), [])))
  const rows = await query(
    'SELECT count(), uniqExact(computed) FROM settlements WHERE NOT finished FORMAT TSV',
  )
  expect(rows).toBe('2\t2')
})

test('rollups that were truncated with their settlements are computed again, and read from points until then', async () => {
  const day = Date.UTC(2025, 0, 1)
  const span = { from: Millis(day), to: Millis(day + 7_200_000) }
  const counts = async (node: Telemetry) => {
    const [series] = await node.series({
      deviceIds: [DeviceIdOf('a')],
      by: 'device',
      metrics: ['v'],
      ...span,
      grid: gridOf({ interval: '1h', ...span }),
      aggregates: ['count'],
      lateHours: [],
    })
    return series?.buckets.map(({ count }) => count)
  }
  const before = await open()
  const messages = [0, 1, 3_600].map((s) => ({
    device: 'a',
    at: (day + s * 1_000) * 1_000,
    version: s,
    values: { v: s },
  }))
  await before.insert(pointsBlock(messages))
  await before.settle(span.to, [])
  for (const table of ['rollup_1m', 'rollup_1h', 'settlements']) await query(`TRUNCATE TABLE ${table}`)
  const after = await open()
  expect([after.horizon(), await counts(after)]).toEqual([0, [2, 1]])
  await after.settle(span.to, [])
  expect([after.horizon(), await counts(after)]).toEqual([span.to, [2, 1]])
  expect(await query('SELECT sum(count) FROM rollup_1h FINAL FORMAT TSV')).toBe('3')
})

/** A proxy in front of chdb, which shows what requests look like on the wire. Over TLS with an authority of its own the
 *  client names the user in headers that chdb's server does not read. */
async function forward(seen: IncomingMessage[], tls?: { readonly key: string; readonly cert: string }) {
  const target = new URL(chdb.endpoint().url)
  const take: Parameters<typeof createServer>[1] = (request, response) => {
    seen.push(request)
    const { url: path, method } = request
    const { username, password } = chdb.endpoint()
    const headers = { ...request.headers, authorization: `Basic ${btoa(`${username}:${password}`)}` }
    const passed = send({ host: target.hostname, port: target.port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    request.pipe(passed)
  }
  const server = tls === undefined ? createServer(take) : createTlsServer(tls, take)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // It listens on a port.
  const { port } = server.address() as AddressInfo
  const url = new URL(urlOf(chdb.endpoint()))
  url.protocol = tls === undefined ? 'http:' : 'https:'
  url.port = String(port)
  return url
}

test('no request line contains the password', async () => {
  const seen: IncomingMessage[] = []
  const url = await forward(seen)
  await open({ url: url.href })
  expect(seen.length).toBeGreaterThan(5)
  for (const { url: line } of seen) expect(line).not.toContain(chdb.endpoint().password)
})

test('the path of the URL names the database', async () => {
  const { told, url } = await scribe(1)
  await open({ url: `${url}/robots` })
  expect(new Set(told.map(({ settings }) => settings.get('database')))).toEqual(new Set(['robots']))
})

test('a TLS server with an unknown certificate is refused, and accepted with its authority', async () => {
  const certs = join(dir, 'certs')
  const now = Date.now()
  const authority = Authority.create(certs, { name: 'test', days: 1, crlUrl: undefined, now })
  const files = authority.issueServer(['127.0.0.1'], { days: 1, now })
  const read = (file: string) => readFileSync(file, 'utf8')
  const seen: IncomingMessage[] = []
  const url = await forward(seen, { key: read(files.key), cert: read(files.certificate) })
  const fault = await refusal(open({ url: url.href }))
  expect([fault.code, seen.length]).toEqual(['TELEMETRY_UNAVAILABLE', 0])
  const telemetry = await open({ url: url.href, tlsCa: read(join(certs, 'ca.crt')) })
  await telemetry.insert(pointsBlock([{ device: 'a', at: 1, version: 1, values: { v: 1 } }]))
  expect(await telemetry.countPoints(DeviceIdOf('a'))).toBe(1)
})

/** Replicas need a Keeper, which chdb does not have. This server accepts everything and records what it was told. */
const UNKNOWN_TABLE = 'Code: 60. DB::Exception: Unknown table migrations. (UNKNOWN_TABLE)'

async function scribe(replicas: number) {
  const told: { readonly sql: string; readonly settings: URLSearchParams }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { searchParams } = new URL(request.url ?? '/', 'http://localhost')
      const sql = searchParams.get('query') ?? Buffer.concat(chunks).toString()
      told.push({ sql, settings: searchParams })
      if (sql.includes('max(version)')) response.writeHead(404).end(UNKNOWN_TABLE)
      else response.end(sql.includes('system.clusters') ? `${replicas}\n` : '')
    })
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // It listens on a port.
  const { port } = server.address() as AddressInfo
  return { told, url: `http://u:p@127.0.0.1:${port}` }
}

test.each([
  [2, null],
  [3, 'auto'],
])('with %i replicas an insert waits for a quorum of %s', async (replicas, quorum) => {
  const { told, url } = await scribe(replicas)
  const telemetry = await open({ url, cluster: 'robots' })
  const created = told.filter(({ sql }) => /^(CREATE|ALTER) TABLE/.test(sql))
  expect(created.map(({ sql }) => sql)).toEqual(allTables('robots'))
  for (const { settings } of created)
    expect(settings.get('distributed_ddl_output_mode')).toBe('null_status_on_timeout')
  await telemetry.insert(pointsBlock([{ device: 'a', at: 1, version: 1, values: { v: 1 } }]))
  const settings = told.at(-1)?.settings
  expect(settings?.get('insert_quorum')).toBe(quorum)
  await telemetry.settle(Millis(Date.UTC(2025, 0, 1)), [])
  const settled = told.filter(({ sql }) => /^INSERT INTO (rollup|settlements)/.test(sql))
  expect(settled.map((statement) => statement.settings.get('insert_quorum'))).toEqual([
    quorum,
    quorum,
    quorum,
    quorum,
  ])
  expect([settings?.get('insert_deduplicate'), settings?.get('async_insert')]).toEqual(['0', '0'])
})

test('begin waits for a server that is away, and its failures are reported', async () => {
  const away = new Fault('TELEMETRY_UNAVAILABLE', { retryable: true, message: 'away' })
  const answers = [away]
  const telemetry = new ClickHouseTelemetry({
    openServer: async () => {
      const fault = answers.pop()
      if (fault !== undefined) throw fault
      return serverAt(chdb.endpoint())
    },
  })
  opened.push(telemetry)
  const failures: Fault[] = []
  const beginning = telemetry.begin((fault) => failures.push(fault))
  expect([telemetry.isUp(), telemetry.horizon()]).toEqual([false, 0])
  await expect(telemetry.countPoints()).rejects.toMatchObject({ retryable: true })
  await beginning
  expect([telemetry.isUp(), failures]).toEqual([true, [away]])
})

test('telemetry that waits for its server can be closed', async () => {
  const telemetry = serverTelemetry({ url: 'http://127.0.0.1:1' })
  let failures = 0
  const beginning = telemetry.begin(() => failures++)
  await expect.poll(() => failures).toBe(1)
  await telemetry.close()
  await beginning
  expect(telemetry.isUp()).toBe(false)
})
