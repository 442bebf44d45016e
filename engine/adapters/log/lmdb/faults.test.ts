// Faults of disk and operating system under the embedded log.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { Micros, Partition } from '../../../../schemas/ids.ts'
import type { Entry } from '../../../ports/log.ts'
import { mountSmallDisk, type SmallDisk } from '../../testing/small-disk.ts'
import { drain, NOTHING } from '../testing/contract.ts'
import type { Report } from '../testing/fault-child.ts'
import { openLmdbLog } from './lmdb.ts'

const CHILD = fileURLToPath(
  new URL('../../../../dist/engine/adapters/log/testing/fault-child.js', import.meta.url),
)
const root = mkdtempSync(join(tmpdir(), 'fleet-faults-'))
let count = 0
afterAll(() => {
  disk?.unmount()
  rmSync(root, { recursive: true, force: true })
})

const isBuilt = existsSync(CHILD)
const canTrace = isBuilt && spawnSync('strace', ['-qq', '-o', '/dev/null', 'true']).status === 0
const disk = mountSmallDisk(join(root, 'disk'))

function newPath(): string {
  return join(root, `${count++}`)
}

function start(command: readonly string[], args: readonly string[]): ChildProcess {
  const [program = process.execPath, ...before] = [...command, process.execPath, CHILD, ...args]
  return spawn(program, before, { stdio: ['ignore', 'pipe', 'ignore'] })
}

/** Reads the reports of the child until it ends. `stop` ends it early. */
async function reportsOf(child: ChildProcess, stop: (reports: readonly Report[]) => boolean = () => false) {
  const reports: Report[] = []
  const ended = once(child, 'exit')
  if (child.stdout === null) throw new Error('no output')
  for await (const line of createInterface({ input: child.stdout })) {
    // The child is part of these tests.
    reports.push(JSON.parse(line) as Report)
    if (stop(reports)) child.kill('SIGKILL')
  }
  const [code] = await ended
  return { reports, code }
}

const appended = (reports: readonly Report[]) => reports.flatMap((r) => (r.kind === 'appended' ? [r] : []))
const textOf = (entry: Entry) => new TextDecoder().decode(entry.body).trim()

/** Checks that all acknowledged entries are there, in order, complete and without gaps. */
async function checkLog(path: string, reports: readonly Report[]): Promise<number> {
  const log = openLmdbLog({ path, durability: 'power' })
  const last = appended(reports).at(-1)?.seq ?? 0
  for (const partition of [1, 2]) {
    const entries = await drain(log.reader([Partition(partition)], NOTHING))
    expect(entries.map((e) => e.seq)).toEqual(entries.map((_, i) => i + 1))
    expect(entries.map(textOf)).toEqual(entries.map((_, i) => `${i + 1}`))
    expect(entries.length).toBeGreaterThanOrEqual(last)
  }
  const end = log.ends()[1] ?? 0
  await log.close()
  return end
}

describe.skipIf(!isBuilt)('a killed process (needs the build in dist)', () => {
  test.each(['power', 'process'])(
    'a killed process loses no acknowledged entry, durability %s',
    async (durability) => {
      const path = newPath()
      let before = 0
      for (const kills of [40, 150, 7]) {
        const child = start([], [path, durability, '1000000'])
        const { reports } = await reportsOf(child, (sofar) => appended(sofar).length >= kills)
        expect(appended(reports)[0]?.seq).toBe(before + 1)
        before = await checkLog(path, reports)
      }
    },
  )
})

describe.skipIf(!canTrace)('under strace (needs strace and the build in dist)', () => {
  const trace = (inject: string) => ['strace', '-f', '-qq', '-o', '/dev/null', '-e', `inject=${inject}`]
  const slow = trace('fsync,fdatasync,msync:delay_exit=300000')

  test('durability power waits for the disk, durability process does not', async () => {
    const power = await reportsOf(start(slow, [newPath(), 'power', '3']))
    const cheap = await reportsOf(start(slow, [newPath(), 'process', '3']))
    expect(Math.min(...appended(power.reports).map((r) => r.ms))).toBeGreaterThanOrEqual(300)
    // A busy machine may delay some of them.
    expect(Math.min(...appended(cheap.reports).map((r) => r.ms))).toBeLessThan(300)
    expect([appended(power.reports).length, appended(cheap.reports).length]).toEqual([3, 3])
  })

  test('while every fsync fails nothing is acknowledged, and the process keeps running', async () => {
    const path = newPath()
    const { reports, code } = await reportsOf(
      start(trace('fdatasync:error=EIO:when=6+'), [path, 'power', '100', '5']),
    )
    const faults = reports.filter((r) => r.kind === 'fault')
    expect(faults).toHaveLength(6)
    expect(faults[0]).toEqual({ kind: 'fault', code: 'LOG_UNAVAILABLE', retryable: true })
    expect([reports.at(-1)?.kind, code]).toEqual(['end', 0])
    await checkLog(path, reports)
  })

  test.each(['fdatasync:error=EIO:when=4..6', 'fdatasync:error=EIO:when=3+4'])(
    'after failures that pass, appends go on without a gap: %s',
    async (inject) => {
      const path = newPath()
      const { reports, code } = await reportsOf(start(trace(inject), [path, 'power', '40', '60']))
      expect(reports.some((r) => r.kind === 'fault')).toBe(true)
      expect([reports.at(-1)?.kind, code]).toEqual(['end', 0])
      expect(appended(reports).map((r) => r.seq)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1))
      expect(await checkLog(path, reports)).toBe(40)
    },
  )
})

