// How much of a disk the log may take. Store and ClickHouse are on the same disk, and the log can be trimmed only once
// they have room to write.
import { statfsSync } from 'node:fs'
import { LIMITS } from '../../../limits.ts'

export interface DiskBudget {
  /** Files are removed as a whole, so a file must be a small part of the disk. */
  readonly segmentBytes: number
  /** Free space that an append leaves to store and ClickHouse. */
  readonly reserveBytes: number
  /** While less than this is free, settled entries are removed however young they are. */
  readonly lowBytes: number
}

/** `directory` has to exist. */
export function diskBudget(directory: string): DiskBudget {
  const { blocks, bsize } = statfsSync(directory)
  const total = blocks * bsize
  const segmentBytes = Math.min(LIMITS.logSegmentBytes, total / 32)
  const reserveBytes = Math.max(LIMITS.diskReserveBytes, Math.min(LIMITS.logDiskReserveBytes, total / 16))
  return { segmentBytes, reserveBytes, lowBytes: reserveBytes + 2 * segmentBytes }
}

export function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}
