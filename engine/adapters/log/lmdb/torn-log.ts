// Without fsync a power cut can tear the log's files, and a torn file must never be read. A marker beside them names
// the boot of the machine in which they were last open without fsync. If the current boot is another one, the power may
// have been cut.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { Durability } from '../../../ports/log.ts'

/** Moves aside (`….torn`) a log that a power cut may have torn. Its unprocessed messages are lost, as durability
 *  `process` allows. Records and rows are stored elsewhere. */
export function quarantineIfTorn(
  path: string,
  durability: Durability,
  boot: string | undefined = bootId(),
): void {
  const markedBoot = readText(`${path}.unsynced`)
  const mayBeTorn = markedBoot !== undefined && boot !== undefined && markedBoot !== boot
  // There is no log if somebody removed it, or if the process ended right after it was moved.
  if (mayBeTorn && existsSync(path)) {
    rmSync(`${path}.torn`, { recursive: true, force: true })
    renameSync(path, `${path}.torn`)
  }
  if (durability === 'process') writeFileSync(`${path}.unsynced`, boot ?? '', { mode: 0o600 })
  else rmSync(`${path}.unsynced`, { force: true })
}

/** Removes the marker after an orderly stop: the operating system has all the data and the time to write it. */
export function removeMarker(path: string): void {
  rmSync(`${path}.unsynced`, { force: true })
}

function bootId(): string | undefined {
  return readText('/proc/sys/kernel/random/boot_id')
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    // The file usually does not exist.
    return undefined
  }
}
