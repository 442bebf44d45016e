// For tests: a disk whose power can be cut. Its file has only what the file system has written so far, as a real disk
// would: what is in the page cache and was not synced is missing in a copy of it.
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

export interface CrashDisk {
  readonly path: string
  /** The disk as it is found after a power cut at this moment, mounted at another directory. The next cut is one of that
   *  disk. */
  cut(): string
  /** Removes the disks before the last cut, which nobody uses any more. */
  forget(): void
  unmount(): void
}

const MEBIBYTES = 512
/** The file system writes nothing by itself for so long, which would tear a copy that is made meanwhile. */
const COMMIT_SEC = 300

/** Makes a disk in a directory. Undefined if that is not permitted: it needs root on Linux, and loop devices. */
export function mountCrashDisk(directory: string, mebibytes = MEBIBYTES): CrashDisk | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined
  let count = 0
  let disks: readonly Disk[] = []
  const mount = (image: string): Disk | undefined => {
    const path = join(directory, `disk-${count}`)
    mkdirSync(path)
    if (!run('mount', '-o', `loop,commit=${COMMIT_SEC}`, image, path)) return undefined
    const disk = { image, path }
    disks = [...disks, disk]
    count++
    return disk
  }
  const image = join(directory, 'disk.img')
  if (!run('truncate', '-s', `${mebibytes}M`, image) || !run('mkfs.ext4', '-q', '-F', image)) return undefined
  const first = mount(image)
  if (first === undefined) return undefined
  return {
    path: first.path,
    cut: () => {
      const copy = join(directory, `cut-${count}.img`)
      const isCopied = run('cp', '--sparse=always', disks.at(-1)?.image ?? image, copy)
      const found = isCopied ? mount(copy) : undefined
      if (found === undefined) throw new Error('the copy of the disk cannot be mounted')
      return found.path
    },
    forget: () => {
      for (const old of disks.slice(0, -1)) {
        run('umount', '-l', old.path)
        rmSync(old.image)
      }
      disks = disks.slice(-1)
    },
    unmount: () => {
      for (const { path } of disks) run('umount', '-l', path)
    },
  }
}

interface Disk {
  readonly image: string
  readonly path: string
}

function run(command: string, ...args: readonly string[]): boolean {
  return spawnSync(command, args).status === 0
}