describe.skipIf(!canTrace)('a disk that refuses pages (needs strace and the build in dist)', () => {
  test.each(['EIO', 'ENOSPC'])('%s ends all writing of this process and loses nothing', async (errno) => {
    const path = newPath()
    const inject = `inject=pwrite64,pwritev:error=${errno}:when=9+`
    const command = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', inject]
    // By lmdb-env E4 the damaged heap may kill the process before it can report.
    const { reports, code } = await reportsOf(start(command, [path, 'power', '100', '20']))
    const faults = reports.flatMap((r) => (r.kind === 'fault' ? [r] : []))
    if (code === 0) expect(faults.some((fault) => !fault.retryable)).toBe(true)
    expect(appended(reports).length).toBeGreaterThan(0)
    await checkLog(path, reports)
  })
})

describe.skipIf(disk === undefined)('a full disk (needs root, for a small tmpfs)', () => {
  test('a full disk refuses appends without using up seqs, allows reads, and recovers when there is space', async () => {
    if (disk === undefined) return
    const path = join(disk.path, 'log')
    disk.fill(12)
    const log = openLmdbLog({ path, durability: 'power' })
    const big = () => [
      { partition: Partition(1), body: new Uint8Array(200_000).fill((log.ends()[1] ?? 0) + 1) },
    ]
    const full = { code: 'LOG_FULL', retryable: true }
    const fill = async () => {
      for (;;) await log.append(big(), Micros(1))
    }
    await expect(fill()).rejects.toMatchObject(full)
    const end = log.ends()[1] ?? 0
    expect(end).toBeGreaterThan(5)
    for (let i = 0; i < 5; i++) await expect(log.append(big(), Micros(2))).rejects.toMatchObject(full)
    expect(log.ends()[1]).toBe(end)
    expect(await drain(log.reader([Partition(1)], NOTHING))).toHaveLength(end)
    disk.clear()
    expect(await log.append(big(), Micros(3))).toEqual([end + 1])
    await log.close()
    const again = openLmdbLog({ path, durability: 'power' })
    const entries = await drain(again.reader([Partition(1)], NOTHING))
    expect(entries.map((e) => e.body[0])).toEqual(entries.map((_, i) => i + 1))
    expect(entries).toHaveLength(end + 1)
    await again.close()
  })

  test('a disk without a free byte refuses an append that needs a new file, and takes it once there is space', async () => {
    const own = mountSmallDisk(newPath(), 64)
    if (own === undefined) throw new Error('it could be mounted before')
    const log = openLmdbLog({ path: join(own.path, 'log'), durability: 'power', segmentBytes: 1 })
    const bundles = [{ partition: Partition(1), body: new Uint8Array(100) }]
    expect(await log.append(bundles, Micros(1))).toEqual([1])
    const { bavail, bsize } = statfsSync(own.path)
    writeFileSync(join(own.path, 'filler'), Buffer.alloc(bavail * bsize))
    await expect(log.append(bundles, Micros(2))).rejects.toMatchObject({ code: 'LOG_FULL', retryable: true })
    own.clear()
    expect(await log.append(bundles, Micros(3))).toEqual([2])
    await log.close()
    own.unmount()
  })

  describe('that nothing but the log fills', () => {
    const MIB = 1024 * 1024
    const smallDisks: SmallDisk[] = []
    afterEach(() => {
      for (const { unmount } of smallDisks.splice(0)) unmount()
    })
    const newDisk = () => {
      const own = mountSmallDisk(newPath(), 64)
      if (own === undefined) throw new Error('it could be mounted before')
      smallDisks.push(own)
      return own.path
    }
    const freeBytes = (path: string) => {
      const { bavail, bsize } = statfsSync(path)
      return bavail * bsize
    }
    const bundles = () => [{ partition: Partition(1), body: new Uint8Array(200_000) }]
    /** Receive times of the same moment: nothing gets old. */
    const now = Micros(1)

    test('what is settled goes before the disk is full, however young it is', async () => {
      const path = newDisk()
      const log = openLmdbLog({ path: join(path, 'log'), durability: 'process' })
      let least = freeBytes(path)
      for (let i = 1; i <= 1_000; i++) {
        expect(await log.append(bundles(), now)).toEqual([i])
        await log.trim(log.ends())
        least = Math.min(least, freeBytes(path))
      }
      expect(least).toBeGreaterThan(4 * MIB)
      await log.close()
    })

    test('what is not settled leaves room for ClickHouse, and goes once it is settled', async () => {
      const path = newDisk()
      const log = openLmdbLog({ path: join(path, 'log'), durability: 'process' })
      const full = { code: 'LOG_FULL', retryable: true }
      await expect(
        (async () => {
          for (;;) await log.append(bundles(), now)
        })(),
      ).rejects.toMatchObject(full)
      expect(freeBytes(path)).toBeGreaterThanOrEqual(4 * MIB)
      const end = log.ends()[1] ?? 0
      expect(await drain(log.reader([Partition(1)], NOTHING))).toHaveLength(end)
      await log.close()
      // A start finds a full disk and what the store knows to be settled.
      const settled = Array.from(NOTHING, (_, p) => (p === 1 ? end - 50 : 0))
      const again = openLmdbLog({ path: join(path, 'log'), durability: 'process', settled })
      expect(await again.append(bundles(), now)).toEqual([end + 1])
      const left = await drain(again.reader([Partition(1)], settled))
      expect(left.map(({ seq }) => seq)).toEqual(Array.from({ length: 51 }, (_, i) => end - 49 + i))
      await again.close()
    })
  })
})
