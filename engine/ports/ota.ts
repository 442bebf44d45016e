// Firmware as deployments and downloads see it, and how these two see each other. Nothing here waits for an actor or a
// database.

import type { KeyObject } from 'node:crypto'
import type { DeploymentId, DeviceId, FirmwareId, Millis } from '../../schemas/ids.ts'
import type { FirmwareStatus } from '../../schemas/vocabulary.ts'
import type { FirmwareRecord } from '../domain/ota/firmware-record.ts'
import type { OtaSend } from '../domain/ota/job-messages.ts'
import type { BlobAddress, OpenBlob } from './blobs.ts'
import type { EngineRefusal } from './engine-refusal.ts'

export type { FirmwareRecord } from '../domain/ota/firmware-record.ts'

/** The saved firmware records, in memory on every node and at most a second old. */
export interface Firmwares {
  get(id: FirmwareId): FirmwareRecord | undefined
  /** Every record, unordered. */
  all(): Iterable<FirmwareRecord>
  /** Whether the image is there. It may be missing although its record exists. */
  hasImage(record: FirmwareRecord): Promise<boolean>
}

/** The attempt of a job that an `ota` message belongs to. */
export interface SentAttempt
  extends Pick<OtaSend, 'deploymentId' | 'attempt' | 'seq' | 'action' | 'issuedAt'> {
  readonly deviceId: DeviceId
}

/** The parts of an `ota` message that are created anew each time it is sent. */
export interface Sendable {
  readonly url: string
  /** Undefined if there is no signing key. */
  readonly manifest: string | undefined
  readonly expiresAt: Millis
}

export interface Artifacts {
  /** Synchronous and without side effects, so it can be called in the middle of sending. */
  sendable(record: FirmwareRecord, about: SentAttempt): Sendable
}

/** Identifies a job in a download link. */
export interface JobName {
  readonly deploymentId: DeploymentId
  readonly deviceId: DeviceId
}

/** What downloads report about jobs and need to know about them. */
export interface DownloadJobs {
  /** True once the job is cancelled or its deployment aborted. Every node knows within two seconds. Checked at every
   *  request and every second of a stream, so it is answered from memory. */
  isWithdrawn(job: JobName): boolean
  /** Resolves once `isWithdrawn` also tells of a cancellation that this node could not hear of, because it had not started
   *  yet. Waits for a second at most, so that downloads go on while the owner of the device is away. */
  untilKnown(job: JobName): Promise<void>
  /** Called once per stream, when its first byte has been taken. */
  began(job: JobName): void
  /** Called at most once a second per stream, and at its end. */
  sent(job: JobName, bytes: number): void
  /** Called when a download is refused with 429 or 503, which does not count as a failure of the device. */
  refused(job: JobName): void
  /** Bytes that this node sent and that the job's progress does not include yet. */
  unreportedBytes(job: JobName): number
  /** Called when the image of a running deployment cannot be read or differs from its record. */
  imageMissing(firmwareId: FirmwareId): void
}

/** What a change of a firmware record needs from deployments. */
export interface FirmwareUse {
  /** Answered from memory on every node. `active` lists deployments that are not final. */
  deployments(id: FirmwareId): { readonly active: readonly DeploymentId[]; readonly total: number }
  /** How many devices would roll back to this firmware. Only called on the leader. */
  countRollbackDevices(id: FirmwareId): Promise<number>
  /** Aborts the firmware's deployments that are not final. Only called on the leader. */
  abort(id: FirmwareId): Promise<void>
}

/** The content of a download link. */
export interface Link extends JobName {
  readonly firmwareId: FirmwareId
  readonly expiresAt: Millis
}

/** The query of a download link as received. */
export interface LinkQuery {
  readonly device?: string | undefined
  readonly deployment?: string | undefined
  readonly expires?: string | undefined
  readonly signature?: string | undefined
}

