// The leader's service for firmware. It alone writes the records, one change after the other, so two uploads of the same
// version cannot both win.
//
// - An image is stored before the record that names it, and removed after the last such record.

import type { FirmwareId, Millis } from '../../../schemas/ids.ts'
import { refused } from '../../../schemas/refusals.ts'
import { SerialQueue } from '../../../schemas/serial-queue.ts'
import { editFirmware, withImage } from '../../domain/ota/firmware-moves.ts'
import type { FirmwareRecord } from '../../domain/ota/firmware-record.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { EngineRefusal } from '../../ports/engine-refusal.ts'
import type {
  AddedFirmware,
  FirmwareEditing,
  FirmwareOutcome,
  FirmwareRemoval,
  FirmwareUse,
  NewFirmware,
} from '../../ports/ota.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { type Claim, NO_SAVE, type Store } from '../../ports/store.ts'
import { FIRMWARE, firmwareDocument, readFirmware } from './firmware-documents.ts'
import type { Images } from './images.ts'
import { storageOf } from './storage.ts'

export interface FirmwareDeskPorts {
  readonly store: Pick<Store, 'save' | 'documents'>
  /** The leader's claims, which every save carries. */
  readonly claims: readonly Claim[]
  readonly images: Images
  readonly use: FirmwareUse
  readonly clock: Clock
  readonly schedule: Pick<Schedule, 'every'>
  readonly storageBytesMax: number
  readonly failed: (error: unknown) => void
}

export class FirmwareDesk {
  readonly #ports: FirmwareDeskPorts
  readonly #records = new Map<FirmwareId, FirmwareRecord>()
  readonly #changes = new SerialQueue()
  #stopSweep = () => {}

  constructor(ports: FirmwareDeskPorts) {
    this.#ports = ports
  }

