// Firmware as deployments and downloads see it, and each other. Nothing here waits for an actor or a database.
import type { KeyObject } from 'node:crypto'
import type { DeploymentId, DeviceId, FirmwareId, Millis } from '../../schemas/ids.ts'
import type { FirmwareStatus } from '../../schemas/vocabulary.ts'
import type { FirmwareRecord } from '../domain/ota/firmware-record.ts'
import type { BlobAddress, OpenBlob } from './blobs.ts'
import type { EngineRefusal } from './engine-refusal.ts'

export type { FirmwareRecord } from '../domain/ota/firmware-record.ts'

/** The records of firmware, as they are saved: from memory, on every node, at most a second old. */
export interface Firmwares {
  get(id: FirmwareId): FirmwareRecord | undefined
  /** Every record, unordered. */
  all(): Iterable<FirmwareRecord>
  /** Whether the image is there. It may be missing although its record exists. */
  hasImage(record: FirmwareRecord): Promise<boolean>
}

/** The attempt of a job for which a message is sent. */
export interface SentAttempt {
  readonly deviceId: DeviceId
  readonly deploymentId: DeploymentId
  readonly attempt: number
  readonly seq: number
  readonly action: 'install' | 'rollback' | 'cancel'
  readonly issuedAt: Millis
}

/** The parts of an `ota` message that are made anew with every send. */
export interface Sendable {
  readonly url: string
  /** Undefined without a signing key. */
  readonly manifest: string | undefined
  readonly expiresAt: Millis
}

export interface Artifacts {
  /** Answers at once and changes nothing, so it may be called in the middle of sending. */
  sendable(record: FirmwareRecord, about: SentAttempt): Sendable
}

/** A job as downloads name it. */
export interface JobName {
  readonly deploymentId: DeploymentId
  readonly deviceId: DeviceId
}

/** What downloads tell and ask about jobs. */
export interface DownloadJobs {
  /** True once the job is cancelled or its deployment aborted; known on every node within two seconds. Asked at every
   *  request and every second of a stream, so it is answered from memory. */
  isWithdrawn(job: JobName): boolean
  /** Told once for each stream, when its first byte was taken. */
  began(job: JobName): void
  /** Told at most once a second for each stream, and at its end. */
  sent(job: JobName, bytes: number): void
  /** Told when a download is sent away with 429 or 503: that is no failure of the device. */
  refused(job: JobName): void
  /** Bytes that this node sent and that the job does not show yet. */
  untold(job: JobName): number
  /** The image of a running deployment cannot be read or is not the record's. */
  imageMissing(firmwareId: FirmwareId): void
}

/** What changes of a firmware ask of deployments. */
export interface FirmwareUse {
  /** Answers from memory, on every node. `active`: deployments that are not final. */
  deployments(id: FirmwareId): { readonly active: readonly DeploymentId[]; readonly total: number }
  /** The number of devices that would go back to this firmware. Asked on the leader. */
  wayBackOf(id: FirmwareId): Promise<number>
  /** Aborts its deployments that are not final. Called on the leader. */
  abort(id: FirmwareId): Promise<void>
}

/** What a link says. */
export interface Link extends JobName {
  readonly firmwareId: FirmwareId
  readonly expiresAt: Millis
}

/** The query of a link as it came in. */
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
  /** The bound of all images together. */
  readonly storageBytesMax: number
  /** The bound of all deployments together, at any time. */
  readonly downloadsMax: number
  /** Images are hashed as hawkBit's clients want it while they arrive. */
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
  /** It is gone, or has other bytes than the record says. */
  | { readonly kind: 'missing' }

/** Lower-case hex. Clients of hawkBit may check them beside the SHA-256. */
export interface ImageHashes {
  readonly sha1: string
  readonly md5: string
}

export type ImageAddress =
  | { readonly kind: 'address'; readonly url: string }
  /** It is gone, or has other bytes than the record says. */
  | { readonly kind: 'missing' }

/** A firmware as it was uploaded. */
export type NewFirmware = Omit<FirmwareRecord, 'status' | 'createdAt' | 'updatedAt' | 'revision'>
export interface FirmwareEditing {
  readonly id: FirmwareId
  readonly changelog?: string | undefined
  readonly status?: FirmwareStatus | undefined
  /** The revision that the caller has seen; undefined for any. */
  readonly revision: number | undefined
  /** Aborts deployments that are in the way. */
  readonly force: boolean
}
export interface FirmwareRemoval {
  readonly id: FirmwareId
  readonly revision: number | undefined
  readonly force: boolean
}
export type FirmwareOutcome = { readonly kind: 'done'; readonly record: FirmwareRecord } | EngineRefusal
export type AddedFirmware =
  /** `isNew` is false for the repetition of an upload. */
  { readonly kind: 'done'; readonly record: FirmwareRecord; readonly isNew: boolean } | EngineRefusal

/** Firmware for the API: records, which the leader writes, and images, which the node writes that received them. */
export interface FirmwareLibrary extends Firmwares {
  /** Resolves once the records can be read here. */
  ready(): Promise<void>
  /** Bytes of all images together. */
  storageBytes(): number
  readonly storageBytesMax: number
  deploymentsOf(id: FirmwareId): { readonly active: readonly DeploymentId[]; readonly total: number }
  storeImage(content: AsyncIterable<Uint8Array>, bytesMax: number): Promise<StoredImage>
  /** Removes an image that was stored and gets no record. */
  dropImage(key: string): Promise<void>
  /** Reads the whole image. The parts share one buffer. */
  readImage(image: Pick<FirmwareRecord, 'imageKey' | 'sha256' | 'sizeBytes'>): AsyncIterable<Uint8Array>
  openImage(
    record: FirmwareRecord,
    range?: { readonly from: number; readonly to: number },
  ): Promise<OpenImage>
  /** Where anybody can load the image for a while. Resolves with undefined if it can only be had from this process. */
  imageAddress(record: FirmwareRecord, about: BlobAddress): Promise<ImageAddress | undefined>
  /** The same version with the same bytes is there already, or with other bytes is refused. An image that is not used in
   *  the end is removed. */
  add(firmware: NewFirmware): Promise<AddedFirmware>
  edit(editing: FirmwareEditing): Promise<FirmwareOutcome>
  remove(removal: FirmwareRemoval): Promise<FirmwareOutcome>
  /** A link for a device, signed now. */
  linkOf(record: FirmwareRecord, job: JobName): string
  /** Reads the image, unless that was done before. */
  hashesOf(record: FirmwareRecord): Promise<ImageHashes>
  readLink(firmwareId: string, query: LinkQuery): Link | undefined
  readonly downloads: DownloadJobs
}
