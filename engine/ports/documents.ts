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
 *  process was disconnected for too long, so that any document may have changed. */
export type DocumentListener = (collection?: string, id?: string) => void

export interface Documents {
  read(collection: string, id: string): Promise<Uint8Array | undefined>
  /** Ordered by id. */
  list(collection: string): Promise<readonly StoredDocument[]>
  /** Returns a function that stops the listener. */
  onWritten(listener: DocumentListener): () => void
}
