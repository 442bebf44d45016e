// Files hold the statements of the service's tables, for people who create the tables by hand. After a change of
// engine/adapters/telemetry/clickhouse/schema.ts, `npx vitest run deploy/clickhouse -u` updates them.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ChdbSupervisor } from '../../engine/adapters/telemetry/chdb/chdb-supervisor.ts'
import { ClickHouseLink, errorCode } from '../../engine/adapters/telemetry/clickhouse/clickhouse-link.ts'
import { allTables } from '../../engine/adapters/telemetry/clickhouse/schema.ts'

const NO_KEEPER = 225
const NO_SUCH_COLUMN = 47

const dir = mkdtempSync(join(tmpdir(), 'fleet-schema-'))
let chdb: ChdbSupervisor
let link: ClickHouseLink
const run = async (sql: string) => (await link.query({ sql, timeoutMs: 10_000 })).toString().trim()

beforeAll(async () => {
  chdb = await ChdbSupervisor.open({ dataDir: dir })
  link = new ClickHouseLink(() => chdb.endpoint())
})
afterAll(async () => {
  await link.close()
  await chdb.close()
  rmSync(dir, { recursive: true, force: true })
})

test.each([
  ['single', undefined],
  // The file uses the macro of config.d/replicated.xml in place of the cluster's name.
  ['replicated', '{cluster}'],
])('the file of the %s layout holds the statements of the service', async (layout, cluster) => {
  const text = allTables(cluster).map((sql) => `${sql};\n`)
  await expect(text.join('\n')).toMatchFileSnapshot(`schema/${layout}.sql`)
})

test('the tables of one server can be created, even twice', async () => {
  for (const sql of [...allTables(), ...allTables()]) await run(sql)
  expect(
    Number(await run('SELECT count() FROM system.tables WHERE database = currentDatabase() FORMAT TSV')),
  ).toBe(allTables().filter((sql) => sql.startsWith('CREATE')).length)
})

test('the query of deploy/README.md joins points with the groups of their devices', async () => {
  const page = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, query = ''] = /```sql\n([^`]*)```/.exec(page) ?? []
  for (const sql of allTables()) await run(sql)
  await run(`INSERT INTO devices (device_id, version, group_path, gone)
    VALUES ('a', 1, 'north', 0), ('b', 1, 'south', 0), ('b', 2, 'north', 0), ('c', 1, 'north', 1)`)
  const row = (device: string, value: number, version: number) =>
    `('${device}', 'temperature', toStartOfMinute(now()), ${value}, ${version}, now())`
  const rows = [row('a', 20, 1), row('a', 10, 2), row('b', 30, 1), row('c', 99, 1)]
  await run(`INSERT INTO points (device_id, metric, ts, value, version, received) VALUES ${rows.join(', ')}`)
  const answered = JSON.parse(await run(`${query} FORMAT JSONCompact`)) as {
    readonly data: readonly unknown[]
  }
  expect(answered.data).toEqual([[expect.any(String), 'north', 20]])
})

// These tables cannot be created here, because there is no Keeper.
test('the tables of several servers differ from those of one only by replication', async () => {
  for (const [index, sql] of allTables('{cluster}').entries()) {
    expect(await run(`EXPLAIN AST ${sql}`)).toMatch(/CreateQuery|AlterQuery/)
    expect(sql).toMatch(/^(CREATE TABLE IF NOT EXISTS|ALTER TABLE) \w+ ON CLUSTER '\{cluster\}' /)
    if (sql.startsWith('CREATE'))
      expect(sql).toMatch(
        /ENGINE = Replicated(Replacing)?MergeTree\('[^']*\{table\}', '\{replica\}'(, \w+)?\)/,
      )
    const back = sql
      .replace(" ON CLUSTER '{cluster}'", '')
      .replace(/Replicated(\w+)\('[^']*', '\{replica\}', (\w+)\)/, '$1($2)')
      .replace(/Replicated(\w+)\('[^']*', '\{replica\}'\)/, '$1')
    expect(back).toBe(allTables()[index])
  }
})

test('the statements for several servers are valid up to the missing Keeper, which is looked for last', async () => {
  const codeOf = (sql: string) => run(sql).then(() => 'created', errorCode)
  for (const sql of allTables('{cluster}').filter((each) => each.startsWith('CREATE'))) {
    // A server reads these macros from its configuration.
    const alone = sql
      .replace(" ON CLUSTER '{cluster}'", '')
      .replace('IF NOT EXISTS ', 'IF NOT EXISTS copy_of_')
      .replace('{shard}', '1')
      .replace("'{replica}'", "'a'")
    expect(await codeOf(alone)).toBe(NO_KEEPER)
    expect(await codeOf(alone.replace(/ORDER BY .*/, 'ORDER BY nothing'))).toBe(NO_SUCH_COLUMN)
  }
})
