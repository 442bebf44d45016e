import { strict as assert } from 'node:assert'
import { KIB, MIB } from './sizes.ts'

export const FIRMWARE_LIMITS = {
  firmwareRecordsMax: 10_000,
  /** Largest image for a microcontroller. */
  firmwareMcuBytesMax: 16 * MIB,
  /** An image without a record was left behind by a crash, and is removed at this age. */
  imageOrphanMs: 86_400_000,
  imageSweepEveryMs: 3_600_000,
  /** Shortest time before an image that differed from its record is read again. */
  imageCheckAgainMs: 60_000,
  /** Bytes of an image in memory while it is checked. */
  imageCheckBytes: 1 * MIB,
  /** Longest time for an upload. */
  uploadMsMax: 6 * 3_600_000,
  /** Longest silence of a sender during an upload. */
  uploadSilenceMs: 30_000,
  uploadsAtOnceMax: 4,
  uploadPartsMax: 32,
  uploadFieldBytesMax: 64 * KIB,
  /** Bytes of an upload collected in memory before they are written to a file. */
  blobWriteBytes: 1 * MIB,
  /** Bytes of an upload after which their memory is collected. */
  uploadCollectBytes: 4 * MIB,
  /** Bytes of an upload besides the image. */
  uploadExtraBytesMax: 1 * MIB,
} as const

const LIMITS = FIRMWARE_LIMITS
assert(LIMITS.uploadMsMax < LIMITS.imageOrphanMs, 'an upload under way does not look like an orphan')
