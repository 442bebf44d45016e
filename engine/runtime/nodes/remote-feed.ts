// The feed of one node, which hears the devices of all nodes. Each node tells the others what its listeners want, and they
// send it those events of their settled batches (R4). A node outside a cluster has its own events only.
//
// F1. A wish is sent before `want` returns. A question sent to another node after that, over the same mesh, reaches a node
//     that knows the wish. So there is no gap between a snapshot and the events that follow it.
// - A wish that is not repeated is forgotten, because its node is gone. A change of a wish counts only on top of the
//   previous change. If one was missed, the listener waits for the whole wish.
// - The events of a device come in order, from its owner alone. When its partition moves, they come from two nodes: each
//   event only from the node that saved it, and in order from each node. An owner that handed over has sent everything
//   before. An owner that was paused may send what it had saved late, after newer events of the next owner. Versions and
//   times in the events show that. Events that a node saved but did not send before it died are never sent. Telemetry and
//   log lines need no save: what the previous owner read since its last save, the next owner sends again.
// - Events are sent at most once. Whoever must not miss anything has to read it.
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Feed, FeedEvent, Wants } from '../../ports/feed.ts'
import type { Mesh } from '../../ports/mesh.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { LocalFeed, NO_WANTS } from '../feed.ts'
import type { FeedSignal } from '../signals.ts'
import { pack, unpack } from '../versioned.ts'
import { bounded, changed, changeOf, isFor, isSame, unionOf, type WantsChange } from './wants.ts'

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
interface Wish {
  readonly node: string
  /** The number of the wish. Each change increments it. */
  readonly n: number
  readonly isListening: boolean
  /** Whether `change` starts from nothing. Otherwise it starts from the wish with the previous number. */
  readonly isWhole: boolean
  readonly change: WantsChange
}

/** Another node that listens to events. */
interface Listener {
  readonly n: number
  readonly wants: Wants
  readonly heardAt: number
}

const WISHES = 'wants'
/** Asks all nodes for their wishes. A new node sends it. */
const WISHES_ASKED = 'wants.asked'
const NOTHING = new Uint8Array(0)

export class RemoteFeed implements Feed {
  readonly #ports: RemoteFeedPorts
  readonly #local: LocalFeed
  readonly #hearers = new Map<string, Listener>()
  #listeners = 0
  #wants = NO_WANTS
  /** The wish that other nodes know. `#n` is its number. */
  #told = NO_WANTS
  #n = 0
  #isUnionDue = false
  #isMisread = false
  #stops: readonly (() => void)[] = []

