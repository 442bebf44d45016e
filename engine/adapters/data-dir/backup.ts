// Backs up a data directory while its service may be running, and restores it.
//
// B1. The store is copied before the log, and the log before ClickHouse's tables. So the log's copy has everything that the
//     store's copy lacks, and the tables have every row that the store's positions claim to be inserted. Starting from the
//     copy is like starting after a crash: the rest is applied and inserted again, and points count once (R11).
// - What was acknowledged before the backup began is in the log or the store by then, and so in one of the copies.
// - The manifest is written last. A folder without a manifest is not a backup.

import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { errorText } from '../../../schemas/error-text.ts'
import { Fault } from '../../ports/fault.ts'
import { copyLmdb } from '../lmdb/copy.ts'
import { syncPath } from '../lmdb/lmdb-env.ts'
import { copyTables } from '../telemetry/chdb/copy-tables.ts'
import { codeOf, openDataDir, storePath, UNFINISHED_RESTORE } from './data-dir.ts'

const MANIFEST = 'backup.json'
const FORMAT = 'fleet-data-1'
const SEGMENT = /^\d{16}\.mdb$/

/** `to` must not exist, or be empty. */
export function backupDataDir(from: string, to: string, startedAt: string): Promise<void> {
  return withFault(`the backup to ${to} is not complete`, () => backUp(from, to, startedAt))
}

/** The directory must not exist, or be empty. Resolves with the time at which the backup began. */
export function restoreDataDir(from: string, to: string): Promise<string> {
  return withFault(`${to} is not restored; remove what is in it and try again`, () => restore(from, to))
}

async function backUp(from: string, to: string, startedAt: string): Promise<void> {
  if (!existsSync(storePath(from))) throw unusable(`${from} is no data directory of Fleet`)
  if (existsSync(to) && readdirSync(to).length > 0) throw unusable(`${to} is not empty`)
  mkdirSync(to, { recursive: true, mode: 0o700 })
  cpSync(join(from, 'VERSION'), join(to, 'VERSION'))
  // The order follows B1.
  await copyLmdb(storePath(from), storePath(to))
  await copyLog(join(from, 'log'), join(to, 'log'))
  copyTables(join(from, 'telemetry'), join(to, 'telemetry'))
  copyBlobs(join(from, 'blobs', 'content'), join(to, 'blobs', 'content'))
  syncTree(to)
  writeFileSync(join(to, MANIFEST), `${JSON.stringify({ format: FORMAT, started_at: startedAt })}\n`, {
    mode: 0o600,
    flush: true,
  })
  syncPath(to)
}

async function restore(from: string, to: string): Promise<string> {
  const startedAt = startOf(from)
  if (existsSync(to) && readdirSync(to).length > 0)
    throw unusable(`${to} is not empty; restore into a directory that is, or move it away`)
  mkdirSync(to, { recursive: true, mode: 0o700 })
  // A start checks this file, so it refuses a directory in which something is missing.
  const version = join(to, 'VERSION')
  writeFileSync(version, UNFINISHED_RESTORE, { mode: 0o600, flush: true })
  syncPath(to)
  for (const name of readdirSync(from)) {
    if (name === MANIFEST || name === 'VERSION') continue
    cpSync(join(from, name), join(to, name), { recursive: true, verbatimSymlinks: true })
  }
  syncTree(to)
  writeFileSync(`${version}.new`, readFileSync(join(from, 'VERSION')), { mode: 0o600, flush: true })
  renameSync(`${version}.new`, version)
  syncPath(to)
  await (await openDataDir(to)).release()
  return startedAt
}

/** Copies the segments listed at the start. All but the newest are complete, and the newest is copied up to a commit. So no
 *  commit is missing in the middle. A segment that is removed meanwhile held nothing that the store's copy needs. */
async function copyLog(from: string, to: string): Promise<void> {
  mkdirSync(to, { recursive: true, mode: 0o700 })
  const listed = readdirSync(from).filter((name) => SEGMENT.test(name))
  for (const name of listed.sort())
    if (existsSync(join(from, name))) await copyLmdb(join(from, name), join(to, name))
}

/** Images that are removed meanwhile are left out. Uploads that are not finished are in another folder. */
function copyBlobs(from: string, to: string): void {
  if (!existsSync(from)) return
  mkdirSync(to, { recursive: true, mode: 0o700 })
  for (const name of readdirSync(from))
    try {
      copyFileSync(join(from, name), join(to, name))
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error
    }
}

function startOf(from: string): string {
  try {
    // Written by backupDataDir; anything else is refused below.
    const manifest = JSON.parse(readFileSync(join(from, MANIFEST), 'utf8')) as Record<string, unknown>
    if (manifest['format'] === FORMAT) return String(manifest['started_at'])
  } catch {
    // The manifest is missing or not JSON. The error below covers both.
  }
  throw unusable(`${from} is no complete backup: it has no valid ${MANIFEST}`)
}

/** Makes the copy survive a power cut after the end of the backup. */
function syncTree(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) syncTree(join(path, entry.name))
    else if (entry.isFile()) syncPath(join(path, entry.name))
  }
  syncPath(path)
}

/** The system may refuse, for example because the disk is full. */
async function withFault<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Fault || codeOf(error) === undefined) throw error
    throw unusable(`${what}: ${errorText(error)}`)
  }
}

const unusable = (message: string) => new Fault('DATA_DIR_UNUSABLE', { retryable: false, message })
