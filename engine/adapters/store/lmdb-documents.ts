// Documents and notices in tables of the store's LMDB file.
import type { DocumentListener, Documents, SavedDocument, StoredDocument } from '../../ports/documents.ts'
import type { Notice, NoticeCounts } from '../../ports/notices.ts'
import type { Change, LmdbEnv } from '../lmdb/lmdb-env.ts'
import { DocumentListeners } from './document-listeners.ts'
import { NoticeCount } from './notice-count.ts'

/** Keyed by collection, then id. */
const DOCUMENTS = 'documents'
const NOTICES = 'notices'
export const DOCUMENT_TABLES: readonly string[] = [DOCUMENTS, NOTICES]

export class LmdbDocuments implements Documents {
  readonly #env: LmdbEnv
  readonly #listeners = new DocumentListeners()

  constructor(env: LmdbEnv) {
    this.#env = env
  }

  async read(collection: string, id: string): Promise<Uint8Array | undefined> {
    return this.#env.read(DOCUMENTS, keyOf({ collection, id }))
  }

  async list(collection: string): Promise<readonly StoredDocument[]> {
    const prefix = keyOf({ collection, id: '' })
    return [...this.#env.entries(DOCUMENTS, { prefix })].map(({ key, value }) => ({
      id: String(key).slice(prefix.length),
      bytes: value,
    }))
  }

  onWritten(listener: DocumentListener): () => void {
    return this.#listeners.onWritten(listener)
  }

  changesOf(documents: readonly SavedDocument[]): readonly Change[] {
    return documents.map(({ bytes, ...at }) =>
      bytes === undefined
        ? { table: DOCUMENTS, key: keyOf(at) }
        : { table: DOCUMENTS, key: keyOf(at), value: bytes },
    )
  }

  written(documents: readonly SavedDocument[]): void {
    this.#listeners.written(documents)
  }
}

/** Changes that a save makes to the queue. */
export interface NoticeChanges {
  readonly changes: readonly Change[]
  readonly added: number
  readonly refused: number
  readonly removed: number
}

export class LmdbNotices {
  readonly #env: LmdbEnv
  readonly #count = new NoticeCount()

  constructor(env: LmdbEnv) {
    this.#env = env
    this.#count.added([...env.keys(NOTICES)].length)
  }

  first(max: number): readonly Notice[] {
    const found = this.#env.entries(NOTICES, { limit: max })
    return [...found].map(({ key, value }) => ({ key: String(key), bytes: value }))
  }

  counts(): NoticeCounts {
    return this.#count.counts()
  }

  changesOf(notices: readonly Notice[], removedKeys: readonly string[]): NoticeChanges {
    const isStored = (key: string) => this.#env.peek(NOTICES, key) !== undefined
    const wanted = notices.filter(({ key }) => !isStored(key))
    const added = wanted.slice(0, this.#count.room())
    const removed = removedKeys.filter(isStored)
    return {
      changes: [
        ...added.map(({ key, bytes }) => ({ table: NOTICES, key, value: bytes })),
        ...removed.map((key) => ({ table: NOTICES, key })),
      ],
      added: added.length,
      refused: wanted.length - added.length,
      removed: removed.length,
    }
  }

  saved({ added, refused, removed }: NoticeChanges): void {
    this.#count.added(added)
    this.#count.refused(refused)
    this.#count.removed(removed)
  }
}

function keyOf({ collection, id }: { readonly collection: string; readonly id: string }): string {
  return `${collection}/${id}`
}
