// The parts of firmware, created in the order in which they need each other.
import type { Blobs } from '../../ports/blobs.ts'
import type { Clock } from '../../ports/clock.ts'
import type { DownloadJobs, FirmwareUse, OtaSettings } from '../../ports/ota.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Claim, Store } from '../../ports/store.ts'
import { SignedLinks } from './artifacts.ts'
import { FirmwareCache } from './firmware-cache.ts'
import { FirmwareDesk } from './firmware-desk.ts'
import { Images } from './images.ts'
import type { FirmwareChanges } from './local-firmware.ts'
import { LocalFirmware } from './local-firmware.ts'

interface OtaPorts {
  readonly store: Pick<Store, 'save' | 'documents'>
  readonly blobs: Blobs | undefined
  readonly clock: Clock
  readonly schedule: Schedule
  readonly newId: () => string
  readonly leader: FirmwareChanges
  readonly settings: OtaSettings
  readonly use: FirmwareUse
  readonly jobs: DownloadJobs
  readonly failed: (error: unknown) => void
}

export function composeOta(ports: OtaPorts) {
  const { store, blobs, clock, schedule, newId, leader, settings, use, jobs, failed } = ports
  const { storageBytesMax, hashesUploads } = settings
  const images = new Images({ blobs, clock, newId })
  const links = new SignedLinks(settings)
  const cache = new FirmwareCache({ documents: store.documents, schedule, failed })
  const library = new LocalFirmware({
    cache,
    images,
    links,
    use,
    jobs,
    leader,
    storageBytesMax,
    hashesUploads,
    clock,
    failed,
  })
  return {
    cache,
    library,
    artifacts: links,
    desk: (claims: readonly Claim[]) =>
      new FirmwareDesk({ store, claims, images, use, clock, schedule, storageBytesMax, failed }),
  }
}
