// Finds out that events of other nodes were lost on their way to this one, which NATS does not tell.
//
// - A node numbers the events that it sends to a subscriber, in a stream that lasts as long as it knows the subscriber. It
//   repeats the number from time to time, so that the loss of the last events is noticed, too.
import type { FeedEvent } from '../../ports/feed.ts'

/** What a node sends to a subscriber. */
export interface FeedNews {
  readonly node: string
  readonly stream: number
  /** How many events of the stream were sent before these. */
  readonly before: number
  readonly events: readonly FeedEvent[]
}

/** Each life of a node has an address of its own. Nodes that were not heard for the longest time are forgotten. */
const NODES_MAX = 1_000

export class FeedGaps {
  readonly #heard = new Map<string, { readonly stream: number; readonly until: number }>()

  /** Whether events are missing before these. */
  isAfterGap({ node, stream, before, events }: FeedNews): boolean {
    const known = this.#heard.get(node)
    this.#heard.delete(node)
    this.#heard.set(node, { stream, until: before + events.length })
    const [oldest] = this.#heard.keys()
    if (this.#heard.size > NODES_MAX && oldest !== undefined) this.#heard.delete(oldest)
    if (known === undefined) return before > 0
    // It had forgotten this node, and sent nothing until it heard of it again.
    return known.stream !== stream || known.until < before
  }

  /** Called when this node subscribes anew: what it missed before does not matter. */
  clear(): void {
    this.#heard.clear()
  }
}
