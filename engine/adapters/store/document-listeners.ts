// Tells listeners which documents were written.
import type { DocumentListener } from '../../ports/documents.ts'

export class DocumentListeners {
  readonly #listeners = new Set<DocumentListener>()

  onWritten(listener: DocumentListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  written(documents: Iterable<{ readonly collection: string; readonly id: string }>): void {
    for (const { collection, id } of documents)
      for (const listener of this.#listeners) listener(collection, id)
  }

  /** Called after everything was loaded again: any document may have changed. */
  reloaded(): void {
    for (const listener of this.#listeners) listener()
  }
}
