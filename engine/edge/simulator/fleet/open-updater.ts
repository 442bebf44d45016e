// Creates the updater of a simulated device, with its connection and its timers.
import type { JsonObject } from '../../../../schemas/json.ts'
import type { FirmwareMessage } from '../../device/firmware-message.ts'
import { fetchImage } from '../updates/fetch-image.ts'
import { Updater } from '../updates/updater.ts'
import type { DeviceCohort } from './device-cohort.ts'
import type { World } from './world.ts'

export interface UpdatedDevice {
  readonly world: World
  readonly cohort: DeviceCohort
  readonly index: number
  readonly version: string
  publish(suffix: string, body: JsonObject): void
  reboot(version: string | undefined): Promise<void>
  updateStatusChanged(status: string): void
}

export function openUpdater(device: UpdatedDevice): Updater {
  const { world, cohort, index } = device
  const { download, rateKibPerSec, installSec } = cohort.plan.firmware
  const { kind, failures } = cohort.behaviourOf(index)
  const bytesPerSec = rateKibPerSec * 1_024
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => world.after(ms, resolve))
  const ports = {
    say: (report: JsonObject) => device.publish('ota/status', { ...report, timestamp: world.stamp() }),
    download: async (message: FirmwareMessage, progress: (percent: number) => void) => {
      if (download === 'fake') {
        await sleep(bytesPerSec > 0 ? (message.sizeBytes * 1_000) / bytesPerSec : 0)
        return true
      }
      const isRight = await fetchImage(message, { progress, signal: world.signal, bytesPerSec })
      if (!isRight && !world.signal.aborted) world.counts.error('download_failed')
      return isRight
    },
    sleep,
    reboot: (version: string | undefined) => device.reboot(version),
    statusChanged: (status: string) => device.updateStatusChanged(status),
  }
  return new Updater(device.version, kind, ports, {
    installMs: installSec * 1_000,
    downloadsFailing: failures,
  })
}
