import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Micros, Partition } from '../../../../schemas/ids.ts'
import type { Log } from '../../../ports/log.ts'
import { LmdbEnv } from '../../lmdb/lmdb-env.ts'
import { bundle, drain, logContract, NOTHING, show } from '../testing/contract.ts'
import { type LmdbLogOptions, openLmdbLog } from './lmdb.ts'

const root = mkdtempSync(join(tmpdir(), 'fleet-log-'))
const paths = new Map<Log, LmdbLogOptions>()
let count = 0
afterAll(() => rmSync(root, { recursive: true, force: true }))

function open(options: Partial<LmdbLogOptions> = {}): Log {
  const full = { path: join(root, `${count++}`), durability: 'process' as const, ...options }
  const log = openLmdbLog(full)
  paths.set(log, full)
  return log
}

async function restart(log: Log): Promise<Log> {
  await log.close()
  return open(paths.get(log))
}

logContract({ name: 'lmdb', open: async (retention) => open(retention), restart, trimsLater: true })
// Only the newest commit is held in memory, so reads cross the border between disk and memory all the time.
const SMALL = { tailBytesMax: 1, segmentBytes: 1 }
logContract({
  name: 'lmdb with hardly any memory and a file per commit',
  open: async (retention) => open({ ...retention, ...SMALL }),
  restart,
})

test('a reader can start at every position of the log', async () => {
  const log = open({ tailBytesMax: 1, segmentBytes: 50_000 })
  for (let i = 0; i < 60; i++) await log.append([bundle(i % 3, `${i}`), bundle(4, `${i}`)], Micros(i))
  for (let seq = 0; seq <= 20; seq++) {
    const from = NOTHING.map(() => seq)
    const found = show(await drain(log.reader([Partition(1)], from)))
    expect(found).toHaveLength(20 - seq)
    if (seq < 20) expect(found[0]).toBe(`1=${seq * 3 + 1}`)
  }
  await log.close()
})

test('appends continue during a large trim, and no entry is lost', async () => {
  const log = open({ retentionMs: 0, segmentBytes: 40_000 })
  for (let i = 1; i <= 1_500; i++) await log.append([bundle(1, `${i}`)], Micros(i * 1000))
  const trimming = log.trim(log.ends())
  for (let i = 1_501; i <= 1_510; i++) await log.append([bundle(1, `${i}`)], Micros(i * 1000))
  await trimming
  const kept = show(await drain(log.reader([Partition(1)], NOTHING)))
  expect(kept.slice(-11)).toEqual(Array.from({ length: 11 }, (_, i) => `1=${1500 + i}`))
  await log.close()
})

test('trimmed entries free their disk space', async () => {
  const log = open({ retentionMs: 0, segmentBytes: 500_000 })
  const { path } = paths.get(log) ?? { path: '' }
  for (let i = 1; i <= 100; i++) {
    await log.append([{ partition: Partition(1), body: new Uint8Array(50_000) }], Micros(i * 1000))
    await log.trim(log.ends())
    expect(readdirSync(path).length).toBeLessThanOrEqual(4)
  }
  expect(log.ends()[1]).toBe(100)
  await log.close()
})

test('a file that cannot be removed is removed later, and holds up nothing else', async () => {
  const log = open({ retentionMs: 0, segmentBytes: 1 })
  const { path } = paths.get(log) ?? { path: '' }
  const obstacle = join(path, '0000000000000001.mdb-lock')
  for (let i = 1; i <= 3; i++) await log.append([bundle(1, `${i}`)], Micros(i * 1000))
  rmSync(obstacle)
  mkdirSync(obstacle)
  await expect(log.trim(log.ends())).rejects.toThrow()
  rmdirSync(obstacle)
  for (let i = 4; i <= 6; i++) await log.append([bundle(1, `${i}`)], Micros(i * 1000))
  await log.trim(log.ends())
  expect(readdirSync(path).filter((name) => name.endsWith('.mdb'))).toEqual(['0000000000000006.mdb'])
  await log.close()
})

test('an empty file left by a failed append is harmless', async () => {
  const log = open({ segmentBytes: 1 })
  const options = paths.get(log)
  if (options === undefined) throw new Error('no such log')
  await log.append([bundle(1, 'a')], Micros(1))
  await log.close()
  // The file exists, but the commit does not.
  await new LmdbEnv({
    path: join(options.path, '0000000000000002.mdb'),
    durability: 'power',
    tables: ['commits'],
  }).close()
  const after = open(options)
  expect(after.ends()[1]).toBe(1)
  expect(await after.append([bundle(1, 'b')], Micros(2))).toEqual([2])
  expect(show(await drain(after.reader([Partition(1)], NOTHING)))).toEqual(['1=a', '1=b'])
  await after.close()
})

test('seqs that the store has seen are not reused', async () => {
  const log = open({ notBefore: NOTHING.map((_, p) => (p === 1 ? 5 : 0)) })
  expect(await log.append([bundle(1, 'a'), bundle(2, 'b')], Micros(1))).toEqual([6, 1])
  const again = await restart(log)
  expect(again.ends()[1]).toBe(6)
  await again.close()
})

test('a reader reaches the end of a partition whose entries are gone, even after another restart', async () => {
  const [inserted, applied] = [3, 5].map((seq) => NOTHING.map((_, p) => (p === 1 ? seq : 0)))
  const readAll = async (log: Log) => {
    const entries = await drain(log.reader([Partition(1), Partition(2)], inserted ?? NOTHING))
    return entries.map(({ partition, seq, body }) => `${partition}.${seq} ${body}`)
  }
  const log = open({ notBefore: applied ?? NOTHING })
  expect(await readAll(log)).toEqual(['1.5 '])
  await log.append([bundle(2, 'a')], Micros(1))
  const again = await restart(log)
  expect(await readAll(again)).toEqual(['2.1 97', '1.5 '])
  await again.append([bundle(1, 'b'), bundle(2, 'b')], Micros(2))
  expect(await readAll(again)).toEqual(['2.1 97', '1.6 98', '2.2 98'])
  await again.close()
})

test('a log that a power cut may have torn is set aside', async () => {
  const log = open({ durability: 'process' })
  const options = paths.get(log)
  if (options === undefined) throw new Error('no such log')
  await log.append([bundle(1, 'a')], Micros(1))
  await log.close()
  // This is the state after a kill, seen in a later boot of the machine.
  writeFileSync(`${options.path}.unsynced`, 'another boot')
  const after = open({ ...options, durability: 'power' })
  expect(after.ends()).toEqual(NOTHING)
  expect(await after.append([bundle(1, 'b')], Micros(2))).toEqual([1])
  await after.close()
})

test('a log that was removed after a power cut begins anew', async () => {
  const log = open({ durability: 'process' })
  const options = paths.get(log)
  if (options === undefined) throw new Error('no such log')
  await log.close()
  rmSync(options.path, { recursive: true })
  writeFileSync(`${options.path}.unsynced`, 'another boot')
  const after = open(options)
  expect(await after.append([bundle(1, 'a')], Micros(1))).toEqual([1])
  await after.close()
})
