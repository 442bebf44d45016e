// Carries out the updates of a simulated device: it takes the message, downloads, reports its progress, restarts and
// connects with the new version, or misbehaves in the way it was told to. It has no clock and no connection of its own,
// so that a simulation in simulated time can use the same devices.
import type { JsonObject } from '../../../../schemas/json.ts'
import { isSameVersion } from '../../../../schemas/same-version.ts'
import { type FirmwareMessage, readFirmwareMessage } from '../../device/firmware-message.ts'
import type { UpdateKind } from './update-kinds.ts'

export interface UpdaterPorts {
  /** Publishes a report on `ota/status`. */
  readonly say: (report: JsonObject) => void
  /** Resolves with true if the bytes are the announced ones. */
  readonly download: (message: FirmwareMessage, progress: (percent: number) => void) => Promise<boolean>
  readonly sleep: (ms: number) => Promise<void>
  /** Disconnects the device. With a version the device comes back on it after a while. Without one it never comes
   *  back. */
  readonly reboot: (version: string | undefined) => Promise<void>
  /** Called with each new status, even of a device that reports none. */
  readonly statusChanged?: (status: string) => void
}

export interface UpdatePace {
  readonly installMs: number
  /** The number of downloads that fail before one succeeds. Only `download_fail` uses it. */
  readonly downloadsFailing: number
}

const PACE: UpdatePace = { installMs: 1_500, downloadsFailing: 1 }
const SLOW = 10
const DEFER_SEC = 5
const CRASHES = 10
const CRASH_AFTER_MS = 5_000
const OTHER_VERSION = '0.0.0-other'

export class Updater {
  version: string
  readonly #ports: UpdaterPorts
  readonly #kind: UpdateKind
  readonly #pace: UpdatePace
  #message: FirmwareMessage | undefined
  #last: JsonObject | undefined
  /** Grows with each new update. An update that finds a greater number than its own stops. */
  #updateNumber = 0
  #hasDeferred = false
  #hasRestarted = false
  #failedDownloads = 0

  constructor(version: string, kind: UpdateKind, ports: UpdaterPorts, pace: UpdatePace = PACE) {
    this.version = version
    this.#kind = kind
    this.#pace = pace
    this.#ports = ports
  }

  /** Takes a message on `ota`: a new update, a repeated one or a cancellation. */
  take(body: JsonObject): void {
    const message = readFirmwareMessage(body)
    if (message === undefined) return
    const current = this.#message
    if (message.action === 'cancel') {
      if (current?.deploymentId !== message.deploymentId || this.#isInstalling()) return
      this.#updateNumber++
      this.#report(message, 'cancelled')
      this.#message = undefined
    } else if (current !== undefined && isSame(current, message)) {
      // A repeated message is answered with the last report.
      if (this.#last !== undefined) this.#ports.say(this.#last)
    } else if (!this.#isInstalling()) {
      this.#message = message
      this.#last = undefined
      void this.#update(message, ++this.#updateNumber)
    }
  }

  #isInstalling(): boolean {
    const status = this.#last?.['status']
    return status === 'installing' || status === 'rebooting'
  }

  async #update(message: FirmwareMessage, updateNumber: number): Promise<void> {
    const kind = message.action === 'rollback' ? 'ok' : this.#kind
    if (this.#decline(message, kind)) return
    this.#report(message, 'downloading', { progress: 0 })
    if (kind === 'stall_downloading') return
    if (kind === 'restart_midway' && !this.#hasRestarted) {
      this.#hasRestarted = true
      this.#message = undefined
      return this.#ports.reboot(this.version)
    }
    if (!(await this.#download(message, kind)) || updateNumber !== this.#updateNumber) return
    this.#report(message, 'downloaded')
    this.#report(message, 'installing')
    if (kind === 'stall_installing') return
    await this.#ports.sleep((kind === 'slow' ? SLOW : 1) * this.#pace.installMs)
    if (updateNumber === this.#updateNumber) await this.#restart(message, kind)
  }

  /** Returns true if the device does not begin this update. */
  #decline(message: FirmwareMessage, kind: UpdateKind): boolean {
    const { version } = this
    if (kind === 'reject')
      this.#report(message, 'rejected', { error: { code: 'LOW_BATTERY', message: 'the battery is at 4 %' } })
    else if (kind === 'defer' && !this.#hasDeferred) {
      this.#hasDeferred = true
      this.#report(message, 'deferred', { retry_after_sec: DEFER_SEC })
    } else if (kind === 'already_installed' || (isSameVersion(version, message.reportsAs) && !message.force))
      this.#report(message, 'already_installed', { version })
    else return false
    return true
  }

  async #download(message: FirmwareMessage, kind: UpdateKind): Promise<boolean> {
    const failed = (code: string) =>
      this.#report(message, 'failed', { error: { code, message: 'the simulator makes this download fail' } })
    if (kind === 'download_fail' && this.#failedDownloads < this.#pace.downloadsFailing) {
      this.#failedDownloads++
      failed('DOWNLOAD_FAILED')
      return false
    }
    const isRight = await this.#ports.download(message, (progress) =>
      this.#report(message, 'downloading', { progress }),
    )
    if (isRight && kind !== 'corrupt') return true
    if (this.#message === message) failed('CHECKSUM_MISMATCH')
    return false
  }

  async #restart(message: FirmwareMessage, kind: UpdateKind): Promise<void> {
    const { reboot, sleep } = this.#ports
    const goal = message.reportsAs
    if (kind === 'power_cut') return this.#rebootAndForget(this.version)
    if (kind === 'liar') return this.#report(message, 'succeeded', { version: goal })
    this.#report(message, 'rebooting')
    if (kind === 'brick') return reboot(undefined)
    if (kind === 'rollback_self') return this.#rebootAndForget(this.version)
    if (kind === 'wrong_version') return this.#rebootAndForget(OTHER_VERSION)
    await this.#rebootTo(goal)
    for (let crash = 1; kind === 'crash_loop' && crash < CRASHES; crash++) {
      await sleep(CRASH_AFTER_MS)
      await reboot(goal)
    }
    // The device connected with the new version first, so the service sees the version before this report.
    if (kind !== 'crash_loop')
      this.#report(message, message.action === 'rollback' ? 'rolled_back' : 'succeeded', { version: goal })
  }

  /** Restarts and forgets the update, so that a repeated message starts it again. A service that missed the restart
   *  would otherwise wait for a report until its timeout. */
  async #rebootAndForget(version: string): Promise<void> {
    this.#message = undefined
    return this.#rebootTo(version)
  }

  /** Restarts with this version. The last report is forgotten, so that another attempt starts from the beginning. */
  async #rebootTo(version: string): Promise<void> {
    this.version = version
    await this.#ports.reboot(version)
    this.#last = undefined
  }

  #report(message: FirmwareMessage, status: string, more: JsonObject = {}): void {
    const { deploymentId, attempt, action } = message
    this.#last = { deployment_id: deploymentId, attempt, status, ...more }
    this.#ports.statusChanged?.(status)
    if (this.#kind !== 'quiet' || action === 'rollback') this.#ports.say(this.#last)
  }
}

function isSame(one: FirmwareMessage, other: FirmwareMessage): boolean {
  return (
    one.deploymentId === other.deploymentId && one.attempt === other.attempt && one.action === other.action
  )
}
