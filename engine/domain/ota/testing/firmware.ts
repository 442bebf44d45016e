// A firmware to change in tests.
import { FirmwareId, Millis } from '../../../../schemas/ids.ts'
import type { FirmwareRecord } from '../firmware-record.ts'

export const FIRMWARE: FirmwareRecord = {
  id: FirmwareId('fw_1'),
  version: '1.0.0',
  deviceType: 'simulator',
  changelog: 'first',
  filename: 'a.bin',
  sizeBytes: 3,
  contentType: 'application/octet-stream',
  sha256: 'ab'.repeat(32),
  imageKey: 'firmware/1',
  signature: undefined,
  signatureVerified: undefined,
  minFromVersion: undefined,
  fromVersions: [],
  reportsAs: '1.0.0',
  status: 'available',
  uploadedBy: 'usr_1',
  createdAt: Millis(1),
  updatedAt: Millis(1),
  revision: 1,
}
