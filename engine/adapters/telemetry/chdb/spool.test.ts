import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { clearSpool, Spool } from './spool.ts'

const NOBODY = 65_534
let dataDir: string
let folder: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'fleet-spool-'))
  folder = folderOf(new Spool(dataDir))
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
  rmSync(dataDir, { recursive: true })
})

function folderOf(spool: Spool): string {
  const file = spool.file()
  file.remove()
  return dirname(file.path)
}

test('the folder is there before the first insert, and only its owner may use it', () => {
  rmSync(folder, { recursive: true })
  const spool = new Spool(dataDir)
  expect(lstatSync(folder).mode & 0o777).toBe(0o700)
  expect(folderOf(spool)).toBe(folder)
  clearSpool(dataDir)
  expect(existsSync(folder)).toBe(false)
})

test.each([
  ['is open to others', () => chmodSync(folder, 0o777)],
  [
    'leads elsewhere',
    () => {
      rmSync(folder, { recursive: true })
      symlinkSync(dataDir, folder)
    },
  ],
  [
    'leads nowhere',
    () => {
      rmSync(folder, { recursive: true })
      symlinkSync(join(dataDir, 'none'), folder)
    },
  ],
])('rows are spooled to the data directory when the folder in memory %s', (_, change) => {
  const spool = new Spool(dataDir)
  change()
  expect(folderOf(spool)).toBe(join(dataDir, 'spool'))
})

test.skipIf(process.getuid?.() !== 0)('a folder that another user made first is left alone', () => {
  rmSync(folder, { recursive: true })
  mkdirSync(folder)
  chownSync(folder, NOBODY, NOBODY)
  expect(folderOf(new Spool(dataDir))).toBe(join(dataDir, 'spool'))
  clearSpool(dataDir)
  expect([existsSync(folder), existsSync(join(dataDir, 'spool'))]).toEqual([true, false])
})
