import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type DataDir, openDataDir } from './data-dir.ts'

let root: string
const open: DataDir[] = []

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'fleet-data-'))
})
afterEach(async () => {
  for (const dir of open.splice(0)) await dir.release()
  rmSync(root, { recursive: true, force: true })
})

async function take(path: string): Promise<DataDir> {
  const dir = await openDataDir(path)
  open.push(dir)
  return dir
}

test('a new directory is private to its owner and records its format', async () => {
  const path = join(root, 'deep', 'data')
  await take(path)
  expect(statSync(path).mode & 0o777).toBe(0o700)
  expect(readFileSync(join(path, 'VERSION'), 'utf8')).toBe('1\n')
})

test('a second process is refused until the first releases the directory', async () => {
  const first = await take(root)
  await expect(openDataDir(root)).rejects.toMatchObject({ code: 'DATA_DIR_IN_USE', retryable: false })
  await expect(openDataDir(root)).rejects.toThrow(
    `the data directory ${first.path} is in use by another process; stop it first`,
  )
  await first.release()
  await take(root)
})

test('a directory of a newer version is refused with a one-line message and released', async () => {
  writeFileSync(join(root, 'VERSION'), '2\n')
  const attempt = openDataDir(root)
  await expect(attempt).rejects.toMatchObject({ code: 'DATA_DIR_TOO_NEW', retryable: false })
  await expect(attempt).rejects.toThrow(/newer version of Fleet \(format 2, this one reads up to 1\)$/)
  writeFileSync(join(root, 'VERSION'), '1\n')
  await take(root)
})

test('an unreadable version file is refused', async () => {
  writeFileSync(join(root, 'VERSION'), 'seven')
  await expect(openDataDir(root)).rejects.toMatchObject({ code: 'DATA_DIR_TOO_NEW' })
})

test('the lock of a killed process is taken over', async () => {
  const hold = `require('net').createServer().listen(process.argv[1], () => console.log('held'))`
  const child = spawn(process.execPath, ['-e', hold, join(root, 'lock')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  await expect(openDataDir(root)).rejects.toMatchObject({ code: 'DATA_DIR_IN_USE' })
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(readdirSync(root)).toContain('lock')
  await take(root)
})

test('exactly one of many processes that start on a stale lock gets the directory', async () => {
  writeFileSync(join(root, 'lock'), '')
  const attempts = await Promise.allSettled(Array.from({ length: 20 }, () => openDataDir(root)))
  const winners = attempts.flatMap((a) => (a.status === 'fulfilled' ? [a.value] : []))
  open.push(...winners)
  expect(winners).toHaveLength(1)
})
