// What the notifier keeps in the store: deliveries, and which channels know about which alerts. All changes are written
// together, in one save that also removes the notices they follow from. A failed save is retried. So everything that is
// sent was saved before.
import { AlertId, type ChannelId } from '../../../schemas/ids.ts'
import { type Delivery, isFinal } from '../../domain/alert/delivery.ts'
import { newPackr } from '../../domain/packing.ts'
import { LIMITS } from '../../limits.ts'
import type { ChannelNotice } from '../../ports/alert-channels.ts'
import type { SavedDocument } from '../../ports/documents.ts'
import { Fault } from '../../ports/fault.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { type Claim, NO_SAVE, type Store } from '../../ports/store.ts'
import { packDelivery, unpackDelivery } from './delivery-document.ts'
import type { DeliveryGroup } from './delivery-group.ts'
import { NotifiedIndex } from './notified-index.ts'

export interface DeliveryStorePorts {
  readonly store: Pick<Store, 'documents' | 'save'>
  readonly claims: readonly Claim[]
  readonly schedule: Pick<Schedule, 'sleep'>
  readonly failed: (error: unknown) => void
}

const DELIVERIES = 'deliveries'
const NOTIFIED_CHANNELS = 'alerts-told'
const packr = newPackr()

interface DocumentWrite {
  readonly collection: string
  readonly id: string
  /** Called when the document is written. Undefined removes the document. */
  readonly bytes: (() => Uint8Array) | undefined
}

interface FinishedDelivery {
  readonly id: string
  readonly channelId: ChannelId
  readonly createdAt: number
}

export class DeliveryStore {
  readonly #ports: DeliveryStorePorts
  /** What the next save writes, by collection and id. Encoded only then, once for all changes. */
  #changed = new Map<string, DocumentWrite>()
  /** What the current save writes. */
  #saving: ReadonlyMap<string, DocumentWrite> = new Map()
  #noticesToRemove: string[] = []
  #lastSave: Promise<void> = Promise.resolve()
  #isClosed = false
  /** Finished deliveries, oldest first. */
  readonly #finished = new Map<string, FinishedDelivery>()
  /** The channels that were told, or will be told, that an alert fires. */
  readonly #notifiedChannels = new Map<AlertId, ReadonlySet<ChannelId>>()
  readonly #notified = new NotifiedIndex()

  constructor(ports: DeliveryStorePorts) {
    this.#ports = ports
  }

  /** Returns all deliveries in the order in which they were created. */
  async open(): Promise<readonly Delivery[]> {
    const { documents } = this.#ports.store
    // Written by `setNotifiedChannels`.
    for (const { id, bytes } of await documents.list(NOTIFIED_CHANNELS))
      this.#notifiedChannels.set(AlertId(id), new Set(packr.unpack(bytes) as ChannelId[]))
    const deliveries = (await documents.list(DELIVERIES)).map(({ bytes }) => unpackDelivery(bytes))
    deliveries.sort((a, b) => a.createdAt - b.createdAt)
    for (const delivery of deliveries) this.#notified.note(delivery.id, delivery)
    for (const delivery of deliveries) if (isFinal(delivery)) this.#finished.set(delivery.id, delivery)
    return deliveries
  }

  close(): void {
    this.#isClosed = true
  }

  /** Keeps an open delivery as it is at the time of the save, with everything added until then. */
  putOpen(group: DeliveryGroup): void {
    const { id } = group.head
    this.#write(DELIVERIES, id, () => packDelivery(group.delivery()))
    this.#finished.delete(id)
    this.#notified.noteOpen(group)
  }

  put(id: string, delivery: Delivery | undefined): void {
    this.#write(DELIVERIES, id, delivery && (() => packDelivery(delivery)))
    this.#finished.delete(id)
    this.#notified.note(id, delivery)
    if (delivery === undefined || !isFinal(delivery)) return
    const { channelId, createdAt } = delivery
    this.#finished.set(id, { id, channelId, createdAt })
  }

  /** Removes the oldest finished deliveries that are too old or too many. */
  forget(before: number): void {
    for (const { id, createdAt } of this.#finished.values()) {
      if (createdAt >= before && this.#finished.size <= LIMITS.deliveriesKeptMax) return
      this.put(id, undefined)
    }
  }

  notifiedChannelsOf(alertId: AlertId): ReadonlySet<ChannelId> {
    return this.#notifiedChannels.get(alertId) ?? new Set()
  }

  setNotifiedChannels(alertId: AlertId, channels: ReadonlySet<ChannelId>): void {
    if (channels.size === 0) this.#notifiedChannels.delete(alertId)
    else this.#notifiedChannels.set(alertId, channels)
    this.#write(NOTIFIED_CHANNELS, alertId, channels.size === 0 ? undefined : () => packr.pack([...channels]))
  }

  /** The channels that were told of the alert, with the state of their deliveries. */
  notifiedOf(alertId: AlertId): readonly ChannelNotice[] {
    return this.#notified.of(alertId)
  }

  /** Whether the channel took a message that the alert fires. */
  hasArrived(alertId: AlertId, channelId: ChannelId): boolean {
    return this.#notified.hasArrived(alertId, channelId)
  }

  isSaved(id: string): boolean {
    const key = `${DELIVERIES}/${id}`
    return !this.#changed.has(key) && !this.#saving.has(key)
  }

  finishedOf(channelId: ChannelId): readonly string[] {
    return [...this.#finished.values()].filter((each) => each.channelId === channelId).map(({ id }) => id)
  }

  /** Reads a saved delivery. Unfinished deliveries are in their queues and may be newer there. */
  async read(id: string): Promise<Delivery | undefined> {
    await this.#lastSave
    const bytes = await this.#ports.store.documents.read(DELIVERIES, id)
    return bytes === undefined ? undefined : unpackDelivery(bytes)
  }

  /** Removes these notices with the next save, which also writes what followed from them. */
  removeNotices(keys: readonly string[]): void {
    this.#noticesToRemove.push(...keys)
  }

  /** Resolves once all earlier changes are saved. Rejects if another leader has taken over. */
  save(): Promise<void> {
    const turn = this.#lastSave.then(() => this.#saveNow())
    this.#lastSave = turn.catch(() => undefined)
    return turn
  }

  async #saveNow(): Promise<void> {
    if (this.#isClosed || (this.#changed.size === 0 && this.#noticesToRemove.length === 0)) return
    const written = this.#changed
    const noticesGone = this.#noticesToRemove
    this.#saving = written
    this.#changed = new Map()
    this.#noticesToRemove = []
    await this.#saveUntilDone([...written.values()].map(encoded), noticesGone)
    this.#saving = new Map()
  }

  async #saveUntilDone(documents: readonly SavedDocument[], noticesGone: readonly string[]): Promise<void> {
    const { store, claims, schedule, failed } = this.#ports
    while (!this.#isClosed) {
      try {
        await store.save({ ...NO_SAVE, claims, documents, noticesRemoved: noticesGone })
        return
      } catch (error) {
        failed(error)
        if (error instanceof Fault && error.code === 'STORE_FENCED') throw error
        await schedule.sleep(LIMITS.saveRetryMs)
      }
    }
  }

  #write(collection: string, id: string, bytes: DocumentWrite['bytes']): void {
    this.#changed.set(`${collection}/${id}`, { collection, id, bytes })
  }
}

function encoded({ collection, id, bytes }: DocumentWrite): SavedDocument {
  return { collection, id, bytes: bytes?.() }
}
