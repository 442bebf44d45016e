// The part of a device's record that is about its firmware.
import type { FirmwareId, Millis } from '../../../schemas/ids.ts'
import type { Job } from './job.ts'

/** A firmware that failed on the device. It is not offered again automatically. */
export interface Block {
  readonly firmwareId: FirmwareId
  readonly until: Millis
}

/** Replaced as a whole on change. The same reference means unchanged (R7). */
export interface Firmware {
  /** Number of the last message about firmware that was sent to the device. It only grows. */
  readonly seq: number
  /** When the device first reported its current version. */
  readonly since: Millis | undefined
  /** The image that runs, if a job proved it. */
  readonly firmwareId: FirmwareId | undefined
  /** The SHA-256 that the device reported last. */
  readonly sha256: string | undefined
  readonly bootId: string | undefined
  /** The boot id before the last restart. */
  readonly formerBootId?: string | undefined
  /** The version to roll back to: the last other version that the device ran. */
  readonly previousVersion: string | undefined
  /** The open jobs and the newest of those that ended, oldest first. */
  readonly jobs: readonly Job[]
  readonly blocks: readonly Block[]
  /** When the device last sent its attributes through the DDI. */
  readonly configuredAt?: Millis | undefined
}

export const NO_FIRMWARE: Firmware = Object.freeze({
  seq: 0,
  since: undefined,
  firmwareId: undefined,
  sha256: undefined,
  bootId: undefined,
  previousVersion: undefined,
  jobs: Object.freeze([]),
  blocks: Object.freeze([]),
})
