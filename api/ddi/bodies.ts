// The answers of the DDI, in the terms of hawkBit.
import {
  ddiNumber,
  ddiSleepSec,
  offeredJob,
  unannouncedCancel,
  wantsConfig,
} from '../../engine/domain/ota/ddi.ts'
import type { Firmware } from '../../engine/domain/ota/firmware-part.ts'
import type { Job } from '../../engine/domain/ota/job.ts'
import type { FirmwareRecord, ImageHashes } from '../../engine/ports/ota.ts'
import type { Millis } from '../../schemas/ids.ts'

/** The controller resource: when to poll again, and what there is to do. `base` is its URL. */
export function controllerBody(firmware: Firmware, base: string, now: Millis): object {
  const job = offeredJob(firmware)
  const stopped = unannouncedCancel(firmware)
  return {
    config: { polling: { sleep: clockTime(ddiSleepSec(firmware, now)) } },
    _links: {
      ...(job === undefined ? {} : { deploymentBase: link(`${base}/deploymentBase/${ddiNumber(job)}`) }),
      ...(stopped === undefined ? {} : { cancelAction: link(`${base}/cancelAction/${ddiNumber(stopped)}`) }),
      ...(wantsConfig(firmware) ? { configData: link(`${base}/configData`) } : {}),
    },
  }
}

interface Offer {
  readonly job: Job
  readonly record: FirmwareRecord
  readonly hashes: ImageHashes
  /** A signed link that needs no other authentication. */
  readonly url: string
  readonly now: Millis
}

export function deploymentBody({ job, record, hashes, url, now }: Offer): object {
  const { notAfter } = job
  const isOpen = notAfter === undefined || now < notAfter
  return {
    id: String(ddiNumber(job)),
    deployment: {
      download: 'forced',
      update: job.plan.force ? 'forced' : 'attempt',
      ...(notAfter === undefined ? {} : { maintenanceWindow: isOpen ? 'available' : 'unavailable' }),
      chunks: [
        {
          part: 'os',
          name: record.deviceType,
          version: record.version,
          artifacts: [
            {
              filename: record.filename,
              hashes: { sha256: record.sha256, ...hashes },
              size: record.sizeBytes,
              _links: { download: link(url), 'download-http': link(url) },
            },
          ],
        },
      ],
    },
  }
}

export function cancelBody(job: Job): object {
  const id = String(ddiNumber(job))
  return { id, cancelAction: { stopId: id } }
}

const link = (href: string) => ({ href })

/** Formats a duration as `HH:MM:SS`. */
function clockTime(seconds: number): string {
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  return parts.map((part) => String(part).padStart(2, '0')).join(':')
}
