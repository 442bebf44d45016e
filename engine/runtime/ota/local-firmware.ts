// Firmware as the API of any node uses it: records from memory, changes by the leader, images from their store.
import type { FirmwareId } from '../../../schemas/ids.ts'
import type { FirmwareRecord } from '../../domain/ota/firmware-record.ts'
import { LIMITS } from '../../limits.ts'
import type { BlobAddress } from '../../ports/blobs.ts'
import type { Clock } from '../../ports/clock.ts'
import type {
  AddedFirmware,
  DownloadJobs,
  FirmwareEditing,
  FirmwareLibrary,
  FirmwareOutcome,
  FirmwareRemoval,
  FirmwareUse,
  ImageHashes,
  JobName,
  Link,
  LinkQuery,
  NewFirmware,
  StoredImage,
} from '../../ports/ota.ts'
import type { SignedLinks } from './artifacts.ts'
import type { FirmwareCache } from './firmware-cache.ts'
import { hashesOf, ImageHashing } from './image-hashes.ts'
import type { Images } from './images.ts'
import { storageOf } from './storage.ts'

export interface FirmwareChanges {
  add(firmware: NewFirmware): Promise<AddedFirmware>
  edit(editing: FirmwareEditing): Promise<FirmwareOutcome>
  remove(removal: FirmwareRemoval): Promise<FirmwareOutcome>
}

interface LocalFirmwarePorts {
  readonly cache: FirmwareCache
  readonly images: Images
  readonly links: SignedLinks
  readonly use: FirmwareUse
  readonly jobs: DownloadJobs
  readonly leader: FirmwareChanges
  readonly storageBytesMax: number
  readonly hashesUploads: boolean
  readonly clock: Pick<Clock, 'now'>
  readonly failed: (error: unknown) => void
}

/** Ends an upload that has no room beside the other uploads. */
class StorageFullError extends Error {}

export class LocalFirmware implements FirmwareLibrary {
  readonly #ports: LocalFirmwarePorts
  readonly storageBytesMax: number
  readonly downloads: DownloadJobs
  #uploadedBytes = 0
  /** Other hashes of images, by key. */
  readonly #hashes = new Map<string, Promise<ImageHashes>>()
  /** Uploads under way on this node. */
  readonly #uploads = new Set<{ readonly bytes: number }>()

  constructor(ports: LocalFirmwarePorts) {
    this.#ports = ports
    this.storageBytesMax = ports.storageBytesMax
    this.downloads = ports.jobs
  }

  ready = () => this.#ports.cache.ready()
  get = (id: FirmwareId) => this.#ports.cache.get(id)
  all = () => this.#ports.cache.all()
  storageBytes = () => storageOf(this.all())
  hasImage = (record: FirmwareRecord) => this.#ports.images.exists(record)
  deploymentsOf = (id: FirmwareId) => this.#ports.use.deployments(id)
  dropImage = (key: string) => this.#ports.images.remove(key)
  readImage = (image: Pick<FirmwareRecord, 'imageKey' | 'sha256' | 'sizeBytes'>) =>
    this.#ports.images.read(image)
  openImage = (record: FirmwareRecord, range?: { readonly from: number; readonly to: number }) =>
    this.#ports.images.open(record, range)
  imageAddress = (record: FirmwareRecord, about: BlobAddress) => this.#ports.images.address(record, about)
  linkOf = (record: FirmwareRecord, job: JobName) =>
    this.#ports.links.linkOf(record, job, this.#ports.clock.now())
  readLink = (firmwareId: string, query: LinkQuery): Link | undefined =>
    this.#ports.links.read(firmwareId, query)

  /** Uploads at the same time share the room that is left. A single upload is judged only when it is complete, because it
   *  may repeat what is stored. */
  async storeImage(content: AsyncIterable<Uint8Array>, bytesMax: number): Promise<StoredImage> {
    const upload = { bytes: 0 }
    this.#uploads.add(upload)
    try {
      const hashing = this.#ports.hashesUploads ? new ImageHashing() : undefined
      const stored = await this.#ports.images.store(this.#counted(content, { upload, hashing }), bytesMax)
      if (stored.kind === 'stored' && hashing !== undefined) void this.#keep(stored.image.key, hashing.done())
      return stored
    } catch (error) {
      if (error instanceof StorageFullError) return { kind: 'full' }
      throw error
    } finally {
      this.#uploads.delete(upload)
    }
  }

  /** Bytes that arrived since the start, even those of failed uploads. */
  uploadedBytes = () => this.#uploadedBytes

  hashesOf(record: FirmwareRecord): Promise<ImageHashes> {
    const { imageKey } = record
    const known = this.#hashes.get(imageKey)
    if (known !== undefined) return known
    const hashes = hashesOf(this.readImage(record))
    hashes.catch(() => this.#hashes.delete(imageKey))
    return this.#keep(imageKey, hashes)
  }

  #keep(key: string, hashes: Promise<ImageHashes>): Promise<ImageHashes> {
    // There can be no more images than records, so a full cache has hashes of images that are gone.
    if (this.#hashes.size >= LIMITS.firmwareRecordsMax) this.#hashes.clear()
    this.#hashes.set(key, hashes)
    return hashes
  }

  async *#counted(
    content: AsyncIterable<Uint8Array>,
    { upload, hashing }: { readonly upload: { bytes: number }; readonly hashing: ImageHashing | undefined },
  ): AsyncGenerator<Uint8Array> {
    for await (const part of content) {
      upload.bytes += part.length
      this.#uploadedBytes += part.length
      hashing?.add(part)
      if (this.#uploads.size > 1 && this.#isFull()) throw new StorageFullError()
      yield part
    }
  }

  #isFull(): boolean {
    let bytes = this.storageBytes()
    for (const upload of this.#uploads) bytes += upload.bytes
    return bytes > this.storageBytesMax
  }

  async add(firmware: NewFirmware): Promise<AddedFirmware> {
    const { leader, cache, images, failed } = this.#ports
    const added = await leader.add(firmware)
    if (added.kind === 'done') cache.update(added.record)
    // If the answer was lost, the record may name the image all the same. The sweep decides later.
    const isUsed = added.kind === 'done' && added.record.imageKey === firmware.imageKey
    if (!isUsed) await images.remove(firmware.imageKey).catch(failed)
    return added
  }

  async edit(editing: FirmwareEditing): Promise<FirmwareOutcome> {
    const { leader, cache } = this.#ports
    const edited = await leader.edit(editing)
    if (edited.kind === 'done') cache.update(edited.record)
    return edited
  }

  async remove(removal: FirmwareRemoval): Promise<FirmwareOutcome> {
    const { leader, cache } = this.#ports
    const removed = await leader.remove(removal)
    if (removed.kind === 'done') cache.forget(removal.id)
    return removed
  }
}
