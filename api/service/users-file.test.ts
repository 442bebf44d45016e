import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { EditableUsers } from '../testing/memory-engine.ts'
import { systemClock } from './system-clock.ts'
import { backupUsers } from './users-file.ts'

test('a backup of users that cannot be put into its place leaves no hashes beside it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-users-'))
  try {
    mkdirSync(join(folder, 'users.json'))
    expect(backupUsers(new EditableUsers(), join(folder, 'users.json'), systemClock)).toMatchObject({
      kind: 'wrong',
      line: expect.stringContaining('cannot be written'),
    })
    expect(readdirSync(folder)).toEqual(['users.json'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a backup of users is for its owner alone, whatever lay in its place, and follows no link', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-users-'))
  const [path, theirs] = [join(folder, 'users.json'), join(folder, 'theirs')]
  try {
    writeFileSync(theirs, 'theirs')
    symlinkSync(theirs, path)
    writeFileSync(`${path}.new`, 'somebody may read this', { mode: 0o666 })
    expect(backupUsers(new EditableUsers(), path, systemClock)).toMatchObject({ kind: 'done' })
    expect(readFileSync(theirs, 'utf8')).toBe('theirs')
    expect(lstatSync(path).isSymbolicLink()).toBe(false)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readFileSync(`${path}.new`, 'utf8')).toBe('somebody may read this')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
