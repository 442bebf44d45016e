// The subscriptions of the page on its socket. Pure but for `send`: the worker tells it what came and when the page is hidden.
//
// - Watches that ask for the same without a snapshot share one subscription; those with one need a snapshot each.
// - At most as many are open at once as the service allows; the others wait for a place.
// SU1. Whoever was not subscribed for a time is told: it may have missed something, and reads again what it shows. Who gets
//      a snapshot needs no word. The beginning is told, too: the page asks for what it shows before it is subscribed.
// SU2. While nobody has looked at the page for long, only what the page counts for everybody stays subscribed.
import { LIMITS } from '../limits.ts'
import type { Batch, LiveEvent, Watch } from './messages.ts'

/** How many events of a subscription wait for the page. The oldest go first. */
const EVENTS_MAX = 5000
/** The fleet itself has a subscription that is not among these. */
const OPEN_MAX = LIMITS.subscriptionsMax - 1
const STAYING: ReadonlySet<string> = new Set<Watch['channel']>(['fleet', 'alerts'])

export interface EventFrame {
  readonly type: string
  readonly id?: string
  readonly [member: string]: unknown
}

interface Subscription {
  readonly key: string
  readonly watch: Watch
  readonly watchers: Set<string>
  events: LiveEvent[]
  dropped: number
  /** The name of it on the socket, while it is open there. */
  openAs: string | undefined
  wasOpen: boolean
  hasBegun: boolean
  hasGap: boolean
}

export class Subscriptions {
  readonly #send: (frame: object) => void
  readonly #all = new Map<string, Subscription>()
  readonly #keys = new Map<string, string>()
  readonly #open = new Map<string, Subscription>()
  #names = 0
  #isConnected = false
  #isResting = false

  constructor(send: (frame: object) => void) {
    this.#send = send
  }

  watch(id: string, watch: Watch): void {
    const key = watch.snapshot === false ? JSON.stringify(watch) : id
    this.#keys.set(id, key)
    const known = this.#all.get(key)
    if (known !== undefined) known.watchers.add(id)
    else
      this.#all.set(key, {
        ...{ key, watch, watchers: new Set([id]), events: [], dropped: 0 },
        ...{ openAs: undefined, wasOpen: false, hasBegun: false, hasGap: false },
      })
    this.#settle()
  }

  unwatch(id: string): void {
    const found = this.#all.get(this.#keys.get(id) ?? '')
    this.#keys.delete(id)
    if (found === undefined) return
    found.watchers.delete(id)
    if (found.watchers.size > 0) return
    this.#all.delete(found.key)
    this.#close(found)
    this.#settle()
  }

  connected(): void {
    this.#isConnected = true
    this.#settle()
  }

  lost(): void {
    this.#isConnected = false
    for (const one of this.#open.values()) one.openAs = undefined
    this.#open.clear()
  }

  /** Ends most of them, or begins them again (SU2). */
  rest(isResting: boolean): void {
    this.#isResting = isResting
    for (const one of [...this.#open.values()]) if (!this.#isWanted(one)) this.#close(one)
    this.#settle()
  }

  /** Gives the watchers of a subscription that the service refused. */
  take(frame: EventFrame): readonly string[] {
    const found = this.#open.get(frame.id ?? '')
    if (found === undefined) return []
    if (frame.type === 'error') return [...found.watchers]
    if (frame.type === 'resync') found.dropped += Number(frame['dropped'])
    // The service's own tests check its frames.
    if (frame.type === 'event') this.#keep(found, frame as unknown as LiveEvent)
    // `data` is an entry, or a list of them.
    if (frame.type === 'snapshot')
      for (const data of [frame['data']].flat())
        this.#keep(found, { event: 'snapshot', ts: String(frame['ts'] ?? ''), data, isSnapshot: true })
    return []
  }

  /** Gives what came since the last time, for each watcher, and forgets it. */
  handOver(): readonly Batch[] {
    const batches: Batch[] = []
    for (const one of this.#all.values()) {
      const { events, dropped, hasBegun, hasGap } = one
      if (events.length === 0 && dropped === 0 && !hasBegun && !hasGap) continue
      for (const id of one.watchers) batches.push({ id, events, dropped, hasGap })
      one.events = []
      one.dropped = 0
      one.hasBegun = false
      one.hasGap = false
    }
    return batches
  }

  #isWanted({ watch }: Subscription): boolean {
    return this.#isConnected && (!this.#isResting || STAYING.has(watch.channel))
  }

  #settle(): void {
    for (const one of this.#all.values()) {
      if (one.openAs !== undefined || !this.#isWanted(one) || this.#open.size >= OPEN_MAX) continue
      this.#names += 1
      // A name of its own, so that what is still under way to an earlier subscription does not count for this one.
      one.openAs = `s${this.#names}`
      this.#open.set(one.openAs, one)
      const isTold = one.watch.snapshot === false // by SU1
      one.hasBegun ||= isTold && !one.wasOpen
      one.hasGap ||= isTold && one.wasOpen
      one.wasOpen = true
      this.#send({ type: 'subscribe', id: one.openAs, snapshot: true, ...one.watch })
    }
  }

  #close(one: Subscription): void {
    if (one.openAs === undefined) return
    this.#open.delete(one.openAs)
    this.#send({ type: 'unsubscribe', id: one.openAs })
    one.openAs = undefined
  }

  #keep(one: Subscription, event: LiveEvent): void {
    one.events.push(event)
    if (one.events.length <= EVENTS_MAX) return
    // In steps, because removing the first of a long list copies the others.
    one.dropped += EVENTS_MAX / 10
    one.events.splice(0, EVENTS_MAX / 10)
  }
}
