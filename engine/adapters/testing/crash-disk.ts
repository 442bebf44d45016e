// For tests: a disk whose power can be cut. Its file has only what the file system has written so far, as a real disk
// would: what is in the page cache and was not synced is missing in a copy of it.
import { spawnSync } from 'node:child_process'
import { constants, copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

export interface CrashDisk {
  readonly path: string
  /** The disk as it is found after a power cut at this moment, mounted at another directory. */
  cut(): string
  unmount(): void
}

const MEBIBYTES = 512

/** Makes a disk in a directory. Undefined if that is not permitted: it needs root on Linux, and loop devices. */
export function mountCrashDisk(directory: string): CrashDisk | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined
  const image = join(directory, 'disk.img')
  const mounted: string[] = []
  const mount = (file: string): string | undefined => {
    const path = join(directory, `disk-${mounted.length}`)
    mkdirSync(path)
    if (!run('mount', '-o', 'loop', file, path)) return undefined
    mounted.push(path)
    return path
  }
  if (!run('truncate', '-s', `${MEBIBYTES}M`, image) || !run('mkfs.ext4', '-q', '-F', image)) return undefined
  const path = mount(image)
  if (path === undefined) return undefined
  return {
    path,
    cut: () => {
      const copy = join(directory, `cut-${mounted.length}.img`)
      copyFileSync(image, copy, constants.COPYFILE_EXCL)
      const found = mount(copy)
      if (found === undefined) throw new Error('the copy of the disk cannot be mounted')
      return found
    },
    unmount: () => {
      for (const each of mounted) run('umount', '-l', each)
    },
  }
}

function run(command: string, ...args: readonly string[]): boolean {
  return spawnSync(command, args).status === 0
}
