// The engine reads rows from files only, so the rows of an insert are spooled to a file, in memory where the system
// offers that. Files of a killed process are removed when the next one starts.
import { createHash, randomUUID } from 'node:crypto'
import { closeSync, existsSync, lstatSync, mkdirSync, openSync, rmSync, unlinkSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const IN_MEMORY = '/dev/shm'

export class Spool {
  readonly #folder: string

  /** May be called only by the process that holds this data directory. */
  constructor(dataDir: string) {
    clearSpool(dataDir)
    this.#folder = folderOf(dataDir)
  }

  /** Creates the folder again, because systems may clear temporary folders under running programs. */
  file(): SpoolFile {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    return new SpoolFile(join(this.#folder, randomUUID()))
  }
}

/** Removes files that a killed process left behind. May be called only while no process holds the data directory. */
export function clearSpool(dataDir: string): void {
  rmSync(folderOf(dataDir), { recursive: true, force: true })
}

function folderOf(dataDir: string): string {
  const name = `fleet-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`
  const folder = join(existsSync(IN_MEMORY) ? IN_MEMORY : tmpdir(), name)
  return isOurs(folder) ? folder : join(dataDir, 'spool')
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

/** Other users may write to these places, too. A folder of that name that another user owns stays untouched. */
function isOurs(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  return found === undefined || (found.isDirectory() && found.uid === process.getuid?.())
}
