// For tests: settings of firmware that need no files.
import { generateKeyPairSync } from 'node:crypto'
import type { OtaSettings } from '../../../ports/ota.ts'

const { privateKey: key } = generateKeyPairSync('ed25519')

export const TEST_OTA: OtaSettings = {
  baseUrl: () => 'http://127.0.0.1:8000',
  urlKey: new Uint8Array(32).fill(7),
  urlTtlMs: 86_400_000,
  signing: { kid: 'test', key },
  downloadsMax: 256,
  hashesUploads: false,
  retentionMs: 365 * 86_400_000,
  storageBytesMax: 2 ** 30,
}
