// The newest broadcasts as they are stored: a document each. The members that wait for their command are in a second
// document, which is written only once. So noting progress is cheap even for large groups.
import type { BroadcastId, DeviceId } from '../../../schemas/ids.ts'
import type { Broadcast, StatusCounts } from '../../domain/command/broadcast.ts'
import { newPackr } from '../../domain/packing.ts'
import { LIMITS } from '../../limits.ts'
import type { SavedDocument } from '../../ports/documents.ts'
import { type Claim, NO_SAVE, type Store } from '../../ports/store.ts'

export interface SavedBroadcast {
  /** The broadcast's number. The newest broadcasts are kept. */
  readonly n: number
  readonly broadcast: Broadcast
  /** How many members have been asked to take their command. Undefined once all have been asked. */
  readonly handedOut: number | undefined
  /** The result, once all commands have ended. */
  readonly counts: StatusCounts | undefined
}

const BROADCASTS = 'broadcasts'
const MEMBERS = 'broadcast-members'
const packr = newPackr()

export class BroadcastBook {
  readonly #store: Pick<Store, 'save' | 'documents'>
  readonly #claims: readonly Claim[]
  readonly #broadcasts = new Map<BroadcastId, SavedBroadcast>()
  #next = 0

  constructor(store: Pick<Store, 'save' | 'documents'>, claims: readonly Claim[]) {
    this.#store = store
    this.#claims = claims
  }

  async open(): Promise<void> {
    const documents = await this.#store.documents.list(BROADCASTS)
    // Written by `#write`.
    const saved = documents.map(({ bytes }) => packr.unpack(bytes) as SavedBroadcast)
    for (const each of saved.sort((a, b) => a.n - b.n)) {
      this.#broadcasts.set(each.broadcast.id, each)
      this.#next = each.n + 1
    }
  }

  find(id: BroadcastId): SavedBroadcast | undefined {
    return this.#broadcasts.get(id)
  }

  /** Oldest first. */
  all(): readonly SavedBroadcast[] {
    return [...this.#broadcasts.values()]
  }

  /** All members of a broadcast that is being handed out, in order. */
  async membersOf(id: BroadcastId): Promise<readonly DeviceId[]> {
    const bytes = await this.#store.documents.read(MEMBERS, id)
    // Written by `add`.
    return bytes === undefined ? [] : (packr.unpack(bytes) as readonly DeviceId[])
  }

  async add(broadcast: Broadcast, members: readonly DeviceId[]): Promise<SavedBroadcast> {
    const saved: SavedBroadcast = { n: this.#next++, broadcast, handedOut: 0, counts: undefined }
    const over = this.#broadcasts.size + 1 - LIMITS.broadcastsKeptMax
    const oldest = [...this.#broadcasts.keys()].slice(0, Math.max(0, over))
    await this.#write(saved, [
      { collection: MEMBERS, id: broadcast.id, bytes: Buffer.from(packr.pack(members)) },
      ...oldest.flatMap((id) => [removalOf(BROADCASTS, id), removalOf(MEMBERS, id)]),
    ])
    for (const id of oldest) this.#broadcasts.delete(id)
    return saved
  }

  /** Saves progress. Forgets the members once all have been asked. */
  async save(saved: SavedBroadcast): Promise<void> {
    const { id } = saved.broadcast
    if (!this.#broadcasts.has(id)) return
    await this.#write(saved, saved.handedOut === undefined ? [removalOf(MEMBERS, id)] : [])
  }

  async #write(saved: SavedBroadcast, more: readonly SavedDocument[]): Promise<void> {
    const { id } = saved.broadcast
    const own = { collection: BROADCASTS, id, bytes: Buffer.from(packr.pack(saved)) }
    await this.#store.save({ ...NO_SAVE, claims: this.#claims, documents: [own, ...more] })
    this.#broadcasts.set(id, saved)
  }
}

function removalOf(collection: string, id: string): SavedDocument {
  return { collection, id, bytes: undefined }
}
