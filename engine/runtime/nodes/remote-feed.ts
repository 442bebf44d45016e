// The feed of one node, which hears the devices of all nodes. Each node tells the others what its listeners want, and they
// send it those events of their settled batches (R4). A node outside a cluster has its own events only.
//
// F1. A change of a subscription is sent before `want` returns. A question sent to another node after that, over the same
//     mesh, reaches a node that knows the change. So there is no gap between a snapshot and the events that follow it.
// - A subscription that is not repeated is forgotten, because its node is gone. A change counts only on top of the previous
//   change. If one was missed, the receiver waits for the whole subscription.
// - The events of a device come in order, from its owner alone. When its partition moves, they come from two nodes: each
//   event only from the node that saved it, and in order from each node. An owner that handed over has sent everything
//   before. An owner that was paused may send what it had saved late, after newer events of the next owner. Versions and
//   times in the events show that. Events that a node saved but did not send before it died are never sent. Telemetry and
//   log lines need no save: what the previous owner read since its last save, the next owner sends again.
// - Events are sent at most once. Listeners are told that some were lost (feed-gaps.ts), but not which. Whoever must not miss
//   anything has to read it.
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Feed, FeedEvent, Wants } from '../../ports/feed.ts'
import type { Mesh } from '../../ports/mesh.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { LocalFeed, NO_WANTS } from '../feed.ts'
import type { FeedSignal } from '../signals.ts'
import { pack, unpack } from '../versioned.ts'
import { FeedGaps, type FeedNews } from './feed-gaps.ts'
import {
  applyChange,
  changeOf,
  isNoChange,
  isWantedBy,
  unionOf,
  type WantsChange,
  widenLongLists,
} from './wants.ts'

export interface RemoteFeedPorts {
  /** Undefined outside a cluster. */
  readonly mesh: Mesh | undefined
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'every'>
  /** Called with the events that all nodes together want of this node's shards. */
  readonly onWant: (wants: Wants) => void
  readonly signal: (signal: FeedSignal) => void
}

/** The events a node wants, as it tells the other nodes. */
interface FeedSubscription {
  readonly node: string
  /** The number of the subscription. Each change increments it. */
  readonly n: number
  readonly isListening: boolean
  /** Whether `change` starts from nothing. Otherwise it starts from the subscription with the previous number. */
  readonly isWhole: boolean
  readonly change: WantsChange
}

/** Another node that listens to events. */
interface Subscriber {
  readonly n: number
  readonly wants: Wants
  readonly heardAt: number
  readonly sent: { readonly stream: number; events: number }
}

interface Dispatch {
  readonly address: string
  readonly subscriber: Subscriber
  readonly events: readonly FeedEvent[]
}

const SUBSCRIPTIONS = 'wants'
/** Asks all nodes for their subscriptions. A new node sends it. */
const SUBSCRIPTIONS_REQUESTED = 'wants.asked'
const EMPTY_MESSAGE = new Uint8Array(0)

export class RemoteFeed implements Feed {
  readonly #ports: RemoteFeedPorts
  readonly #local: LocalFeed
  readonly #subscribers = new Map<string, Subscriber>()
  #streams = 0
  readonly #gaps = new FeedGaps()
  #listeners = 0
  #wants = NO_WANTS
  /** The subscription that other nodes know. `#revision` is its number. */
  #announced = NO_WANTS
  #revision = 0
  #isUnionDue = false
  #isUnreadableReported = false
  #stops: readonly (() => void)[] = []