export interface OtaSettings {
  /** The base of the links that devices get, without a slash at its end. */
  readonly baseUrl: () => string
  readonly urlKey: Uint8Array
  readonly urlTtlMs: number
  /** An Ed25519 key. */
  readonly signing: { readonly kid: string; readonly key: KeyObject } | undefined
  /** Limit for the size of all images together. */
  readonly storageBytesMax: number
  /** Limit for concurrent downloads of all deployments together. */
  readonly downloadsMax: number
  /** Whether images are also hashed for hawkBit clients while they arrive. */
  readonly hashesUploads: boolean
  /** How long finished deployments are kept. */
  readonly retentionMs: number
}

/** An image that has no record yet. */
export interface UploadedImage {
  readonly key: string
  readonly bytes: number
  readonly sha256: string
}
export type StoredImage =
  | { readonly kind: 'stored'; readonly image: UploadedImage }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'full' }
export type OpenImage =
  | { readonly kind: 'open'; readonly blob: OpenBlob }
  /** The image is gone, or its bytes differ from the record. */
  | { readonly kind: 'missing' }

/** Hashes in lower-case hex, which hawkBit clients may check in addition to the SHA-256. */
export interface ImageHashes {
  readonly sha1: string
  readonly md5: string
}

export type ImageAddress =
  | { readonly kind: 'address'; readonly url: string }
  /** The image is gone, or its bytes differ from the record. */
  | { readonly kind: 'missing' }

/** A firmware as it was uploaded. */
export type NewFirmware = Omit<FirmwareRecord, 'status' | 'createdAt' | 'updatedAt' | 'revision'>
export interface FirmwareEditing {
  readonly id: FirmwareId
  readonly changelog?: string | undefined
  readonly status?: FirmwareStatus | undefined
  /** The revision that the caller has seen; undefined for any. */
  readonly revision: number | undefined
  /** Whether deployments that are in the way are aborted. */
  readonly force: boolean
}
export interface FirmwareRemoval {
  readonly id: FirmwareId
  readonly revision: number | undefined
  readonly force: boolean
}
export type FirmwareOutcome = { readonly kind: 'done'; readonly record: FirmwareRecord } | EngineRefusal
export type AddedFirmware =
  /** `isNew` is false if the same upload was repeated. */
  { readonly kind: 'done'; readonly record: FirmwareRecord; readonly isNew: boolean } | EngineRefusal

/** Firmware for the API: records, which the leader writes, and images, which are written by the node that receives
 *  them. */
export interface FirmwareLibrary extends Firmwares {
  /** Resolves once the records can be read here. */
  ready(): Promise<void>
  /** Bytes of all images together. */
  storageBytes(): number
  readonly storageBytesMax: number
  deploymentsOf(id: FirmwareId): { readonly active: readonly DeploymentId[]; readonly total: number }
  storeImage(content: AsyncIterable<Uint8Array>, bytesMax: number): Promise<StoredImage>
  /** Removes an image that was stored but will not get a record. */
  dropImage(key: string): Promise<void>
  /** Reads the whole image. All chunks share one buffer. */
  readImage(image: Pick<FirmwareRecord, 'imageKey' | 'sha256' | 'sizeBytes'>): AsyncIterable<Uint8Array>
  openImage(
    record: FirmwareRecord,
    range?: { readonly from: number; readonly to: number },
  ): Promise<OpenImage>
  /** A URL from which anybody can load the image for a while. Undefined if it can only be read through this process. */
  imageAddress(record: FirmwareRecord, about: BlobAddress): Promise<ImageAddress | undefined>
  /** If the version already exists, returns its record if the bytes are the same, and refuses otherwise. Removes an
   *  uploaded image that ends up unused. */
  add(firmware: NewFirmware): Promise<AddedFirmware>
  edit(editing: FirmwareEditing): Promise<FirmwareOutcome>
  remove(removal: FirmwareRemoval): Promise<FirmwareOutcome>
  /** A download link for a device, signed now. */
  linkOf(record: FirmwareRecord, job: JobName): string
  /** Reads the image, unless the hashes are already known. */
  hashesOf(record: FirmwareRecord): Promise<ImageHashes>
  readLink(firmwareId: string, query: LinkQuery): Link | undefined
  readonly downloads: DownloadJobs
}
