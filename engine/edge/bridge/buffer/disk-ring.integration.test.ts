import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DiskRing } from './disk-ring.ts'

let folder: string
let now: number

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fleet-ring-'))
  now = Date.now()
})
afterEach(() => rmSync(folder, { recursive: true }))

function open(bounds = { bytesMax: 16_000, ageMsMax: 60_000 }): Promise<DiskRing> {
  const failed = (error: unknown) => {
    throw error
  }
  return DiskRing.open(folder, bounds, { now: () => now, failed })
}

async function takeAll(ring: DiskRing): Promise<readonly string[]> {
  const lines: string[] = []
  for (;;) {
    const some = await ring.peek(7)
    if (some.length === 0) return lines
    lines.push(...some)
    await ring.take(some.length)
  }
}

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `line ${from + n}`)

test('lines are returned in order, including those added while others are taken, and all files are deleted', async () => {
  const ring = await open()
  for (const line of numbers(0, 300)) ring.add(line)
  const first = await ring.peek(10)
  expect(first).toEqual(numbers(0, 10))
  expect(await ring.peek(10)).toEqual(first)
  await ring.take(10)
  for (const line of numbers(300, 400)) ring.add(line)
  expect(await takeAll(ring)).toEqual(numbers(10, 400))
  expect([ring.bytes, ring.isEmpty, readdirSync(folder)]).toEqual([0, true, []])
})

test('lines that were not taken are still in the ring after a restart', async () => {
  const ring = await open()
  for (const line of numbers(0, 50)) ring.add(line)
  await ring.close()
  const again = await open()
  expect(again.bytes).toBe(ring.bytes)
  again.add('line 50')
  expect(await takeAll(again)).toEqual(numbers(0, 51))
})

test('a full ring drops its oldest lines', async () => {
  const ring = await open({ bytesMax: 1_600, ageMsMax: 60_000 })
  for (const line of numbers(0, 1_000)) {
    ring.add(line)
    await ring.close()
  }
  expect(ring.bytes).toBeLessThanOrEqual(1_600)
  const lines = await takeAll(ring)
  expect(lines.length).toBeGreaterThan(100)
  expect(lines).toEqual(numbers(1_000 - lines.length, 1_000))
})

test('lines that are too old are dropped', async () => {
  const ring = await open()
  ring.add('old')
  await ring.close()
  now += 60_001
  expect(await ring.peek(1)).toEqual([])
  ring.add('new')
  expect(await takeAll(ring)).toEqual(['new'])
})

test('lines of an earlier run are as old as their file, and become no older when the clock of the machine is set', async () => {
  // The time since the program began. It says nothing about the time of a file.
  now = 0
  const ring = await open()
  ring.add('line 0')
  await ring.close()
  const [name = ''] = readdirSync(folder)
  const setAgeSec = (sec: number) =>
    utimesSync(join(folder, name), Date.now() / 1_000, Date.now() / 1_000 - sec)
  setAgeSec(59)
  expect(await (await open()).peek(1)).toEqual(['line 0'])
  // The clock was set back since the file was written.
  setAgeSec(-3_600)
  expect(await (await open()).peek(1)).toEqual(['line 0'])
  setAgeSec(61)
  expect(await (await open()).peek(1)).toEqual([])
})

test('files of other programs are not touched', async () => {
  writeFileSync(join(folder, 'notes.txt'), 'mine')
  const ring = await open()
  expect(ring.isEmpty).toBe(true)
  expect(readdirSync(folder)).toEqual(['notes.txt'])
})

test('a line after one that was cut off by a kill is whole', async () => {
  writeFileSync(join(folder, '000000000001.jsonl'), 'line 0\nli')
  const ring = await open()
  for (const line of numbers(1, 3)) ring.add(line)
  expect(await takeAll(ring)).toEqual(['line 0', 'li', 'line 1', 'line 2'])
})
