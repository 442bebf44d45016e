// Records that belong to no device: firmware, deployments, alert rules, channels. The leader alone writes them, with its
// claim, as part of a save; every node reads them.

/** A document in its writer's own format, which the store does not interpret. */
export interface SavedDocument {
  readonly collection: string
  readonly id: string
  /** Undefined removes the document. */
  readonly bytes: Uint8Array | undefined
}

export interface StoredDocument {
  readonly id: string
  readonly bytes: Uint8Array
}

/** Called for each document that any process, including this one, wrote or removed. Called without arguments if this
 *  process was disconnected for too long, so that any document may have changed. If it reads the document, it returns the
 *  promise of that, because until then this process is not up to date with the writes of others (`Directory.freshen`). */
export type DocumentListener = (collection?: string, id?: string) => Promise<void> | undefined

export interface Documents {
  read(collection: string, id: string): Promise<Uint8Array | undefined>
  /** Ordered by id. */
  list(collection: string): Promise<readonly StoredDocument[]>
  /** Returns a function that stops the listener. */
  onWritten(listener: DocumentListener): () => void
}
