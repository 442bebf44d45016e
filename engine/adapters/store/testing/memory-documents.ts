// Documents without a disk.
import type { DocumentListener, Documents, SavedDocument, StoredDocument } from '../../../ports/documents.ts'
import { DocumentListeners } from '../document-listeners.ts'

export class MemoryDocuments implements Documents {
  readonly #collections = new Map<string, Map<string, Uint8Array>>()
  readonly #listeners = new DocumentListeners()

  async read(collection: string, id: string): Promise<Uint8Array | undefined> {
    return this.#collections.get(collection)?.get(id)
  }

  async list(collection: string): Promise<readonly StoredDocument[]> {
    const found = [...(this.#collections.get(collection) ?? [])].map(([id, bytes]) => ({ id, bytes }))
    return found.sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  onWritten(listener: DocumentListener): () => void {
    return this.#listeners.onWritten(listener)
  }

  save(documents: readonly SavedDocument[]): void {
    for (const { collection, id, bytes } of documents) {
      const kept = this.#collections.get(collection) ?? new Map<string, Uint8Array>()
      this.#collections.set(collection, kept)
      if (bytes === undefined) kept.delete(id)
      else kept.set(id, bytes)
    }
    this.#listeners.written(documents)
  }
}
