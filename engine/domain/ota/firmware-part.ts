// What a device keeps of its firmware beside its record.
import type { FirmwareId, Millis } from '../../../schemas/ids.ts'
import type { Job } from './job.ts'

/** A firmware that failed on the device. It is not offered again by itself. */
export interface Block {
  readonly firmwareId: FirmwareId
  readonly until: Millis
}

/** Replaced as a whole on change. The same reference means unchanged (R7). */
export interface Firmware {
  /** Number of the last message about firmware that was sent to the device. It only grows. */
  readonly seq: number
  /** Time since which the device has run its version, by what it said. */
  readonly since: Millis | undefined
  /** The image that runs, if a job proved it. */
  readonly firmwareId: FirmwareId | undefined
  /** The SHA-256 that the device last said. */
  readonly sha256: string | undefined
  readonly bootId: string | undefined
  /** What it was before the last restart. */
  readonly formerBootId?: string | undefined
  /** The version to go back to: the last other one that the device ran. */
  readonly previousVersion: string | undefined
  /** Oldest first: the open ones, and the newest of those that ended. */
  readonly jobs: readonly Job[]
  readonly blocks: readonly Block[]
  /** When the device last told its attributes by the DDI. */
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
