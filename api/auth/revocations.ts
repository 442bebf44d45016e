// Tells whoever keeps a connection open that a caller's tokens may be void now.
import type { UserId } from '../../schemas/ids.ts'

type Listener = (id: UserId) => void

export class Revocations {
  readonly #listeners = new Set<Listener>()

  /** Hands back what ends it. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  tell(id: UserId): void {
    for (const listener of this.#listeners) listener(id)
  }
}
