import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { Blobs } from '../../ports/blobs.ts'
import { freeBytes } from '../data-dir/disk-budget.ts'
import { mountSmallDisk } from '../testing/small-disk.ts'
import { openFileBlobs } from './files.ts'
import { blobsContract } from './testing/contract.ts'

const MIB = 1024 * 1024
const root = mkdtempSync(join(tmpdir(), 'fleet-blobs-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const paths = new Map<Blobs, string>()
let count = 0

async function open(path = join(root, `${count++}`)): Promise<Blobs> {
  const blobs = await openFileBlobs(path)
  paths.set(blobs, path)
  return blobs
}

blobsContract({
  name: 'files',
  open: () => open(),
  restart: (blobs) => open(paths.get(blobs)),
  close: async () => {},
})

test('unfinished uploads are removed at the next start, and failed ones at once', async () => {
  const path = join(root, `${count++}`)
  await open(path)
  writeFileSync(join(path, 'unfinished', 'x'), 'half')
  const blobs = await open(path)
  await expect(blobs.put('a', content(), 10)).resolves.toEqual({ kind: 'too_large' })
  expect(readdirSync(join(path, 'unfinished'))).toEqual([])
})

test('a missing directory is a retryable fault', async () => {
  const path = join(root, `${count++}`)
  const blobs = await open(path)
  rmSync(path, { recursive: true })
  await expect(blobs.put('a', content(), 100)).rejects.toMatchObject({
    code: 'BLOBS_UNAVAILABLE',
    retryable: true,
  })
})

test('an image that would take the room of the log is refused, and the next one taken once there is room', async ({
  skip,
}) => {
  const path = join(root, `${count++}`)
  const disk = mountSmallDisk(path)
  if (disk === undefined) return skip('mounting a disk needs root')
  try {
    const blobs = await open(path)
    const large = async function* () {
      for (let i = 0; i < 20; i++) yield new Uint8Array(MIB)
    }
    // The disk itself has room for it.
    expect(freeBytes(path)).toBeGreaterThan(20 * MIB)
    expect(await blobs.put('a', large(), 2 ** 30)).toEqual({ kind: 'full' })
    expect([await blobs.head('a'), readdirSync(join(path, 'unfinished'))]).toEqual([undefined, []])
    disk.fill(20)
    expect(await blobs.put('a', content(), 100)).toEqual({ kind: 'full' })
    disk.clear()
    expect(await blobs.put('a', content(), 100)).toMatchObject({ kind: 'put', bytes: 20 })
  } finally {
    disk.unmount()
  }
})

async function* content(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(20)
}
