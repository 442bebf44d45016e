// Without fsync a power cut can tear the log's files, and a torn file must never be read. A mark beside them
// says in which boot of the machine they were last open without fsync; another boot now means there was a cut.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { Durability } from '../../../ports/log.ts'

/** Moves a log aside (`….torn`) that a power cut may have torn. Its unprocessed messages are what durability
 *  `process` gives up; records and rows are kept elsewhere. */
export function setAsideIfTorn(
  path: string,
  durability: Durability,
  boot: string | undefined = bootId(),
): void {
  const marked = readText(`${path}.unsynced`)
  if (marked !== undefined && boot !== undefined && marked !== boot) {
    rmSync(`${path}.torn`, { recursive: true, force: true })
    renameSync(path, `${path}.torn`)
  }
  if (durability === 'process') writeFileSync(`${path}.unsynced`, boot ?? '', { mode: 0o600 })
  else rmSync(`${path}.unsynced`, { force: true })
}

/** After an orderly end: the operating system has everything and time enough to write it. */
export function clearMark(path: string): void {
  rmSync(`${path}.unsynced`, { force: true })
}

function bootId(): string | undefined {
  return readText('/proc/sys/kernel/random/boot_id')
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    // There is no such file: the ordinary case here, and an answer.
    return undefined
  }
}
