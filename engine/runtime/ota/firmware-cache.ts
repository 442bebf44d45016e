// The firmware records in the memory of every node, as the leader writes them.
import { FirmwareId } from '../../../schemas/ids.ts'
import type { FirmwareRecord } from '../../domain/ota/firmware-record.ts'
import type { Documents } from '../../ports/documents.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { retryUntilDone } from '../retry-until-done.ts'
import { FIRMWARE, readFirmware } from './firmware-documents.ts'

interface FirmwareCachePorts {
  readonly documents: Documents
  readonly schedule: Pick<Schedule, 'sleep'>
  readonly failed: (error: unknown) => void
}

export class FirmwareCache {
  readonly #ports: FirmwareCachePorts
  readonly #records = new Map<FirmwareId, FirmwareRecord>()
  #loaded: Promise<void> | undefined
  /** Numbers the reads of the store, so that a slow one does not undo what a later one saw. */
  #loads = 0
  #isClosed = false

  constructor(ports: FirmwareCachePorts) {
    this.#ports = ports
  }

  /** Returns a function that stops it. */
  open(): () => void {
    const stop = this.#ports.documents.onWritten((collection, id) => {
      if (collection === undefined) void this.#load()
      else if (collection === FIRMWARE && id !== undefined) void this.#loadOne(FirmwareId(id))
    })
    this.#loaded = this.#load()
    return () => {
      this.#isClosed = true
      stop()
    }
  }

  ready(): Promise<void> {
    return this.#loaded ?? Promise.resolve()
  }

  get(id: FirmwareId): FirmwareRecord | undefined {
    return this.#records.get(id)
  }

  all(): Iterable<FirmwareRecord> {
    return this.#records.values()
  }

  /** Takes the leader's answer over at once, so that a caller can read here what was written there. */
  update(record: FirmwareRecord): void {
    const known = this.#records.get(record.id)
    if (known === undefined || known.revision < record.revision) this.#records.set(record.id, record)
  }

  forget(id: FirmwareId): void {
    this.#records.delete(id)
  }

  async #load(): Promise<void> {
    const load = ++this.#loads
    const found = await this.#retryUntilDone(() => this.#ports.documents.list(FIRMWARE))
    if (found === undefined || load !== this.#loads) return
    const records = found.map(({ bytes }) => readFirmware(bytes))
    const ids = new Set(records.map(({ id }) => id))
    for (const id of this.#records.keys()) if (!ids.has(id)) this.#records.delete(id)
    for (const record of records) this.update(record)
  }

  async #loadOne(id: FirmwareId): Promise<void> {
    const bytes = await this.#retryUntilDone(() => this.#ports.documents.read(FIRMWARE, id))
    if (this.#isClosed) return
    if (bytes === undefined) this.#records.delete(id)
    else this.update(readFirmware(bytes))
  }

  #retryUntilDone<Found>(load: () => Promise<Found>): Promise<Found | undefined> {
    return retryUntilDone(load, () => this.#isClosed, this.#ports)
  }
}
