// Tells listeners which documents were written, and knows whether they have read them.
import type { DocumentListener } from '../../ports/documents.ts'

export class DocumentListeners {
  readonly #listeners = new Set<DocumentListener>()
  readonly #reads = new Set<Promise<void>>()

  onWritten(listener: DocumentListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  written(documents: Iterable<{ readonly collection: string; readonly id: string }>): void {
    for (const { collection, id } of documents)
      for (const listener of this.#listeners) this.#note(listener(collection, id))
  }

  /** Called after everything was loaded again: any document may have changed. */
  reloaded(): void {
    for (const listener of this.#listeners) this.#note(listener())
  }

  /** Undefined if the listeners have read everything that they were told of. Otherwise resolves once they have. */
  reading(): Promise<unknown> | undefined {
    return this.#reads.size === 0 ? undefined : Promise.allSettled(this.#reads)
  }

  #note(read: Promise<void> | undefined): void {
    if (read === undefined) return
    const ended = read.finally(() => this.#reads.delete(ended))
    this.#reads.add(ended)
  }
}
