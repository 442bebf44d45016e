// The engine reads rows from files only, so the rows of an insert are spooled to a file, in memory where the system
// offers that. Files of a killed process are removed when the next one starts.
//
// Everybody may write to the place in memory and can compute the folder's name. A folder that another user created, or may
// write to, is therefore never used: the rows are spooled to the data directory instead.
import { createHash, randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  type Stats,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const IN_MEMORY = '/dev/shm'

export class Spool {
  readonly #dataDir: string

  /** May be called only by the process that holds this data directory. */
  constructor(dataDir: string) {
    clearSpool(dataDir)
    this.#dataDir = dataDir
    // Created before the first insert, so that nobody else creates it first.
    this.#openFolder()
  }

  file(): SpoolFile {
    return new SpoolFile(join(this.#openFolder(), randomUUID()))
  }

  /** Checks the folder each time, because systems may clear temporary folders under running programs. */
  #openFolder(): string {
    const [inMemory, inDataDir] = foldersOf(this.#dataDir)
    if (isUsable(inMemory)) return inMemory
    if (isUsable(inDataDir)) return inDataDir
    throw new Error(
      `${inDataDir} must be a folder that only the service's user may use. Remove it, and it is made again.`,
    )
  }
}

/** Removes files that a killed process left behind. May be called only while no process holds the data directory. */
export function clearSpool(dataDir: string): void {
  for (const folder of foldersOf(dataDir)) {
    const stats = lstatSync(folder, { throwIfNoEntry: false })
    if (stats !== undefined && isOwn(stats)) rmSync(folder, { recursive: true, force: true })
  }
}

/** Folders in memory and in the data directory. */
function foldersOf(dataDir: string): readonly [string, string] {
  const name = `fleet-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`
  return [join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), name), join(dataDir, 'spool')]
}

/** Makes the folder if it is missing. */
function isUsable(folder: string): boolean {
  if (!existsSync(folder)) makeFolder(folder)
  const stats = lstatSync(folder)
  return isOwn(stats) && (stats.mode & 0o077) === 0
}

/** A folder that another user creates at the same moment is checked like any existing one. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

function isOwn(stats: Stats): boolean {
  return stats.isDirectory() && stats.uid === process.getuid?.()
}

class SpoolFile {
  readonly path: string
  readonly #fd: number
  #isOpen = true

  constructor(path: string) {
    this.path = path
    this.#fd = openSync(path, 'wx', 0o600)
  }

  write(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at)
  }

  /** Closes the complete file, so that the engine may read it. */
  end(): void {
    if (this.#isOpen) closeSync(this.#fd)
    this.#isOpen = false
  }

  remove(): void {
    this.end()
    unlinkSync(this.path)
  }
}
