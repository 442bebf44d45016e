import type { FirmwareRecord } from '../../domain/ota/firmware-record.ts'

/** The bytes of all images together. An image that several records share counts once. */
export function storageOf(records: Iterable<FirmwareRecord>): number {
  const sizes = new Map<string, number>()
  for (const { imageKey, sizeBytes } of records) sizes.set(imageKey, sizeBytes)
  let bytes = 0
  for (const size of sizes.values()) bytes += size
  return bytes
}
