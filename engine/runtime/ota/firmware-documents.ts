// How firmware records are stored: a document each.
import type { FirmwareRecord } from '../../domain/ota/firmware-record.ts'
import { newPackr } from '../../domain/packing.ts'
import type { SavedDocument } from '../../ports/documents.ts'

export const FIRMWARE = 'firmware'

const packr = newPackr()

export function firmwareDocument(record: FirmwareRecord): SavedDocument {
  return { collection: FIRMWARE, id: record.id, bytes: packr.pack(record) }
}

export function readFirmware(bytes: Uint8Array): FirmwareRecord {
  // Written by `firmwareDocument`.
  return packr.unpack(bytes) as FirmwareRecord
}
