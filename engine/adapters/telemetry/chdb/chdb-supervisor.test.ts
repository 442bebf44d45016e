import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { Millis } from '../../../../schemas/ids.ts'
import { ClickHouseTelemetry } from '../clickhouse/clickhouse.ts'
import { begun, DeviceIdOf, type Message, pointsBlock } from '../testing/telemetry.ts'
import { type ChdbEvent, type ChdbOptions, ChdbSupervisor } from './chdb-supervisor.ts'

const root = mkdtempSync(join(tmpdir(), 'fleet-chdb-'))
const opened: ChdbSupervisor[] = []
let count = 0

afterEach(async () => {
  await Promise.all(opened.splice(0).map((chdb) => chdb.close()))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

async function start(options: Partial<ChdbOptions> = {}): Promise<ChdbSupervisor> {
  const chdb = await ChdbSupervisor.open({ dataDir: join(root, `${count++}`), ...options })
  opened.push(chdb)
  return chdb
}

const WAIT = { timeout: 60_000, interval: 20 }
const DAY = Date.UTC(2025, 0, 1) * 1000
const messages = (from: number, length: number): Message[] =>
  Array.from({ length }, (_, i) => ({
    device: 'd',
    at: DAY + from + i,
    version: from + i,
    values: { a: i, b: 1 },
  }))

/** A process that has ended stays listed as a zombie until its parent asks for the exit code. */
function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

test('the password is in neither the arguments nor the environment of the process', async () => {
  const chdb = await start()
  const seen = ['cmdline', 'environ']
    .map((name) => readFileSync(`/proc/${chdb.pid}/${name}`, 'latin1'))
    .join()
  expect(seen).toContain('chdb-server')
  expect(seen).not.toContain(chdb.endpoint().password)
})

test('a killed process is replaced, and blocks that are sent until accepted count once', async () => {
  const events: ChdbEvent['kind'][] = []
  const chdb = await start({ listen: ({ kind }) => events.push(kind) })
  const telemetry = await begun(new ClickHouseTelemetry({ openServer: async () => chdb }))
  const blocks = Array.from({ length: 12 }, (_, i) => pointsBlock(messages(i * 20_000, 20_000)))
  let retries = 0
  for (const [i, block] of blocks.entries()) {
    // The kill arrives at some point of this insert.
    if (i % 4 === 2) setImmediate(() => process.kill(chdb.pid, 'SIGKILL'))
    await expect
      .poll(async () => {
        const fault = await telemetry.insert(block).then(
          () => undefined,
          (cause) => cause,
        )
        if (fault !== undefined) retries++
        return fault === undefined || fault.retryable ? fault : expect.fail(fault)
      }, WAIT)
      .toBeUndefined()
  }
  expect(retries).toBeGreaterThan(0)
  expect(await telemetry.countPoints()).toBe(12 * 20_000 * 2)
  const [series] = await telemetry.series({
    deviceIds: [DeviceIdOf('d')],
    by: 'device',
    metrics: ['b'],
    from: Millis(DAY / 1000),
    to: Millis(DAY / 1000 + 1e9),
    grid: [{ from: 0, step: 86_400 }],
    aggregates: ['count', 'avg'],
    lateHours: [],
  })
  expect(series?.buckets[0]).toMatchObject({ count: 240_000, avg: 1 })
  expect(events).toEqual(['ended', 'started', 'ended', 'started', 'ended', 'started'])
  await telemetry.close()
})

test('a frozen process makes requests fail, and answers again once it thaws', async () => {
  const chdb = await start()
  const telemetry = await begun(
    new ClickHouseTelemetry({ openServer: async () => chdb, insertTimeoutMs: 300, queryTimeoutMs: 300 }),
  )
  const block = pointsBlock(messages(0, 10))
  process.kill(chdb.pid, 'SIGSTOP')
  const later = { code: 'TELEMETRY_UNAVAILABLE', retryable: true }
  await expect(telemetry.insert(block)).rejects.toMatchObject(later)
  await expect(
    telemetry.history({ deviceId: DeviceIdOf('d'), kinds: ['log'], limit: 1 }),
  ).rejects.toMatchObject(later)
  expect(telemetry.isUp()).toBe(false)
  process.kill(chdb.pid, 'SIGCONT')
  await expect.poll(() => telemetry.isUp(), WAIT).toBe(true)
  await telemetry.insert(block)
  expect(await telemetry.countPoints()).toBe(20)
  expect(chdb.restarts).toBe(0)
  await telemetry.close()
})

test('a process that stays silent is replaced', async () => {
  const chdb = await start({ silenceMsMax: 2_000 })
  const { pid } = chdb
  process.kill(pid, 'SIGSTOP')
  await expect.poll(() => chdb.restarts, WAIT).toBe(1)
  expect(isAlive(pid)).toBe(false)
  expect(chdb.isUp()).toBe(true)
})

test('a directory in use is refused, and free once its owner is closed', async () => {
  const chdb = await start()
  const dataDir = join(root, `${count - 1}`)
  await expect(start({ dataDir, lockWaitMs: 200 })).rejects.toMatchObject({ code: 'DATA_DIR_IN_USE' })
  const next = start({ dataDir })
  await chdb.close()
  expect((await next).isUp()).toBe(true)
})

test('a killed parent leaves no process behind, and the next one gets its directory', async () => {
  const dataDir = join(root, `${count++}`)
  const script = join(root, 'parent.mjs')
  const built = new URL('../../../../dist/engine/adapters/telemetry/chdb/chdb-supervisor.js', import.meta.url)
  writeFileSync(
    script,
    `import { ChdbSupervisor } from ${JSON.stringify(built.href)}
    const chdb = await ChdbSupervisor.open({ dataDir: ${JSON.stringify(dataDir)} })
    process.send(chdb.pid)`,
  )
  const parent = fork(script, { execArgv: [] })
  const [pid] = await once(parent, 'message')
  expect(isAlive(pid)).toBe(true)
  parent.kill('SIGKILL')
  const next = await start({ dataDir })
  expect(isAlive(pid)).toBe(false)
  expect(next.isUp()).toBe(true)
})

test('closing ends the process, even a frozen one', async () => {
  const chdb = await start()
  const { pid } = chdb
  await chdb.close()
  expect(isAlive(pid)).toBe(false)
  const frozen = await start()
  process.kill(frozen.pid, 'SIGSTOP')
  await frozen.close()
  expect(isAlive(frozen.pid)).toBe(false)
})
