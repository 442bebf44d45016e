// The engine's feed for tests of /ws: it records what was wanted, and can hold back its events for a while.
import type { Feed, FeedEvent, Wants } from '../../../engine/ports/feed.ts'

export class GatedFeed implements Feed {
  /** What was wanted, in order. */
  readonly wanted: Wants[] = []
  readonly #feed: Feed
  readonly #missed = new Set<() => void>()
  #held: (() => void)[] | undefined

  constructor(feed: Feed) {
    this.#feed = feed
  }

  listen(listener: (events: readonly FeedEvent[]) => void, missed?: () => void): () => void {
    if (missed !== undefined) this.#missed.add(missed)
    const stop = this.#feed.listen((events) => {
      if (this.#held === undefined) listener(events)
      else this.#held.push(() => listener(events))
    }, missed)
    return () => {
      if (missed !== undefined) this.#missed.delete(missed)
      stop()
    }
  }

  /** Loses events of other nodes. */
  lose(): void {
    for (const missed of this.#missed) missed()
  }

  want(wants: Wants): void {
    this.wanted.push(wants)
    this.#feed.want(wants)
  }

  /** Holds back events until `release` is called. */
  hold(): void {
    this.#held ??= []
  }

  release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const deliver of held) deliver()
  }
}
