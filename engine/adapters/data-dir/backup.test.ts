import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { LmdbEnv } from '../lmdb/lmdb-env.ts'
import { mountSmallDisk } from '../testing/small-disk.ts'
import { backupDataDir, restoreDataDir } from './backup.ts'
import { openDataDir, storePath } from './data-dir.ts'

const STARTED_AT = '2026-03-01T00:00:00.000Z'
const MIB = 1024 * 1024
let root: string
let data: string

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'fleet-backup-'))
  data = join(root, 'data')
  const dir = await openDataDir(data)
  const env = new LmdbEnv({ path: storePath(data), durability: 'process', tables: ['facts'] })
  await env.write([{ table: 'facts', key: 'a', value: new Uint8Array(8) }])
  await env.close()
  for (const folder of ['log', 'telemetry/store', 'telemetry/metadata/default', 'blobs/content'])
    mkdirSync(join(data, folder), { recursive: true })
  writeFileSync(join(data, 'telemetry/metadata/default/settlements.sql'), '')
  await dir.release()
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

test('a backup is restored, and the directory can be used', async () => {
  writeFileSync(join(data, 'blobs/content/image'), 'bytes')
  const [backup, restored] = [join(root, 'backup'), join(root, 'restored')]
  await backupDataDir(data, backup, STARTED_AT)
  expect(await restoreDataDir(backup, restored)).toBe(STARTED_AT)
  expect(readdirSync(join(restored, 'blobs/content'))).toEqual(['image'])
  await (await openDataDir(restored)).release()
})

test('a directory whose restore was cut off is refused at the next start, instead of being used with a part of the data', async () => {
  const [backup, restored] = [join(root, 'backup'), join(root, 'restored')]
  await backupDataDir(data, backup, STARTED_AT)
  // A pipe cannot be copied, so the restore ends there.
  expect(spawnSync('mkfifo', [join(backup, 'telemetry', 'pipe')]).status).toBe(0)
  await expect(restoreDataDir(backup, restored)).rejects.toMatchObject({ code: 'DATA_DIR_UNUSABLE' })
  expect(existsSync(storePath(restored))).toBe(true)
  await expect(openDataDir(restored)).rejects.toThrow(/a restore into it did not end/)
})

test('an image that is removed while images are copied does not end the backup', async () => {
  const backup = join(root, 'backup')
  for (const name of ['one', 'other'])
    writeFileSync(join(data, 'blobs/content', name), Buffer.alloc(32 * MIB, 1))
  // The copy runs without a pause, so another thread removes the second image once the first is begun.
  const worker = new Worker(
    `const { existsSync, rmSync } = require('node:fs')
     const { from, to } = require('node:worker_threads').workerData
     require('node:worker_threads').parentPort.postMessage('ready')
     for (;;) {
       const first = ['one', 'other'].find((name) => existsSync(to + '/' + name))
       if (first === undefined) continue
       rmSync(from + '/' + (first === 'one' ? 'other' : 'one'))
       break
     }`,
    {
      eval: true,
      workerData: { from: join(data, 'blobs/content'), to: join(backup, 'blobs/content') },
    },
  )
  await once(worker, 'message')
  const ended = once(worker, 'exit')
  await backupDataDir(data, backup, STARTED_AT)
  await ended
  expect(await restoreDataDir(backup, join(root, 'restored'))).toBe(STARTED_AT)
})

test('a full disk ends the backup with one line that says so, and leaves no complete backup', async ({
  skip,
}) => {
  const disk = mountSmallDisk(join(root, 'disk'), 4)
  if (disk === undefined) return skip('mounting a disk needs root')
  try {
    writeFileSync(join(data, 'blobs/content/image'), Buffer.alloc(8 * MIB))
    const backup = join(disk.path, 'backup')
    await expect(backupDataDir(data, backup, STARTED_AT)).rejects.toMatchObject({
      code: 'DATA_DIR_UNUSABLE',
      message: expect.stringMatching(/^the backup to .* is not complete: ENOSPC/),
    })
    await expect(restoreDataDir(backup, join(root, 'restored'))).rejects.toThrow(/no complete backup/)
  } finally {
    disk.unmount()
  }
})
