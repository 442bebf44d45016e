// Installs firmware: one installation per deployment and attempt, even across restarts. The version that the device reports when
// it connects says what it runs, never what it meant to install.
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorText } from '../../../schemas/error-text.ts'
import { isObject, type JsonObject } from '../../../schemas/json.ts'
import { isSameVersion } from '../../../schemas/same-version.ts'
import { SerialQueue } from '../../../schemas/serial-queue.ts'
import { isTooSoon } from './commands.ts'
import { DownloadError, download } from './download.ts'
import { type FirmwareMessage, readFirmwareMessage } from './firmware-message.ts'
import { distrust, type ManifestKeys } from './manifest.ts'
import { deleteOldImages } from './old-images.ts'
import { type DeviceStorage, readJson, writeJson } from './storage.ts'

export type FirmwareDecision =
  | boolean
  | { readonly deferSec: number; readonly reason?: string }
  | { readonly reject: string }

export interface FirmwareHandlers {
  /** Folder for downloaded images. Default: `images` in the folder of `fileStorage`. */
  readonly folder?: string
  /** Decides whether the device takes this firmware now. Default: it takes any. */
  readonly accept?: (about: FirmwareMessage) => FirmwareDecision | Promise<FirmwareDecision>
  /** Installs the image, whose size and SHA-256 have been checked. */
  readonly install: (file: string, about: FirmwareMessage) => void | Promise<void>
  /** Starts the installed firmware. The process may end here. */
  readonly reboot: (about: FirmwareMessage) => void | Promise<void>
  /** Called on the new firmware once it has connected: makes it permanent for further restarts. */
  readonly confirm?: (about: FirmwareMessage) => void | Promise<void>
  /** Starts another slot that already holds this version; returns false if there is none. Tried before a rollback. */
  readonly switchTo?: (about: FirmwareMessage) => boolean | Promise<boolean>
}

export interface FirmwarePorts {
  readonly deviceId: string
  readonly storage: DeviceStorage
  readonly deviceType: string | undefined
  readonly manifestKeys: ManifestKeys | undefined
  readonly runningVersion: () => string
  readonly now: () => number
  readonly random: () => number
  /** Publishes on `ota/status`. */
  readonly report: (body: JsonObject) => void
  readonly failed: (error: unknown) => void
}

interface FirmwareError {
  readonly code: string
  readonly message: string
}

type Phase = 'downloading' | 'installing' | 'rebooting' | 'ended'

/** What the device remembers of the last firmware message. */
interface Job {
  readonly message: FirmwareMessage
  readonly phase: Phase
  /** The last report. It answers a message that is delivered again. */
  readonly last: JsonObject
}

const NAME = 'firmware.json'
const REFRESH_WAIT_MS = 120_000

export class FirmwareUpdates {
  readonly #ports: FirmwarePorts
  #handlers: FirmwareHandlers | undefined
  #job: Job | undefined
  #lastSeq: number
  #running: AbortController | undefined
  /** Settles once a message with a new address has arrived. */
  #refreshed: (() => void) | undefined
  #toldAt = Number.NEGATIVE_INFINITY
  /** True while the outcome of a job that began before this process started has not been reported. */
  #isFromBefore: boolean
  #settling: Promise<void> | undefined
  #ownFolder: string | undefined
  readonly #writes = new SerialQueue()
  readonly #orders = new SerialQueue()

  private constructor(ports: FirmwarePorts, job: Job | undefined, lastSeq: number) {
    this.#ports = ports
    this.#job = job
    this.#lastSeq = lastSeq
    this.#isFromBefore = job !== undefined
  }

  static async open(ports: FirmwarePorts): Promise<FirmwareUpdates> {
    const kept = await readJson(ports.storage, NAME)
    const { job, lastSeq } = isObject(kept) ? kept : {}
    // Written by #keep, with this type.
    const saved = isObject(job) ? (job as unknown as Job) : undefined
    return new FirmwareUpdates(ports, saved, typeof lastSeq === 'number' ? lastSeq : 0)
  }

  handle(handlers: FirmwareHandlers): void {
    this.#handlers = handlers
  }

