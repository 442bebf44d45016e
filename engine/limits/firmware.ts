import { strict as assert } from 'node:assert'
import { KIB, MIB } from './sizes.ts'

export const FIRMWARE_LIMITS = {
  firmwareRecordsMax: 10_000,
  /** A microcontroller holds no more. */
  firmwareMcuBytesMax: 16 * MIB,
  /** An image without a record is what a crash left; it is removed once it is this old. */
  imageOrphanMs: 86_400_000,
  imageSweepEveryMs: 3_600_000,
  /** An image that was not the record's is read again after this time at the earliest. */
  imageCheckAgainMs: 60_000,
  /** Bytes of an image in memory while it is checked. */
  imageCheckBytes: 1 * MIB,
  /** An upload that takes longer is given up. */
  uploadMsMax: 6 * 3_600_000,
  /** A sender that is silent for this long is given up. */
  uploadSilenceMs: 30_000,
  uploadsAtOnceMax: 4,
  uploadPartsMax: 32,
  uploadFieldBytesMax: 64 * KIB,
  /** An upload is gathered to so much before it is written to a file. */
  blobWriteBytes: 1 * MIB,
  /** What the parts of an upload may have beside the image. */
  uploadExtraBytesMax: 1 * MIB,
} as const

const LIMITS = FIRMWARE_LIMITS
assert(LIMITS.uploadMsMax < LIMITS.imageOrphanMs, 'an upload under way does not look like an orphan')