  constructor(ports: RemoteFeedPorts) {
    this.#ports = ports
    this.#local = new LocalFeed(
      (wants) => this.#setWants(wants),
      (error) => ports.signal({ kind: 'listener_failed', error }),
    )
  }

  /** Begins to hear other nodes. */
  start(): void {
    const { mesh, schedule } = this.#ports
    if (mesh === undefined) return
    this.#stops = [
      // Sent by `#announce` of any node.
      mesh.subscribe(SUBSCRIPTIONS, (news) =>
        this.#decode(news, (subscription) => this.#receive(subscription as FeedSubscription)),
      ),
      mesh.subscribe(feedTopic(mesh.address), (news) =>
        // Sent by `#send` of any node.
        this.#decode(news, (content) => this.#hear(content as FeedNews)),
      ),
      mesh.subscribe(SUBSCRIPTIONS_REQUESTED, () => this.#announceWhole()),
      schedule.every(LIMITS.feedWantsEveryMs, () => this.#tick()),
    ]
    mesh.publish(SUBSCRIPTIONS_REQUESTED, EMPTY_MESSAGE)
    this.#announceWhole()
  }

  /** Makes other nodes stop sending events to this one. */
  close(): void {
    for (const stop of this.#stops) stop()
    if (this.#listeners > 0) this.#announceEnd()
  }

  listen(listener: (events: readonly FeedEvent[]) => void, missed?: () => void): () => void {
    const stop = this.#local.listen(listener, missed)
    if (++this.#listeners === 1) {
      this.#gaps.clear()
      this.#announceWhole()
    }
    let isListening = true
    return () => {
      stop()
      if (isListening && --this.#listeners === 0) this.#announceEnd()
      isListening = false
    }
  }

  want(wants: Wants): void {
    this.#local.want(wants)
  }

  /** Sends the events of a batch of this node. Called once the batch is settled. */
  publish(events: readonly FeedEvent[]): void {
    const { mesh } = this.#ports
    // Outside a cluster, shards make only events that are wanted here.
    if (mesh === undefined) {
      this.#local.publish(events)
      return
    }
    if (this.#listeners > 0) this.#local.publish(events.filter((event) => isWantedBy(event, this.#wants)))
    for (const [address, subscriber] of this.#subscribers) {
      const wanted = events.filter((event) => isWantedBy(event, subscriber.wants))
      if (wanted.length > 0) this.#send(mesh, { address, subscriber, events: wanted })
    }
  }

  #send(mesh: Mesh, { address, subscriber, events }: Dispatch): void {
    const { sent } = subscriber
    const news: FeedNews = { node: mesh.address, stream: sent.stream, before: sent.events, events }
    const message = pack(news)
    const half = events.length >> 1
    if (message.length > LIMITS.feedNewsBytesMax && half > 0) {
      for (const part of [events.slice(0, half), events.slice(half)])
        this.#send(mesh, { address, subscriber, events: part })
      return
    }
    sent.events += events.length
    mesh.publish(feedTopic(address), message)
  }

  #hear(news: FeedNews): void {
    if (this.#listeners === 0) return
    if (this.#gaps.isAfterGap(news)) this.#local.missed()
    this.#local.publish(news.events)
  }

  #setWants(wants: Wants): void {
    this.#wants = wants
    this.#applyUnion()
    const change = changeOf(this.#announced, widenLongLists(wants))
    if (this.#ports.mesh === undefined || isNoChange(this.#announced, change)) return
    this.#revision++
    this.#announced = applyChange(this.#announced, change)
    if (this.#listeners > 0) this.#announce({ isListening: true, isWhole: false, change })
  }

  #announceWhole(): void {
    const change = changeOf(NO_WANTS, this.#announced)
    if (this.#listeners > 0) this.#announce({ isListening: true, isWhole: true, change })
  }

  #announceEnd(): void {
    this.#announce({ isListening: false, isWhole: true, change: changeOf(NO_WANTS, NO_WANTS) })
  }

  #announce(subscription: Omit<FeedSubscription, 'node' | 'n'>): void {
    const { mesh } = this.#ports
    mesh?.publish(
      SUBSCRIPTIONS,
      pack({ ...subscription, node: mesh.address, n: this.#revision } satisfies FeedSubscription),
    )
  }

  #receive({ node, n, isListening, isWhole, change }: FeedSubscription): void {
    const { mesh, clock } = this.#ports
    if (node === mesh?.address) return
    const heardAt = clock.ticks()
    const known = this.#subscribers.get(node)
    const sent = known?.sent ?? { stream: ++this.#streams, events: 0 }
    if (!isListening) this.#subscribers.delete(node)
    else if (known?.n === n) this.#subscribers.set(node, { ...known, heardAt })
    else if (isWhole) this.#subscribers.set(node, { n, wants: applyChange(NO_WANTS, change), heardAt, sent })
    else if (known?.n === n - 1)
      this.#subscribers.set(node, { n, wants: applyChange(known.wants, change), heardAt, sent })
    if (this.#subscribers.get(node)?.wants !== known?.wants) this.#applyUnionSoon()
  }

  #tick(): void {
    const { mesh, clock } = this.#ports
    const now = clock.ticks()
    this.#announceWhole()
    // While no node can be heard, none is forgotten.
    for (const [node, subscriber] of this.#subscribers)
      if (mesh?.isUp() === false) this.#subscribers.set(node, { ...subscriber, heardAt: now })
      else if (now - subscriber.heardAt > LIMITS.feedWantsForgottenMs) {
        this.#subscribers.delete(node)
        this.#applyUnionSoon()
      }
    // Tells how many events there were, in case the last ones were lost.
    if (mesh !== undefined)
      for (const [address, subscriber] of this.#subscribers)
        this.#send(mesh, { address, subscriber, events: [] })
  }

  #applyUnion(): void {
    this.#ports.onWant(unionOf([this.#wants, ...[...this.#subscribers.values()].map(({ wants }) => wants)]))
  }

  /** Waits for subscriptions that arrive together, but not longer than until the next question is passed to a shard (F1). */
  #applyUnionSoon(): void {
    if (this.#isUnionDue) return
    this.#isUnionDue = true
    queueMicrotask(() => {
      this.#isUnionDue = false
      this.#applyUnion()
    })
  }

  #decode(message: Uint8Array, handle: (content: unknown) => void): void {
    try {
      handle(unpack(message))
    } catch (error) {
      if (!this.#isUnreadableReported) this.#ports.signal({ kind: 'news_unreadable', error })
      this.#isUnreadableReported = true
    }
  }
}

const feedTopic = (address: string): string => `feed.${address}`
