// For tests: one node with firmware, on a store and blobs in memory.
import { FirmwareId } from '../../../../schemas/ids.ts'
import { MemoryBlobs } from '../../../adapters/blobs/testing/memory.ts'
import { MemoryStore } from '../../../adapters/store/testing/memory.ts'
import { partitionOf } from '../../../domain/partition.ts'
import type { FirmwareUse, NewFirmware, OtaSettings } from '../../../ports/ota.ts'
import { StandingTime } from '../../../testing/standing-time.ts'
import { composeOta } from '../compose-ota.ts'
import type { FirmwareDesk } from '../firmware-desk.ts'
import { TEST_OTA } from './ota-settings.ts'

export const NOW = Date.UTC(2026, 2, 1)

export async function openFirmware({
  store = new MemoryStore({ partitionOf }),
  blobs = new MemoryBlobs(),
  time = new StandingTime(NOW),
  settings = {} as Partial<OtaSettings>,
  use = {} as Partial<FirmwareUse>,
} = {}) {
  const failures: unknown[] = []
  let ids = 0
  let desk: FirmwareDesk
  const ota = composeOta({
    store,
    blobs,
    clock: time,
    schedule: time,
    newId: () => `x${ids++}`,
    leader: {
      add: (firmware) => desk.add(firmware),
      edit: (editing) => desk.edit(editing),
      remove: (removal) => desk.remove(removal),
    },
    use: {
      deployments: () => ({ active: [], total: 0 }),
      countRollbackDevices: async () => 0,
      abort: async () => {},
      ...use,
    },
    jobs: {
      isWithdrawn: () => false,
      untilKnown: async () => {},
      began: () => {},
      sent: () => {},
      refused: () => {},
      unreportedBytes: () => 0,
      imageMissing: () => {},
    },
    settings: { ...TEST_OTA, ...settings },
    failed: (error) => failures.push(error),
  })
  desk = ota.desk([])
  await desk.open()
  const close = ota.cache.open()
  await ota.library.ready()

  /** Uploads these bytes as a version. */
  async function upload(version: string, bytes: string, about: Partial<NewFirmware> = {}) {
    const stored = await ota.library.storeImage(contentOf(bytes), 1_000)
    if (stored.kind !== 'stored') throw new Error(`not stored: ${stored.kind}`)
    const { key: imageKey, sha256, bytes: sizeBytes } = stored.image
    return ota.library.add({ ...newFirmware(version), imageKey, sha256, sizeBytes, ...about })
  }
  const keys = async () => (await blobs.list({ prefix: '', limit: 100 })).map(({ key }) => key)
  return { ...ota, desk, store, blobs, time, failures, upload, keys, close }
}

export async function* contentOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

let made = 0
function newFirmware(version: string): NewFirmware {
  return {
    id: FirmwareId(`fw_${made++}`),
    version,
    deviceType: 'simulator',
    changelog: '',
    filename: 'image.bin',
    sizeBytes: 0,
    contentType: 'application/octet-stream',
    sha256: '',
    imageKey: '',
    signature: undefined,
    signatureVerified: undefined,
    minFromVersion: undefined,
    fromVersions: [],
    reportsAs: version,
    uploadedBy: 'usr_1',
  }
}
