// For tests: a small disk that is quickly full.
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const MIB = 1024 * 1024

export interface SmallDisk {
  readonly path: string
  /** Fills this many bytes until `clear`. */
  fill(mebibytes: number): void
  clear(): void
  unmount(): void
}

const MEBIBYTES = 24

/** Mounts a disk at a new directory. Undefined if that is not permitted: it needs root on Linux. */
export function mountSmallDisk(path: string, mebibytes: number = MEBIBYTES): SmallDisk | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined
  mkdirSync(path)
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', path]).status !== 0)
    return undefined
  const filler = join(path, 'filler')
  return {
    path,
    fill: (taken) => writeFileSync(filler, Buffer.alloc(taken * MIB)),
    clear: () => rmSync(filler, { force: true }),
    // The unmount is lazy, because LMDB may still have the file mapped.
    unmount: () => spawnSync('umount', ['-l', path]),
  }
}
