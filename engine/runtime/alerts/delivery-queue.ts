// The deliveries of one channel that are not over.
//
// Q1. An alert is in at most one delivery that is not under way. What is newer takes its place: an alert that resolves
//     before anybody was told of it is one message.
// - While a delivery is under way, whatever else is to be said about its alerts waits.
import type { AlertId, Millis } from '../../../schemas/ids.ts'
import { type Channel, isOpen } from '../../domain/alert/channel.ts'
import {
  beginDelivery,
  type Delivery,
  DIGEST,
  dueAtOf,
  foldDeliveries,
  type Item,
  joinDelivery,
  keyOf,
  withoutAlert,
} from '../../domain/alert/delivery.ts'
import { LIMITS } from '../../limits.ts'

/** Told of every delivery that is not as it was: undefined if it is no more. */
type DeliveryListener = (id: string, delivery: Delivery | undefined) => void

export type DropReason = 'queue_full' | 'channel_gone'

const MINUTE_MS = 60_000

export class DeliveryQueue {
  readonly #changed: DeliveryListener
  readonly #dropped: (reason: DropReason, alerts: number) => void
  readonly #open = new Map<string, Delivery>()
  readonly #underWay = new Set<string>()
  /** Where an alert waits to be told of (Q1). */
  readonly #waiting = new Map<AlertId, string>()
  /** The delivery of each key that is still added to, and when one of that key was last sent. */
  readonly #joinable = new Map<string, string>()
  readonly #lastSentAt = new Map<string, Millis>()
  readonly #sentAt: Millis[] = []
  #members = 0
  #digestAt = 0
  #probedAt = 0
  /** The time before which nothing is due, unless something changes. */
  #quietUntil = 0

  constructor(changed: DeliveryListener, dropped: (reason: DropReason, alerts: number) => void) {
    this.#changed = changed
    this.#dropped = dropped
  }

  /** The number of alerts that wait. */
  get size(): number {
    return this.#members
  }

  get underWay(): number {
    return this.#underWay.size
  }

  /** Takes up a delivery as an earlier leader left it. */
  restore(delivery: Delivery): void {
    this.#put(delivery)
    if (delivery.tries === 0) this.#joinable.set(delivery.key, delivery.id)
  }

  restoreSent(key: string, at: Millis): void {
    this.#lastSentAt.set(key, Math.max(at, this.#lastSentAt.get(key) ?? 0) as Millis)
  }

