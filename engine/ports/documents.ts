// Records that belong to no device: firmware, deployments, alert rules, channels. The leader alone writes them, with its
// claim, as part of a save; every node reads them.

/** A document in the format of whoever writes it, which the store does not read. */
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

/** Is told of each document that was written or removed by any process, this one included. Without arguments it is told
 *  that everything may have changed, because this process was disconnected for too long. */
export type DocumentListener = (collection?: string, id?: string) => void

export interface Documents {
  read(collection: string, id: string): Promise<Uint8Array | undefined>
  /** Ordered by id. */
  list(collection: string): Promise<readonly StoredDocument[]>
  /** Returns a function that ends the listening. */
  onWritten(listener: DocumentListener): () => void
}
