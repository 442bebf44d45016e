// Firmware as a node's API uses it: records from memory, changes by the leader, images from where they are kept.
import type { FirmwareId } from '../../../schemas/ids.ts'
import type { FirmwareRecord } from '../../domain/ota/firmware-record.ts'
import type {
  AddedFirmware,
  DownloadJobs,
  FirmwareEditing,
  FirmwareLibrary,
  FirmwareOutcome,
  FirmwareRemoval,
  FirmwareUse,
  Link,
  LinkQuery,
  NewFirmware,
} from '../../ports/ota.ts'
import type { SignedLinks } from './artifacts.ts'
import type { FirmwareShelf } from './firmware-shelf.ts'
import type { Images } from './images.ts'
import { storageOf } from './storage.ts'

/** Changes as the leader makes them, wherever it is. */
export interface FirmwareChanges {
  add(firmware: NewFirmware): Promise<AddedFirmware>
  edit(editing: FirmwareEditing): Promise<FirmwareOutcome>
  remove(removal: FirmwareRemoval): Promise<FirmwareOutcome>
}

interface LocalFirmwarePorts {
  readonly shelf: FirmwareShelf
  readonly images: Images
  readonly links: SignedLinks
  readonly use: FirmwareUse
  readonly jobs: DownloadJobs
  readonly leader: FirmwareChanges
  readonly storageBytesMax: number
  readonly failed: (error: unknown) => void
}

export class LocalFirmware implements FirmwareLibrary {
  readonly #ports: LocalFirmwarePorts
  readonly storageBytesMax: number
  readonly downloads: DownloadJobs

  constructor(ports: LocalFirmwarePorts) {
    this.#ports = ports
    this.storageBytesMax = ports.storageBytesMax
    this.downloads = ports.jobs
  }

  ready = () => this.#ports.shelf.ready()
  get = (id: FirmwareId) => this.#ports.shelf.get(id)
  all = () => this.#ports.shelf.all()
  storageBytes = () => storageOf(this.all())
  hasImage = (record: FirmwareRecord) => this.#ports.images.isThere(record)
  deploymentsOf = (id: FirmwareId) => this.#ports.use.deployments(id)
  storeImage = (content: AsyncIterable<Uint8Array>, bytesMax: number) =>
    this.#ports.images.store(content, bytesMax)
  dropImage = (key: string) => this.#ports.images.remove(key)
  readImage = (image: Pick<FirmwareRecord, 'imageKey' | 'sha256' | 'sizeBytes'>) =>
    this.#ports.images.read(image)
  openImage = (record: FirmwareRecord, range?: { readonly from: number; readonly to: number }) =>
    this.#ports.images.open(record, range)
  readLink = (firmwareId: string, query: LinkQuery): Link | undefined =>
    this.#ports.links.read(firmwareId, query)

  async add(firmware: NewFirmware): Promise<AddedFirmware> {
    const { leader, shelf, images, failed } = this.#ports
    const added = await leader.add(firmware)
    if (added.kind === 'done') shelf.learn(added.record)
    // If the answer was lost, the record may name the image: the sweep decides then.
    const isUsed = added.kind === 'done' && added.record.imageKey === firmware.imageKey
    if (!isUsed) await images.remove(firmware.imageKey).catch(failed)
    return added
  }

  async edit(editing: FirmwareEditing): Promise<FirmwareOutcome> {
    const { leader, shelf } = this.#ports
    const edited = await leader.edit(editing)
    if (edited.kind === 'done') shelf.learn(edited.record)
    return edited
  }

  async remove(removal: FirmwareRemoval): Promise<FirmwareOutcome> {
    const { leader, shelf } = this.#ports
    const removed = await leader.remove(removal)
    if (removed.kind === 'done') shelf.forget(removal.id)
    return removed
  }
}