  /** Returns false if it was dropped. */
  add(item: Item, channel: Channel, now: Millis): boolean {
    const { alertId, event } = item.notice
    const waitingIn = this.#waiting.get(alertId)
    if (waitingIn !== undefined) {
      // It will be told that it fires.
      if (event === 'repeat') return true
      this.#supersede(waitingIn, alertId)
    }
    if (this.#members >= LIMITS.notificationsQueuedMax && !this.#makeRoomFor(item)) {
      this.#dropped('queue_full', 1)
      return false
    }
    const key = keyOf(item)
    const open = this.#joinableOf(key, now)
    if (open !== undefined) {
      this.#replace(joinDelivery(open, item))
      this.#waiting.set(alertId, open.id)
    } else {
      const dueAt = dueAtOf(item.notice, { channel, now, lastSentAt: this.#lastSentAt.get(key) })
      const begun = beginDelivery(item, { channelId: channel.id, now, dueAt })
      this.#put(begun)
      this.#joinable.set(key, begun.id)
    }
    return true
  }

  /** A delivery that came about otherwise: a redelivery, or another channel's. */
  put(delivery: Delivery): void {
    this.#put(delivery)
  }

  /** The deliveries to send now, marked as under way. `isSaved` says which may be sent at all. */
  next(
    channel: Channel,
    now: Millis,
    { isSaved, room }: { readonly isSaved: (id: string) => boolean; readonly room: number },
  ): readonly Delivery[] {
    if (now < this.#quietUntil || !isOpen(channel)) return []
    const due = this.#dueAt(now)
    if (due.length === 0) return []
    if (channel.health.state === 'failing') return this.#probe(due, now, isSaved)
    const begun: Delivery[] = []
    const over: Delivery[] = []
    for (const delivery of due) {
      if (!isSaved(delivery.id) || this.#mustWait(delivery)) continue
      if (delivery.event !== 'digest' && delivery.tries === 0 && this.#isOverRate(channel, now)) {
        over.push(delivery)
        continue
      }
      if (begun.length >= room || !this.#hasRoom(delivery)) continue
      begun.push(this.#begin(delivery, now))
    }
    const [first, ...others] = over
    if (first !== undefined) this.#fold([first, ...others], now)
    return begun
  }

  /** The result of one that was under way. */
  settle(delivery: Delivery, isOver: boolean): void {
    this.#underWay.delete(delivery.id)
    this.#quietUntil = 0
    if (isOver) {
      this.#remove(delivery)
      this.#changed(delivery.id, delivery)
      return
    }
    // What was said about its alerts meanwhile takes their place (Q1).
    let left: Delivery | undefined = delivery
    for (const { alertId } of delivery.members) {
      const waitingIn = this.#waiting.get(alertId)
      if (left !== undefined && waitingIn !== undefined && waitingIn !== delivery.id)
        left = withoutAlert(left, alertId)
    }
    this.#remove(delivery)
    if (left !== undefined) this.#put(left)
    else this.#changed(delivery.id, { ...delivery, state: 'dropped', nextAttemptAt: undefined })
  }

  /** Gives everything up, because the channel is gone. */
  drop(now: Millis): void {
    for (const delivery of this.#open.values()) {
      if (this.#underWay.has(delivery.id)) continue
      this.#remove(delivery)
      this.#dropped('channel_gone', delivery.members.length)
      this.#changed(delivery.id, { ...delivery, state: 'dropped', nextAttemptAt: undefined, finishedAt: now })
    }
  }

  find(id: string): Delivery | undefined {
    return this.#open.get(id)
  }

  deliveries(): IterableIterator<Delivery> {
    return this.#open.values()
  }

  hasUndelivered(alertId: AlertId): boolean {
    return this.#waiting.has(alertId)
  }

  #dueAt(now: Millis): readonly Delivery[] {
    const due: Delivery[] = []
    let quietUntil = Number.POSITIVE_INFINITY
    for (const delivery of this.#open.values()) {
      if (this.#underWay.has(delivery.id)) continue
      const at = delivery.nextAttemptAt ?? delivery.dueAt
      if (at <= now) due.push(delivery)
      else quietUntil = Math.min(quietUntil, at)
    }
    this.#quietUntil = due.length > 0 ? 0 : quietUntil
    return due.sort((a, b) => urgencyOf(a) - urgencyOf(b) || a.dueAt - b.dueAt || a.createdAt - b.createdAt)
  }

  /** One try a minute, of the oldest, until the channel works. */
  #probe(due: readonly Delivery[], now: Millis, isSaved: (id: string) => boolean): readonly Delivery[] {
    if (this.#underWay.size > 0 || now < this.#probedAt + LIMITS.channelProbeMs) return []
    const probe = due.find(({ id }) => isSaved(id))
    if (probe === undefined) return []
    this.#probedAt = now
    return [this.#begin(probe, now)]
  }

  #begin(delivery: Delivery, now: Millis): Delivery {
    this.#underWay.add(delivery.id)
    for (const { alertId } of delivery.members)
      if (this.#waiting.get(alertId) === delivery.id) this.#waiting.delete(alertId)
    if (this.#joinable.get(delivery.key) === delivery.id) this.#joinable.delete(delivery.key)
    this.#lastSentAt.set(delivery.key, now)
    this.#sentAt.push(now)
    return delivery
  }

  #fold(over: readonly [Delivery, ...Delivery[]], now: Millis): void {
    const waiting = this.#joinableOf(DIGEST, now)
    const all: readonly [Delivery, ...Delivery[]] = waiting === undefined ? over : [waiting, ...over]
    for (const delivery of all) {
      this.#remove(delivery)
      if (delivery !== waiting) this.#changed(delivery.id, undefined)
    }
    const dueAt = waiting?.dueAt ?? (Math.max(now, this.#digestAt + LIMITS.digestEveryMs) as Millis)
    const digest = foldDeliveries(all, { now, dueAt })
    this.#digestAt = dueAt
    this.#put(digest)
    this.#joinable.set(DIGEST, digest.id)
  }

  #isOverRate(channel: Channel, now: Millis): boolean {
    while ((this.#sentAt[0] ?? now) <= now - MINUTE_MS) this.#sentAt.shift()
    return this.#sentAt.length >= channel.ratePerMinute
  }

  /** A critical one has a place of its own, so that it never waits behind a lower severity. */
  #hasRoom(delivery: Delivery): boolean {
    const max = LIMITS.deliveriesInFlightPerChannelMax
    return this.#underWay.size < (delivery.severity === 'critical' ? max + 1 : max)
  }

  #mustWait(delivery: Delivery): boolean {
    for (const id of this.#underWay) {
      const other = this.#open.get(id)
      if (other === undefined) continue
      const alerts = new Set(other.members.map(({ alertId }) => alertId))
      if (delivery.members.some(({ alertId }) => alerts.has(alertId))) return true
    }
    return false
  }

  #joinableOf(key: string, now: Millis): Delivery | undefined {
    const id = this.#joinable.get(key)
    const open = id === undefined ? undefined : this.#open.get(id)
    return open !== undefined && open.dueAt > now && open.tries === 0 ? open : undefined
  }

  #supersede(id: string, alertId: AlertId): void {
    this.#waiting.delete(alertId)
    const delivery = this.#open.get(id)
    if (delivery === undefined) return
    const left = withoutAlert(delivery, alertId)
    if (left !== undefined) {
      this.#replace(left)
      return
    }
    this.#remove(delivery)
    const wasTried = delivery.attempts.length > 0
    this.#changed(id, wasTried ? { ...delivery, state: 'dropped', nextAttemptAt: undefined } : undefined)
  }

  /** Repeats go first, then what is only information. Critical alerts are taken in any case. */
  #makeRoomFor({ notice }: Item): boolean {
    const isLesser = [
      ({ event }: Delivery) => event === 'repeat',
      ({ severity, event }: Delivery) => severity === 'info' && event !== 'digest',
    ]
    for (const test of isLesser) {
      for (const delivery of this.#open.values()) {
        if (!test(delivery) || this.#underWay.has(delivery.id)) continue
        this.#remove(delivery)
        this.#dropped('queue_full', delivery.members.length)
        this.#changed(delivery.id, { ...delivery, state: 'dropped', nextAttemptAt: undefined })
        return true
      }
    }
    return notice.severity === 'critical'
  }

  #put(delivery: Delivery): void {
    this.#replace(delivery)
    for (const { alertId } of delivery.members) this.#waiting.set(alertId, delivery.id)
  }

  #replace(delivery: Delivery): void {
    this.#members += delivery.members.length - (this.#open.get(delivery.id)?.members.length ?? 0)
    this.#open.set(delivery.id, delivery)
    this.#quietUntil = 0
    this.#changed(delivery.id, delivery)
  }

  #remove(delivery: Delivery): void {
    const kept = this.#open.get(delivery.id)
    if (kept === undefined) return
    this.#open.delete(delivery.id)
    this.#members -= kept.members.length
    for (const { alertId } of kept.members)
      if (this.#waiting.get(alertId) === delivery.id) this.#waiting.delete(alertId)
    if (this.#joinable.get(kept.key) === delivery.id) this.#joinable.delete(kept.key)
  }
}

function urgencyOf({ severity }: Delivery): number {
  return severity === 'critical' ? 0 : severity === 'warning' ? 1 : 2
}
