// The in-process feed: what settled batches tell `/ws` and whoever else listens.
import type { DeviceId } from '../../schemas/ids.ts'
import type { Feed, FeedEvent } from '../ports/feed.ts'

export type Want = { readonly all: boolean; readonly devices: ReadonlySet<DeviceId> }

export class LocalFeed implements Feed {
  readonly #listeners = new Set<(events: readonly FeedEvent[]) => void>()
  readonly #onWant: (want: Want) => void
  readonly #onError: (error: unknown) => void

  /** `onError`: a listener threw. */
  constructor(onWant: (want: Want) => void, onError: (error: unknown) => void) {
    this.#onWant = onWant
    this.#onError = onError
  }

  listen(listener: (events: readonly FeedEvent[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  want(telemetry: Want): void {
    this.#onWant({ all: telemetry.all, devices: new Set(telemetry.devices) })
  }

  tell(events: readonly FeedEvent[]): void {
    if (events.length === 0) return
    for (const listener of this.#listeners)
      try {
        listener(events)
      } catch (error) {
        // One listener's mistake is neither the other listeners' nor the engine's.
        this.#onError(error)
      }
  }
}