  async open(): Promise<void> {
    const { schedule } = this.#ports
    for (const record of await this.#stored()) this.#records.set(record.id, record)
    this.#stopSweep()
    this.#stopSweep = schedule.every(LIMITS.imageSweepEveryMs, () => this.#sweep())
    this.#sweep()
  }

  close(): void {
    this.#stopSweep()
  }

  add(firmware: NewFirmware): Promise<AddedFirmware> {
    return this.#changes.run(() => this.#add(firmware))
  }

  edit(editing: FirmwareEditing): Promise<FirmwareOutcome> {
    return this.#changes.run(() => this.#edit(editing))
  }

  remove(removal: FirmwareRemoval): Promise<FirmwareOutcome> {
    return this.#changes.run(() => this.#remove(removal))
  }

  async #add(firmware: NewFirmware): Promise<AddedFirmware> {
    const { images, clock, storageBytesMax } = this.#ports
    const now = clock.now()
    const records = [...this.#records.values()]
    const { version, deviceType, sha256 } = firmware
    const existing = records.find((known) => known.version === version && known.deviceType === deviceType)
    if (existing !== undefined) return this.#repeat(existing, firmware, now)
    if (records.length >= LIMITS.firmwareRecordsMax)
      return refused('LIMIT_REACHED', { limit: LIMITS.firmwareRecordsMax })
    const same = records.find((known) => known.sha256 === sha256)
    const hasSame = same !== undefined && (await images.exists(same))
    const used = storageOf(records)
    if (!hasSame && used + firmware.sizeBytes > storageBytesMax)
      return refused('STORAGE_FULL', { limit: storageBytesMax, used })
    const record: FirmwareRecord = {
      ...firmware,
      imageKey: hasSame ? same.imageKey : firmware.imageKey,
      status: 'available',
      createdAt: now,
      updatedAt: now,
      revision: 1,
    }
    await this.#save(record)
    return { kind: 'done', record, isNew: true }
  }

  /** Answers an upload that is sent again. It also restores an image that was lost. */
  async #repeat(
    existing: FirmwareRecord,
    { sha256, imageKey }: NewFirmware,
    now: Millis,
  ): Promise<AddedFirmware> {
    if (existing.sha256 !== sha256)
      return refused('ALREADY_EXISTS', {
        message: `version ${existing.version} for ${existing.deviceType} has other bytes`,
        firmware_id: existing.id,
        sha256: existing.sha256,
      })
    if (await this.#ports.images.exists(existing)) return { kind: 'done', record: existing, isNew: false }
    const record = withImage(existing, imageKey, now)
    await this.#save(record)
    return { kind: 'done', record, isNew: false }
  }

  async #edit({ id, revision, force, ...edit }: FirmwareEditing): Promise<FirmwareOutcome> {
    const found = this.#find(id, revision)
    if (found.kind === 'refused') return found
    const { record } = found
    const edited = editFirmware(record, edit, this.#ports.clock.now())
    if (edited.kind === 'refused')
      return refused('INVALID_STATE_TRANSITION', {
        message: `a firmware that is ${record.status} cannot become ${edit.status}`,
        ...{ from: record.status, to: edit.status, allowed: edited.allowed },
      })
    if (edit.status === 'yanked' && record.status !== 'yanked') {
      const inUse = this.#inUse(id)
      if (inUse !== undefined && !force) return inUse
      if (inUse !== undefined) await this.#ports.use.abort(id)
    }
    if (edited.record !== record) await this.#save(edited.record)
    return { kind: 'done', record: edited.record }
  }

  async #remove({ id, revision, force }: FirmwareRemoval): Promise<FirmwareOutcome> {
    const found = this.#find(id, revision)
    if (found.kind === 'refused') return found
    const { record } = found
    const inUse = this.#inUse(id)
    if (inUse !== undefined) return inUse
    const devices = force ? 0 : await this.#ports.use.countRollbackDevices(id)
    if (devices > 0)
      return refused('FIRMWARE_IN_USE', {
        message: 'devices would go back to this firmware',
        deployments: [],
        used_by_devices: devices,
      })
    // A deployment may have begun while the devices were counted.
    const inUseNow = this.#inUse(id)
    if (inUseNow !== undefined) return inUseNow
    await this.#ports.store.save({
      ...NO_SAVE,
      claims: this.#ports.claims,
      documents: [{ collection: FIRMWARE, id, bytes: undefined }],
    })
    this.#records.delete(id)
    const isShared = [...this.#records.values()].some(({ imageKey }) => imageKey === record.imageKey)
    // The record is gone even if its image cannot be removed now. The sweep removes the image later.
    if (!isShared) await this.#ports.images.remove(record.imageKey).catch(this.#ports.failed)
    return { kind: 'done', record }
  }

  #find(id: FirmwareId, revision: number | undefined): FirmwareOutcome {
    const record = this.#records.get(id)
    if (record === undefined) return refused('NOT_FOUND', { message: 'no such firmware' })
    if (revision === undefined || revision === record.revision) return { kind: 'done', record }
    return refused('PRECONDITION_FAILED', {
      message: 'the firmware has changed',
      etag: String(record.revision),
    })
  }

  #inUse(id: FirmwareId): EngineRefusal | undefined {
    const { active } = this.#ports.use.deployments(id)
    if (active.length === 0) return undefined
    return refused('FIRMWARE_IN_USE', {
      message: 'deployments of this firmware are not final',
      deployments: active,
    })
  }

  async #save(record: FirmwareRecord): Promise<void> {
    const { store, claims } = this.#ports
    await store.save({ ...NO_SAVE, claims, documents: [firmwareDocument(record)] })
    this.#records.set(record.id, record)
  }

  async #stored(): Promise<readonly FirmwareRecord[]> {
    return (await this.#ports.store.documents.list(FIRMWARE)).map(({ bytes }) => readFirmware(bytes))
  }

  /** Goes by what is stored. A node that was cut off does not know that another one leads and has written more records. */
  #sweep(): void {
    const kept = async () => new Set((await this.#stored()).map(({ imageKey }) => imageKey))
    this.#changes.run(() => this.#ports.images.sweep(kept)).catch(this.#ports.failed)
  }
}
