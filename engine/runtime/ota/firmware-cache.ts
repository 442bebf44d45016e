// The firmware records in the memory of every node, as the leader writes them.
import { FirmwareId } from '../../../schemas/ids.ts'
import { SerialQueue } from '../../../schemas/serial-queue.ts'
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
  /** One after the other, because a list that is read takes longer than what is written meanwhile, and lacks it. */
  readonly #reads = new SerialQueue()
  #isClosed = false

  constructor(ports: FirmwareCachePorts) {
    this.#ports = ports
  }

  /** Returns a function that stops it. */
  open(): () => void {
    const stop = this.#ports.documents.onWritten((collection, id) => {
      if (collection === undefined) return this.#reads.run(() => this.#load())
      if (collection !== FIRMWARE || id === undefined) return undefined
      return this.#reads.run(() => this.#loadOne(FirmwareId(id)))
    })
    this.#loaded = this.#reads.run(() => this.#load())
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
    // The list may lack what the leader answers meanwhile.
    const before = [...this.#records.keys()]
    const found = await this.#retryUntilDone(() => this.#ports.documents.list(FIRMWARE))
    if (found === undefined) return
    const records = found.map(({ bytes }) => readFirmware(bytes))
    const ids = new Set(records.map(({ id }) => id))
    for (const id of before) if (!ids.has(id)) this.#records.delete(id)
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
