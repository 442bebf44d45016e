// Where ClickHouse keeps its tables in a run: on a disk of its own, whose power can be cut. The log, the records and
// everything else lie elsewhere and lose nothing, so ClickHouse falls behind them by whatever it did not sync.
import { mkdirSync, renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type CrashDisk, mountCrashDisk } from '../../../engine/adapters/testing/crash-disk.ts'

/** A long run has many small files. */
const MEBIBYTES = 2_048

export class CrashFolder {
  /** A link to the folder on the disk. */
  readonly path: string
  readonly #disk: CrashDisk

  private constructor(path: string, disk: CrashDisk) {
    this.path = path
    this.#disk = disk
    this.#pointTo(disk.path)
  }

  /** Makes the disk in `folder` and the link at `path`. Undefined where no disk may be mounted. */
  static open(folder: string, path: string): CrashFolder | undefined {
    mkdirSync(folder, { recursive: true })
    const disk = mountCrashDisk(folder, MEBIBYTES)
    return disk === undefined ? undefined : new CrashFolder(path, disk)
  }

  /** What was not synced is gone. Whoever uses the folder stands still and does not go on. */
  cut(): void {
    this.#pointTo(this.#disk.cut())
    this.#disk.forget()
  }

  close(): void {
    this.#disk.unmount()
  }

  #pointTo(mounted: string): void {
    const target = join(mounted, 'data')
    mkdirSync(target, { recursive: true, mode: 0o700 })
    symlinkSync(target, `${this.path}.new`)
    renameSync(`${this.path}.new`, this.path)
  }
}
