// Documents, notices and parts of devices in Redis: how they are read, and the argument lists of the script that writes.
import type { DocumentListener, Documents, SavedDocument, StoredDocument } from '../../../ports/documents.ts'
import type { Notice } from '../../../ports/notices.ts'
import type { DevicePart, SavedPart } from '../../../ports/store.ts'
import type { RedisLink } from '../../redis/redis-link.ts'
import type { RedisBytes } from '../../redis/redis-lists.ts'
import type { DocumentListeners } from '../document-listeners.ts'

export class RedisDocuments implements Documents {
  readonly #link: RedisLink
  readonly #listeners: DocumentListeners

  constructor(link: RedisLink, listeners: DocumentListeners) {
    this.#link = link
    this.#listeners = listeners
  }

  async read(collection: string, id: string): Promise<Uint8Array | undefined> {
    return (await this.#link.read((redis) => redis.hgetBuffer(this.#keyOf(collection), id))) ?? undefined
  }

  async list(collection: string): Promise<readonly StoredDocument[]> {
    const found = await this.#link.read((redis) => redis.hgetallBuffer(this.#keyOf(collection)))
    return Object.entries(found)
      .map(([id, bytes]) => ({ id, bytes }))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  onWritten(listener: DocumentListener): () => void {
    return this.#listeners.onWritten(listener)
  }

  #keyOf(collection: string): string {
    return this.#link.key(`documents:${collection}`)
  }
}

export async function readNotices(link: RedisLink, max: number): Promise<readonly Notice[]> {
  const keys = await link.read((redis) => redis.zrange(link.key('notice-order'), 0, max - 1))
  if (keys.length === 0) return []
  const found = await link.read((redis) => redis.hmgetBuffer(link.key('notices'), ...keys))
  return keys.flatMap((key, i) => {
    const bytes = found[i]
    return bytes == null ? [] : [{ key, bytes }]
  })
}

const PART_LISTS: Readonly<Record<DevicePart, 'shadows' | 'firmware' | 'alerts'>> = {
  shadow: 'shadows',
  firmware: 'firmware',
  alerts: 'alerts',
}

export function toPartLists(
  parts: readonly SavedPart[],
): Readonly<Record<'shadows' | 'firmware' | 'alerts', readonly RedisBytes[]>> {
  const lists = { shadows: [] as RedisBytes[], firmware: [] as RedisBytes[], alerts: [] as RedisBytes[] }
  for (const { deviceId, part, bytes } of parts) lists[PART_LISTS[part]].push(deviceId, bytes)
  return lists
}

export function toDocumentLists(
  documents: readonly SavedDocument[],
): Readonly<Record<'documents' | 'documentsGone' | 'documentsTold', readonly RedisBytes[]>> {
  const lists = {
    documents: [] as RedisBytes[],
    documentsGone: [] as RedisBytes[],
    documentsTold: [] as RedisBytes[],
  }
  for (const { collection, id, bytes } of documents) {
    lists.documentsTold.push(collection, id)
    if (bytes === undefined) lists.documentsGone.push(collection, id)
    else lists.documents.push(collection, id, bytes)
  }
  return lists
}