  constructor(ports: RemoteFeedPorts) {
    this.#ports = ports
    this.#local = new LocalFeed(
      (wants) => this.#wish(wants),
      (error) => ports.signal({ kind: 'listener_failed', error }),
    )
  }

  /** Begins to hear other nodes. */
  start(): void {
    const { mesh, schedule } = this.#ports
    if (mesh === undefined) return
    this.#stops = [
      // Sent by `#tellWish` of any node.
      mesh.subscribe(WISHES, (news) => this.#read(news, (wish) => this.#hear(wish as Wish))),
      mesh.subscribe(feedOf(mesh.address), (news) =>
        this.#read(news, (events) => this.#local.tell(events as readonly FeedEvent[])),
      ),
      mesh.subscribe(WISHES_ASKED, () => this.#tellWhole()),
      schedule.every(LIMITS.feedWantsEveryMs, () => this.#tick()),
    ]
    mesh.publish(WISHES_ASKED, NOTHING)
    this.#tellWhole()
  }

  /** Makes other nodes stop sending events to this one. */
  close(): void {
    for (const stop of this.#stops) stop()
    if (this.#listeners > 0) this.#tellGone()
  }

  listen(listener: (events: readonly FeedEvent[]) => void): () => void {
    const stop = this.#local.listen(listener)
    if (++this.#listeners === 1) this.#tellWhole()
    let isListening = true
    return () => {
      stop()
      if (isListening && --this.#listeners === 0) this.#tellGone()
      isListening = false
    }
  }

  want(wants: Wants): void {
    this.#local.want(wants)
  }

  /** Sends the events of a batch of this node. Called once the batch is settled. */
  tell(events: readonly FeedEvent[]): void {
    const { mesh } = this.#ports
    // Outside a cluster, shards make only events that are wanted here.
    if (mesh === undefined) {
      this.#local.tell(events)
      return
    }
    if (this.#listeners > 0) this.#local.tell(events.filter((event) => isFor(event, this.#wants)))
    for (const [address, { wants }] of this.#hearers) {
      const wanted = events.filter((event) => isFor(event, wants))
      if (wanted.length > 0) this.#send(mesh, feedOf(address), wanted)
    }
  }

  #send(mesh: Mesh, topic: string, events: readonly FeedEvent[]): void {
    const news = pack(events)
    const half = events.length >> 1
    if (news.length <= LIMITS.feedNewsBytesMax || half === 0) mesh.publish(topic, news)
    else for (const part of [events.slice(0, half), events.slice(half)]) this.#send(mesh, topic, part)
  }

  #wish(wants: Wants): void {
    this.#wants = wants
    this.#tellUnion()
    const change = changeOf(this.#told, bounded(wants))
    if (this.#ports.mesh === undefined || isSame(this.#told, change)) return
    this.#n++
    this.#told = changed(this.#told, change)
    if (this.#listeners > 0) this.#tellWish({ isListening: true, isWhole: false, change })
  }

  #tellWhole(): void {
    const change = changeOf(NO_WANTS, this.#told)
    if (this.#listeners > 0) this.#tellWish({ isListening: true, isWhole: true, change })
  }

  #tellGone(): void {
    this.#tellWish({ isListening: false, isWhole: true, change: changeOf(NO_WANTS, NO_WANTS) })
  }

  #tellWish(wish: Omit<Wish, 'node' | 'n'>): void {
    const { mesh } = this.#ports
    mesh?.publish(WISHES, pack({ ...wish, node: mesh.address, n: this.#n } satisfies Wish))
  }

  #hear({ node, n, isListening, isWhole, change }: Wish): void {
    const { mesh, clock } = this.#ports
    if (node === mesh?.address) return
    const heardAt = clock.ticks()
    const known = this.#hearers.get(node)
    if (!isListening) this.#hearers.delete(node)
    else if (known?.n === n) this.#hearers.set(node, { ...known, heardAt })
    else if (isWhole) this.#hearers.set(node, { n, wants: changed(NO_WANTS, change), heardAt })
    else if (known?.n === n - 1) this.#hearers.set(node, { n, wants: changed(known.wants, change), heardAt })
    if (this.#hearers.get(node)?.wants !== known?.wants) this.#tellUnionSoon()
  }

  #tick(): void {
    const { mesh, clock } = this.#ports
    const now = clock.ticks()
    this.#tellWhole()
    // While no node can be heard, none is forgotten.
    for (const [node, hearer] of this.#hearers)
      if (mesh?.isUp() === false) this.#hearers.set(node, { ...hearer, heardAt: now })
      else if (now - hearer.heardAt > LIMITS.feedWantsForgottenMs) {
        this.#hearers.delete(node)
        this.#tellUnionSoon()
      }
  }

  #tellUnion(): void {
    this.#ports.onWant(unionOf([this.#wants, ...[...this.#hearers.values()].map(({ wants }) => wants)]))
  }

  /** Waits for wishes that arrive together, but not longer than until the next question is passed to a shard (F1). */
  #tellUnionSoon(): void {
    if (this.#isUnionDue) return
    this.#isUnionDue = true
    queueMicrotask(() => {
      this.#isUnionDue = false
      this.#tellUnion()
    })
  }

  #read(news: Uint8Array, take: (said: unknown) => void): void {
    try {
      take(unpack(news))
    } catch (err) {
      if (!this.#isMisread) this.#ports.signal({ kind: 'news_unreadable', error: err })
      this.#isMisread = true
    }
  }
}

const feedOf = (address: string): string => `feed.${address}`
