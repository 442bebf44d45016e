import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { acquireLock } from './lock.mjs'
import { prepare } from './prepare.mjs'

let root
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'fleet-prepare-'))
  mkdirSync(join(root, 'engine'))
  writeFileSync(join(root, 'package-lock.json'), lockOf('1.0.0'))
  writeFileSync(join(root, 'tsconfig.json'), JSON.stringify({ include: ['engine'] }))
  writeFileSync(join(root, 'engine', 'a.ts'), 'export const a = 1\n')
})
afterEach(() => rmSync(root, { recursive: true }))

const lockOf = (version) =>
  JSON.stringify({
    packages: { '': {}, 'node_modules/x': { version }, 'node_modules/y': { version, optional: true } },
  })

/** Runs a preparation that only records its steps. */
async function prepared() {
  const done = []
  await prepare({ root, install: () => done.push('install'), build: () => done.push('build'), say: () => {} })
  return done
}

test('a fresh clone is installed and built; the second start does neither', async () => {
  expect(await prepared()).toEqual(['install', 'build'])
  expect(await prepared()).toEqual([])
})

test('a changed, a new and a deleted source lead to a new build', async () => {
  await prepared()
  writeFileSync(join(root, 'engine', 'a.ts'), 'export const a = 22\n')
  expect(await prepared()).toEqual(['build'])
  writeFileSync(join(root, 'engine', 'b.ts'), '')
  expect(await prepared()).toEqual(['build'])
  rmSync(join(root, 'engine', 'b.ts'))
  expect(await prepared()).toEqual(['build'])
})

test('a changed lock file leads to a new installation and a new build', async () => {
  await prepared()
  writeFileSync(join(root, 'package-lock.json'), lockOf('1.0.1'))
  expect(await prepared()).toEqual(['install', 'build'])
})

test('packages installed by hand are not installed again', async () => {
  mkdirSync(join(root, 'node_modules'))
  const present = JSON.stringify({ packages: { 'node_modules/x': { version: '1.0.0' } } })
  writeFileSync(join(root, 'node_modules', '.package-lock.json'), present)
  expect(await prepared()).toEqual(['build'])
})

test('packages of another version than the lock file says are installed again', async () => {
  mkdirSync(join(root, 'node_modules'))
  const present = JSON.stringify({ packages: { 'node_modules/x': { version: '0.9.0' } } })
  writeFileSync(join(root, 'node_modules', '.package-lock.json'), present)
  expect(await prepared()).toEqual(['install', 'build'])
})

test('a failed build is repeated the next time, and its lock is released', async () => {
  const failing = prepare({
    root,
    install: () => {},
    build: () => {
      throw new Error('the build failed')
    },
    say: () => {},
  })
  await expect(failing).rejects.toThrow('the build failed')
  expect(await prepared()).toEqual(['build'])
})

test('when two starts meet, one does the work and the other waits for it', async () => {
  const done = []
  const options = {
    root,
    install: async () => done.push('install'),
    build: async () => {
      done.push('build starts')
      await new Promise((resolve) => setImmediate(resolve))
      done.push('build ends')
    },
    say: (text) => done.push(text),
  }
  await Promise.all([prepare(options), prepare(options)])
  expect(done.filter((text) => text !== 'waiting for another installation or build')).toEqual([
    'install',
    'build starts',
    'build ends',
  ])
})

test('the lock of a process that was killed is taken over', async () => {
  const path = join(root, 'lock')
  const dead = spawn(process.execPath, ['-e', ''])
  await once(dead, 'exit')
  writeFileSync(path, String(dead.pid))
  const release = await acquireLock(path, () => expect.unreachable('nobody holds it'))
  expect(readFileSync(path, 'utf8')).toBe(String(process.pid))
  release()
  expect(existsSync(path)).toBe(false)
})

test('a lock that was not updated for long is taken over, even if its process id is in use again', async () => {
  const path = join(root, 'lock')
  writeFileSync(path, String(process.ppid))
  const longAgo = new Date(Date.now() - 3_600_000)
  utimesSync(path, longAgo, longAgo)
  const release = await acquireLock(path, () => expect.unreachable('its holder is gone'))
  release()
})