  /** Called after a connect: reports the outcome of an installation that a restart interrupted or completed. */
  connected(): Promise<void> {
    this.#isFromBefore = false
    this.#settling ??= this.#settle().finally(() => {
      this.#settling = undefined
    })
    return this.#settling
  }

  async #settle(): Promise<void> {
    const job = this.#job
    if (job === undefined || this.#running !== undefined) return
    if (job.phase === 'ended' || job.phase === 'downloading') return
    const { message } = job
    const running = this.#ports.runningVersion()
    if (!isSameVersion(running, message.reportsAs)) {
      const code = job.phase === 'rebooting' ? 'ROLLED_BACK_BY_DEVICE' : 'INSTALL_INTERRUPTED'
      const text = `the device runs ${running} after the restart, not ${message.reportsAs}`
      return this.#end(message, { status: 'failed', version: running, error: { code, message: text } })
    }
    try {
      await this.#handlers?.confirm?.(message)
    } catch (error) {
      this.#ports.failed(error)
      return
    }
    const status = message.action === 'rollback' ? 'rolled_back' : 'succeeded'
    await this.#end(message, { status, version: running })
  }

  /** Handles one message after the other. Rejects if a message has to be delivered again. */
  take(body: JsonObject): Promise<void> {
    return this.#orders.run(() => this.#take(body))
  }

  async #take(body: JsonObject): Promise<void> {
    const message = readFirmwareMessage(body)
    const handlers = this.#handlers
    if (message === undefined || handlers === undefined) return
    // A message may arrive before the connection counts as open.
    if (this.#isFromBefore) await this.connected()
    else await this.#settling
    if (message.action === 'cancel') return this.#cancel(message)
    const job = this.#job
    const { now, report } = this.#ports
    if (job !== undefined && isSame(job.message, message)) return this.#again(job, message, handlers)
    if (message.expiresAt !== undefined && message.expiresAt <= now())
      return report(bodyOf(message, rejected('EXPIRED', 'the message came too late')))
    const doubt = this.#doubt(message)
    if (doubt !== undefined) return report(bodyOf(message, rejected(doubt.code, doubt.message)))
    // Another order. The service knows that a device handles one at a time.
    if (job?.phase === 'installing' || job?.phase === 'rebooting')
      return report(bodyOf(message, { status: 'deferred', retry_after_sec: 60 }))
    this.#lastSeq = Math.max(this.#lastSeq, message.seq)
    this.#running?.abort()
    const version = this.#ports.runningVersion()
    if (isSameVersion(version, message.reportsAs) && !message.force)
      return this.#end(message, { status: 'already_installed', version })
    await this.#begin(message, handlers)
  }

  /** Stops a download. It continues after the next start. */
  abort(): void {
    this.#running?.abort()
  }

  async #begin(message: FirmwareMessage, handlers: FirmwareHandlers): Promise<void> {
    const decision = await this.#decide(message, handlers)
    if (typeof decision === 'object' && 'deferSec' in decision)
      return this.#ports.report(bodyOf(message, { status: 'deferred', retry_after_sec: decision.deferSec }))
    if (decision !== true) {
      const reason = decision === false ? 'the device does not take this firmware' : decision.reject
      return this.#end(message, rejected('REJECTED', reason))
    }
    this.#toldAt = this.#ports.now()
    await this.#move(message, 'downloading', { status: 'downloading', progress: 0 })
    this.#start(message, handlers)
  }

  async #decide(message: FirmwareMessage, { accept }: FirmwareHandlers): Promise<FirmwareDecision> {
    try {
      return (await accept?.(message)) ?? true
    } catch (error) {
      this.#ports.failed(error)
      return { reject: 'the device could not decide whether to take this firmware' }
    }
  }

  #start(message: FirmwareMessage, handlers: FirmwareHandlers): void {
    const controller = new AbortController()
    this.#running = controller
    void this.#install(message, { handlers, signal: controller.signal })
      .catch((error: unknown) => this.#ports.failed(error))
      .finally(() => {
        if (this.#running === controller) this.#running = undefined
      })
  }

  /** Handles a repeated order: resumes a download that a restart interrupted, or else reports the progress. */
  async #again(job: Job, message: FirmwareMessage, handlers: FirmwareHandlers): Promise<void> {
    // The message has a new address.
    this.#job = { ...job, message }
    this.#refreshed?.()
    this.#ports.report(job.last)
    if (job.phase === 'downloading' && this.#running === undefined) this.#start(message, handlers)
  }

  async #cancel({ deploymentId }: FirmwareMessage): Promise<void> {
    const job = this.#job
    if (job === undefined || job.message.deploymentId !== deploymentId || job.phase !== 'downloading') return
    this.#running?.abort()
    await this.#end(job.message, { status: 'cancelled' })
  }

  async #install(
    message: FirmwareMessage,
    { handlers, signal }: { readonly handlers: FirmwareHandlers; readonly signal: AbortSignal },
  ): Promise<void> {
    try {
      if (message.localOk && (await handlers.switchTo?.(message)) === true)
        return await this.#reboot(message, handlers)
      const path = join(await this.#folderFor(handlers), `${message.sha256}.image`)
      // Before the download, so that there is room for it.
      await deleteOldImages(path).catch((error: unknown) => this.#ports.failed(error))
      await this.#download(message, { path, signal })
      if (signal.aborted) return
      await this.#move(message, 'downloading', { status: 'downloaded' })
      // It may have been cancelled while that was stored.
      if (signal.aborted) return
      if (message.notAfter !== undefined && message.notAfter <= this.#ports.now())
        // The window has closed in the meantime. The image is kept for the next one.
        return await this.#end(message, { status: 'deferred', retry_after_sec: 0 })
      await this.#move(message, 'installing', { status: 'installing' })
      await handlers.install(path, message)
      await this.#reboot(message, handlers)
    } catch (error) {
      if (signal.aborted) return
      const code = error instanceof DownloadError ? error.code : 'INSTALL_FAILED'
      const text = errorText(error)
      await this.#end(message, { status: 'failed', error: { code, message: text.slice(0, 1_024) } })
    }
  }

  async #folderFor({ folder }: FirmwareHandlers): Promise<string> {
    const chosen = folder ?? this.#ports.storage.imageFolder
    if (chosen !== undefined) return chosen
    this.#ownFolder ??= await mkdtemp(join(tmpdir(), 'fleet-images-'))
    return this.#ownFolder
  }

  async #reboot(message: FirmwareMessage, handlers: FirmwareHandlers): Promise<void> {
    await this.#move(message, 'rebooting', { status: 'rebooting' })
    await handlers.reboot(message)
  }

  async #download(
    { sizeBytes, sha256 }: FirmwareMessage,
    { path, signal }: { readonly path: string; readonly signal: AbortSignal },
  ): Promise<void> {
    const { random } = this.#ports
    await download({
      ...{ path, sizeBytes, sha256, signal, random },
      url: () => this.#job?.message.url ?? '',
      progress: (percent) => this.#progress(percent),
      refresh: () => this.#refresh(signal),
    })
  }

  #progress(percent: number): void {
    const job = this.#job
    const now = this.#ports.now()
    if (job === undefined || isTooSoon(now - this.#toldAt)) return
    this.#toldAt = now
    const last = bodyOf(job.message, { status: 'downloading', progress: percent })
    this.#job = { ...job, last }
    this.#ports.report(last)
  }

  /** Asks for a new address and waits for the message that brings it. */
  async #refresh(signal: AbortSignal): Promise<void> {
    const job = this.#job
    if (job === undefined) return
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new DownloadError('DOWNLOAD_FAILED', 'the address has expired, and no other one came')),
        REFRESH_WAIT_MS,
      )
      const settle = (finish: () => void) => () => {
        clearTimeout(timer)
        this.#refreshed = undefined
        finish()
      }
      this.#refreshed = settle(resolve)
      signal.addEventListener(
        'abort',
        settle(() => reject(signal.reason)),
        { once: true },
      )
      this.#ports.report(bodyOf(job.message, { status: 'refresh' }))
    })
  }

  #doubt(message: FirmwareMessage): FirmwareError | undefined {
    const { manifestKeys: keys, deviceId, deviceType: type, now } = this.#ports
    if (type !== undefined && message.deviceType !== '' && message.deviceType !== type)
      return { code: 'INCOMPATIBLE', message: `the image is for ${message.deviceType}, and this is ${type}` }
    if (keys === undefined) return undefined
    const reason = distrust(message, { deviceId, keys, lastSeq: this.#lastSeq, now: now() })
    return reason === undefined ? undefined : { code: 'MANIFEST_INVALID', message: reason }
  }

  /** Stores the state before reporting it: after a crash the device knows at least as much as the service. */
  async #move(message: FirmwareMessage, phase: Phase, fields: JsonObject): Promise<void> {
    const isKnown = this.#job !== undefined && isSame(this.#job.message, message)
    // A repeated message has the newest address.
    const newest = isKnown && this.#job !== undefined ? this.#job.message : message
    const last = bodyOf(message, fields)
    this.#job = { message: newest, phase, last }
    // One write after the other, so that an older state never replaces a newer one.
    await this.#writes.run(() =>
      writeJson(this.#ports.storage, NAME, { job: this.#job, lastSeq: this.#lastSeq }),
    )
    this.#ports.report(last)
  }

  #end(message: FirmwareMessage, fields: JsonObject): Promise<void> {
    return this.#move(message, 'ended', fields)
  }
}

function bodyOf({ deploymentId, attempt }: FirmwareMessage, fields: JsonObject): JsonObject {
  return { deployment_id: deploymentId, attempt, ...fields }
}

function rejected(code: string, message: string): JsonObject {
  return { status: 'rejected', error: { code, message } }
}

function isSame(one: FirmwareMessage, other: FirmwareMessage): boolean {
  return (
    one.deploymentId === other.deploymentId &&
    one.attempt === other.attempt &&
    one.action === other.action &&
    one.sha256 === other.sha256
  )
}
