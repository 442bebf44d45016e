import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openContextsFile } from './contexts-file.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function open() {
  const home = mkdtempSync(join(tmpdir(), 'fleet-cli-'))
  folders.push(home)
  const folder = join(home, 'fleet')
  return { folder, file: openContextsFile(folder) }
}

const mode = (path: string) => statSync(path).mode & 0o777

test('contexts survive a round trip through a file that only its owner can read', () => {
  const { folder, file } = open()
  expect(file.read()).toEqual({ current: undefined, contexts: {} })
  file.change(() => ({ current: 'a', contexts: { a: { url: 'http://x', apiKey: 'k' } } }))
  expect(file.read()).toEqual({ current: 'a', contexts: { a: { url: 'http://x', apiKey: 'k' } } })
  expect([mode(file.path), mode(folder)]).toEqual([0o600, 0o700])
  expect(readdirSync(folder)).toEqual(['contexts.json'])
})

test('a file that others can read is made private', () => {
  const { file } = open()
  file.change((before) => before)
  chmodSync(file.path, 0o644)
  file.read()
  expect(mode(file.path)).toBe(0o600)
})

test.each(['{', '[]', 'null'])('a damaged file is reported: %s', (text) => {
  const { file } = open()
  file.change((before) => before)
  writeFileSync(file.path, text)
  expect(() => file.read()).toThrow(/remove it and log in again/)
})
