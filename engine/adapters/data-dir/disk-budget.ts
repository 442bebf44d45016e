// How much of a disk the log may take, and how much images of firmware. Store and ClickHouse are on the same disk, and the
// log can be trimmed only once they have room to write.
import { statfsSync } from 'node:fs'
import { LIMITS } from '../../limits.ts'

export interface DiskBudget {
  /** Files are removed as a whole, so a file must be a small part of the disk. */
  readonly segmentBytes: number
  /** Free space that an append leaves to store and ClickHouse. */
  readonly reserveBytes: number
  /** While less than this is free, settled entries are removed however young they are, and no image is stored. */
  readonly lowBytes: number
}

/** The path has to exist. */
export function diskBudget(path: string): DiskBudget {
  const { blocks, bsize } = statfsSync(path)
  const total = blocks * bsize
  const segmentBytes = Math.min(LIMITS.logSegmentBytes, total / 32)
  const reserveBytes = Math.max(LIMITS.diskReserveBytes, Math.min(LIMITS.logDiskReserveBytes, total / 16))
  return { segmentBytes, reserveBytes, lowBytes: reserveBytes + 2 * segmentBytes }
}

export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize
}
