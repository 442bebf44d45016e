// Firmware settings for tests of the API, with small limits.
import type { OtaSettings } from '../service/settings/ota.ts'

export const OTA: OtaSettings = {
  publicUrl: undefined,
  downloads: 'proxy',
  ddi: false,
  downloadsMax: 256,
  downloadBytesPerSec: 0,
  urlTtlMs: 86_400_000,
  uploadBytesMax: 2 ** 21,
  storageBytesMax: 2 ** 30,
  trustedKeys: [],
  signing: { kind: 'none' },
  previousKeys: [],
  retentionMs: 365 * 86_400_000,
}
