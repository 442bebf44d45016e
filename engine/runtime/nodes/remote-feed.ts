// The feed of one node, which hears the devices of all: what its listeners want is told to the others, and they send
// what settled batches tell (R4). Without other nodes it is the feed of this one.
//
// F1. A wish is told before `want` returns. What is asked of another node after that, over the same mesh, is asked of
//     one that knows the wish: a snapshot and the events that follow it have no hole between them.
// - A wish that is not told again is forgotten: its node is gone. Changes of a wish count only on top of the one
//   before them, or they wait for the whole.
// - The events of a device come in order, from its owner alone. When its partition moves they come from two nodes:
//   each event from the one that saved it and never from both, in order of each. An owner that handed over had told
//   everything before; one that stood still may tell late what it had saved, after newer events of the next owner.
//   Versions and times in the events say so. What a node had saved and not told when it died, nobody tells.
//   Telemetry and log lines need no save: what the one before had read since its last one, the next owner tells again.
// - Telling is at most once. Whoever must not miss anything reads it.
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
  /** Undefined if this node is the only one. */
  readonly mesh: Mesh | undefined
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'every'>
  /** Tells this node's shards which events all nodes together want. */
  readonly onWant: (wants: Wants) => void
  readonly signal: (signal: FeedSignal) => void
}

/** A node's wish for events, as it tells the others. */
interface Wish {
  readonly node: string
  /** Counts the changes. */
  readonly n: number
  readonly isListening: boolean
  /** True: `change` starts from nothing. False: from the wish with the number before. */
  readonly isWhole: boolean
  readonly change: WantsChange
}

/** A node that listens. */
interface Listener {
  readonly n: number
  readonly wants: Wants
  readonly heardAt: number
}

const WISHES = 'wants'
/** A new node asks for the wishes of all. */
const WISHES_ASKED = 'wants.asked'
const NOTHING = new Uint8Array(0)

export class RemoteFeed implements Feed {
  readonly #ports: RemoteFeedPorts
  readonly #local: LocalFeed
  readonly #hearers = new Map<string, Listener>()
  #listeners = 0
  #wants = NO_WANTS
  /** The wish that the others know, and its number. */
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

  /** The others are heard from here on. */
  start(): void {
    const { mesh, schedule } = this.#ports
    if (mesh === undefined) return
    this.#stops = [
      // Each is told below, by a node like this one.
      mesh.hear(WISHES, (news) => this.#read(news, (wish) => this.#hear(wish as Wish))),
      mesh.hear(feedOf(mesh.address), (news) =>
        this.#read(news, (events) => this.#local.tell(events as readonly FeedEvent[])),
      ),
      mesh.hear(WISHES_ASKED, () => this.#tellWhole()),
      schedule.every(LIMITS.feedWantsEveryMs, () => this.#tick()),
    ]
    mesh.tell(WISHES_ASKED, NOTHING)
    this.#tellWhole()
  }

  /** The others send nothing here any more. */
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

  /** Tells the events of a batch of this node, once it is settled. */
  tell(events: readonly FeedEvent[]): void {
    const { mesh } = this.#ports
    // Then shards make what is wanted here and nothing else.
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
    if (news.length <= LIMITS.feedNewsBytesMax || half === 0) mesh.tell(topic, news)
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
    mesh?.tell(WISHES, pack({ ...wish, node: mesh.address, n: this.#n } satisfies Wish))
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
    // While nobody can be heard nobody is forgotten.
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

  /** Several wishes arrive together, and before a question that came after them is asked of a shard (F1). */
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
