// The updates of a simulated device: it takes the message, downloads, says how far it is, restarts, and connects on the
// version, or misbehaves as it was told to. It knows no clock and no connection, so a simulation in simulated time runs
// the same devices.
import type { JsonObject } from '../../../../schemas/json.ts'
import { isSameVersion } from '../../../../schemas/same-version.ts'
import { type FirmwareMessage, readFirmwareMessage } from '../../device/firmware-message.ts'
import type { UpdateKind } from './update-kinds.ts'

export interface UpdaterPorts {
  /** Publishes on `ota/status`. */
  readonly say: (report: JsonObject) => void
  /** Whether the bytes came as announced. */
  readonly download: (message: FirmwareMessage, progress: (percent: number) => void) => Promise<boolean>
  readonly sleep: (ms: number) => Promise<void>
  /** Disconnects. With a version the device is back with it after a while; without one it never is. */
  readonly reboot: (version: string | undefined) => Promise<void>
  /** Told what it is doing, also if it says nothing of it. */
  readonly moved?: (status: string) => void
}

export interface UpdatePace {
  readonly installMs: number
  /** Downloads that fail before one does well, of a device of that kind. */
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
  /** Grows with each order: what an earlier one began ends when it looks at it. */
  #turn = 0
  #hasDeferred = false
  #hasRestarted = false
  #failedDownloads = 0

  constructor(version: string, kind: UpdateKind, ports: UpdaterPorts, pace: UpdatePace = PACE) {
    this.version = version
    this.#kind = kind
    this.#pace = pace
    this.#ports = ports
  }

  /** The message came: for the first time, again, or to stop. */
  take(body: JsonObject): void {
    const message = readFirmwareMessage(body)
    if (message === undefined) return
    const current = this.#message
    if (message.action === 'cancel') {
      if (current?.deploymentId !== message.deploymentId || this.#isInstalling()) return
      this.#turn++
      this.#say(message, 'cancelled')
      this.#message = undefined
    } else if (current !== undefined && isSame(current, message)) {
      // It did this already: it answers with where it is.
      if (this.#last !== undefined) this.#ports.say(this.#last)
    } else if (!this.#isInstalling()) {
      this.#message = message
      this.#last = undefined
      void this.#update(message, ++this.#turn)
    }
  }

  #isInstalling(): boolean {
    const status = this.#last?.['status']
    return status === 'installing' || status === 'rebooting'
  }

  async #update(message: FirmwareMessage, turn: number): Promise<void> {
    const kind = message.action === 'rollback' ? 'ok' : this.#kind
    if (this.#declines(message, kind)) return
    this.#say(message, 'downloading', { progress: 0 })
    if (kind === 'stall_downloading') return
    if (kind === 'restart_midway' && !this.#hasRestarted) {
      this.#hasRestarted = true
      this.#message = undefined
      return this.#ports.reboot(this.version)
    }
    if (!(await this.#download(message, kind)) || turn !== this.#turn) return
    this.#say(message, 'downloaded')
    this.#say(message, 'installing')
    if (kind === 'stall_installing') return
    await this.#ports.sleep((kind === 'slow' ? SLOW : 1) * this.#pace.installMs)
    if (turn === this.#turn) await this.#restart(message, kind)
  }

  /** True if it ends here. */
  #declines(message: FirmwareMessage, kind: UpdateKind): boolean {
    const { version } = this
    if (kind === 'reject')
      this.#say(message, 'rejected', { error: { code: 'LOW_BATTERY', message: 'at 4 %' } })
    else if (kind === 'defer' && !this.#hasDeferred) {
      this.#hasDeferred = true
      this.#say(message, 'deferred', { retry_after_sec: DEFER_SEC })
    } else if (kind === 'already_installed' || (isSameVersion(version, message.reportsAs) && !message.force))
      this.#say(message, 'already_installed', { version })
    else return false
    return true
  }

  async #download(message: FirmwareMessage, kind: UpdateKind): Promise<boolean> {
    const failed = (code: string) =>
      this.#say(message, 'failed', { error: { code, message: 'as simulated' } })
    if (kind === 'download_fail' && this.#failedDownloads < this.#pace.downloadsFailing) {
      this.#failedDownloads++
      failed('DOWNLOAD_FAILED')
      return false
    }
    const isRight = await this.#ports.download(message, (progress) =>
      this.#say(message, 'downloading', { progress }),
    )
    if (isRight && kind !== 'corrupt') return true
    if (this.#message === message) failed('CHECKSUM_MISMATCH')
    return false
  }

  async #restart(message: FirmwareMessage, kind: UpdateKind): Promise<void> {
    const { reboot, sleep } = this.#ports
    const goal = message.reportsAs
    if (kind === 'power_cut') return this.#lostTo(this.version)
    if (kind === 'liar') return this.#say(message, 'succeeded', { version: goal })
    this.#say(message, 'rebooting')
    if (kind === 'brick') return reboot(undefined)
    if (kind === 'rollback_self') return this.#lostTo(this.version)
    if (kind === 'wrong_version') return this.#lostTo(OTHER_VERSION)
    await this.#back(goal)
    for (let crash = 1; kind === 'crash_loop' && crash < CRASHES; crash++) {
      await sleep(CRASH_AFTER_MS)
      await reboot(goal)
    }
    // It has just come back: the service sees the version before this.
    if (kind !== 'crash_loop')
      this.#say(message, message.action === 'rollback' ? 'rolled_back' : 'succeeded', { version: goal })
  }

  /** It does not know any more that it was told: told again, it begins again. Else a service that missed the restart would
   *  wait for an answer until its timer is over. */
  async #lostTo(version: string): Promise<void> {
    this.#message = undefined
    return this.#back(version)
  }

  /** What is over with the restart is forgotten: another attempt begins anew. */
  async #back(version: string): Promise<void> {
    this.version = version
    await this.#ports.reboot(version)
    this.#last = undefined
  }

  #say(message: FirmwareMessage, status: string, more: JsonObject = {}): void {
    const { deploymentId, attempt, action } = message
    this.#last = { deployment_id: deploymentId, attempt, status, ...more }
    this.#ports.moved?.(status)
    if (this.#kind !== 'quiet' || action === 'rollback') this.#ports.say(this.#last)
  }
}

function isSame(one: FirmwareMessage, other: FirmwareMessage): boolean {
  return (
    one.deploymentId === other.deploymentId && one.attempt === other.attempt && one.action === other.action
  )
}
