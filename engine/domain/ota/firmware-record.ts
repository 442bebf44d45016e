// What is known about a firmware: a small document of its own. Its image is a blob that is named by its content.
import type { FirmwareId, Millis } from '../../../schemas/ids.ts'
import type { FirmwareStatus, SignatureAlg } from '../../../schemas/vocabulary.ts'

export interface FirmwareRecord {
  readonly id: FirmwareId
  /** Unique within its device type. */
  readonly version: string
  readonly deviceType: string
  readonly changelog: string
  /** A name for people and for the last part of a URL; never a path. */
  readonly filename: string
  readonly sizeBytes: number
  readonly contentType: string
  /** SHA-256 of the image in lower-case hex. */
  readonly sha256: string
  /** The blob that holds the image. Records with the same content share it. */
  readonly imageKey: string
  readonly signature: { readonly value: string; readonly alg: SignatureAlg } | undefined
  /** Undefined if it could not be checked, because no trusted keys were set at the upload. */
  readonly signatureVerified: boolean | undefined
  readonly minFromVersion: string | undefined
  /** Versions that this one may replace. Empty means all. */
  readonly fromVersions: readonly string[]
  /** The version that a device reports when it runs this image. */
  readonly reportsAs: string
  /** A deprecated firmware is offered only with `force`; a yanked one is never sent again. */
  readonly status: FirmwareStatus
  readonly uploadedBy: string
  readonly createdAt: Millis
  readonly updatedAt: Millis
  /** Grows with every change. */
  readonly revision: number
}
