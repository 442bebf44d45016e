import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
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
