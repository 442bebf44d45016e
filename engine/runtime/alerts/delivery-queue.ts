// The unfinished deliveries of one channel.
//
// Q1. An alert is in at most one delivery that is not in flight. Newer news replaces older: an alert that is resolved
//     before anybody was told of it makes one message.
// - While a delivery is in flight, other news about its alerts waits.
import type { AlertId, Millis } from '../../../schemas/ids.ts'
import { type Channel, isActive } from '../../domain/alert/channel.ts'
import {
  beginDelivery,
  type Delivery,
  DIGEST,
  dueAtOf,
  keyOf,
  type NotificationItem,
  toDigest,
  withoutAlerts,
} from '../../domain/alert/delivery.ts'
import { LIMITS } from '../../limits.ts'
import { DeliveryGroup } from './delivery-group.ts'

/** Called with every delivery that changes. */
export interface DeliveryListener {
  /** An open delivery changed. Read its value when it is needed, so that it includes what is added until then. */
  readonly changed: (group: DeliveryGroup) => void
  /** A delivery has finished with this value. Undefined means that it no longer exists. */
  readonly ended: (id: string, delivery: Delivery | undefined) => void
  /** Nobody gets this delivery. Undefined: a single alert for which there was no room. */
  readonly dropped: (reason: DropReason, delivery: Delivery | undefined) => void
}

export type DropReason = 'queue_full' | 'channel_gone'

const MINUTE_MS = 60_000

export class DeliveryQueue {
  readonly #listener: DeliveryListener
  readonly #open = new Map<string, DeliveryGroup>()
  readonly #underWay = new Set<string>()
  /** The delivery in which an alert waits (Q1). */
  readonly #waiting = new Map<AlertId, string>()
  /** The delivery of each key that still takes more alerts. `#lastSentAt` is when one with that key was last sent. */
  readonly #joinable = new Map<string, string>()
  readonly #lastSentAt = new Map<string, Millis>()
  readonly #sentAt: Millis[] = []
  readonly #criticalSentAt: Millis[] = []
  #members = 0
  #digestAt = 0
  #probedAt = 0
  /** The time before which nothing is due unless something changes. */
  #quietUntil = 0

  constructor(listener: DeliveryListener) {
    this.#listener = listener
  }

  /** How many alerts wait. */
  get size(): number {
    return this.#members
  }

  get underWay(): number {
    return this.#underWay.size
  }

  /** Continues with a delivery of an earlier leader. */
  restore(delivery: Delivery): void {
    this.#put(delivery)
    if (delivery.tries === 0) this.#joinable.set(delivery.key, delivery.id)
  }

  /** Counts an attempt of an earlier leader for the group's interval, and the latest ones for the rate and the digests. */
  restoreSent({ key, severity, event }: Delivery, at: Millis, now: Millis): void {
    this.#lastSentAt.set(key, Math.max(at, this.#lastSentAt.get(key) ?? 0) as Millis)
    // A test goes past the rate.
    if (event === 'test' || at <= now - MINUTE_MS) return
    this.#noteSent(severity, at)
    if (event === 'digest') this.#digestAt = Math.max(this.#digestAt, at)
  }

  /** Returns false if the item was dropped. */
  add(item: NotificationItem, channel: Channel, now: Millis): boolean {
    const { alertId, event } = item.notice
    const waitingIn = this.#waiting.get(alertId)
    if (waitingIn !== undefined) {
      // The first message will say that it fires.
      if (event === 'repeat') return true
      this.#supersede(waitingIn, alertId)
    }
    if (this.#members >= LIMITS.notificationsQueuedMax && !this.#makeRoomFor(item)) {
      this.#listener.dropped('queue_full', undefined)
      return false
    }
    const key = keyOf(item)
    const open = this.#joinableOf(key, now)
    if (open !== undefined) {
      open.join(item)
      this.#members++
      this.#waiting.set(alertId, open.head.id)
      this.#noteChanged(open)
    } else {
      const dueAt = dueAtOf(item.notice, { channel, now, lastSentAt: this.#lastSentAt.get(key) })
      const begun = beginDelivery(item, { channelId: channel.id, now, dueAt })
      this.#put(begun)
      this.#joinable.set(key, begun.id)
    }
    return true
  }

  /** Adds a delivery that was made elsewhere: a redelivery, or one passed on by another channel. */
  put(delivery: Delivery): void {
    this.#put(delivery)
  }

  /** The deliveries to send now, marked as in flight. Only those for which `isSaved` returns true may be sent. */
  next(
    channel: Channel,
    now: Millis,
    { isSaved, room }: { readonly isSaved: (id: string) => boolean; readonly room: number },
  ): readonly Delivery[] {
    if (now < this.#quietUntil || !isActive(channel)) return []
    const due = this.#dueAt(now)
    if (due.length === 0) return []
    if (channel.health.state === 'failing') return this.#probe(due, now, isSaved)
    const begun: Delivery[] = []
    const over: Delivery[] = []
    for (const group of due) {
      if (!isSaved(group.head.id)) continue
      const delivery = group.delivery()
      if (this.#mustWait(delivery)) continue
      if (delivery.event !== 'digest' && delivery.tries === 0 && this.#isOverRate(channel, delivery, now)) {
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

  /** Takes the result of a delivery that was in flight. */
  settle(delivery: Delivery, isOver: boolean): void {
    this.#underWay.delete(delivery.id)
    this.#quietUntil = 0
    if (isOver) {
      this.#remove(delivery)
      this.#listener.ended(delivery.id, delivery)
      return
    }
    // Newer news about its alerts replaces what this delivery says (Q1).
    const gone = new Set<AlertId>()
    for (const { alertId } of delivery.members) {
      const waitingIn = this.#waiting.get(alertId)
      if (waitingIn !== undefined && waitingIn !== delivery.id) gone.add(alertId)
    }
    const left = gone.size === 0 ? delivery : withoutAlerts(delivery, gone)
    this.#remove(delivery)
    if (left !== undefined) this.#put(left)
    else this.#drop(delivery)
  }

  /** Drops all deliveries, because the channel is gone. */
  drop(now: Millis): void {
    for (const group of this.#open.values()) {
      if (this.#underWay.has(group.head.id)) continue
      this.#remove(group.head)
      this.#listener.dropped('channel_gone', group.delivery())
      this.#drop({ ...group.delivery(), finishedAt: now })
    }
  }

  find(id: string): Delivery | undefined {
    return this.#open.get(id)?.delivery()
  }

  ids(): IterableIterator<string> {
    return this.#open.keys()
  }

  #dueAt(now: Millis): readonly DeliveryGroup[] {
    const due: DeliveryGroup[] = []
    let quietUntil = Number.POSITIVE_INFINITY
    for (const group of this.#open.values()) {
      const { id, nextAttemptAt, dueAt } = group.head
      if (this.#underWay.has(id)) continue
      const at = nextAttemptAt ?? dueAt
      if (at <= now) due.push(group)
      else quietUntil = Math.min(quietUntil, at)
    }
    this.#quietUntil = due.length > 0 ? 0 : quietUntil
    return due.sort(
      ({ head: a }, { head: b }) =>
        urgencyOf(a) - urgencyOf(b) || a.dueAt - b.dueAt || a.createdAt - b.createdAt,
    )
  }

  /** Tries one delivery once a minute until the channel works. Of equally urgent ones that with the fewest tries, because the
   *  receiver may refuse one message for ever and take the others. */
  #probe(due: readonly DeliveryGroup[], now: Millis, isSaved: (id: string) => boolean): readonly Delivery[] {
    if (this.#underWay.size > 0 || now < this.#probedAt + LIMITS.channelProbeMs) return []
    const [probe] = due
      .filter(({ head }) => isSaved(head.id))
      .sort(({ head: a }, { head: b }) => urgencyOf(a) - urgencyOf(b) || a.tries - b.tries)
    if (probe === undefined) return []
    this.#probedAt = now
    return [this.#begin(probe.delivery(), now)]
  }

  #begin(delivery: Delivery, now: Millis): Delivery {
    this.#underWay.add(delivery.id)
    for (const { alertId } of delivery.members)
      if (this.#waiting.get(alertId) === delivery.id) this.#waiting.delete(alertId)
    if (this.#joinable.get(delivery.key) === delivery.id) this.#joinable.delete(delivery.key)
    this.#lastSentAt.set(delivery.key, now)
    this.#noteSent(delivery.severity, now)
    return delivery
  }

  /** The times stay in order, although those of an earlier leader come by delivery. */
  #noteSent(severity: Delivery['severity'], at: Millis): void {
    for (const times of severity === 'critical' ? [this.#sentAt, this.#criticalSentAt] : [this.#sentAt])
      times.splice(times.findLastIndex((each) => each <= at) + 1, 0, at)
  }

  #fold(over: readonly [Delivery, ...Delivery[]], now: Millis): void {
    const waiting = this.#joinableOf(DIGEST, now)?.delivery()
    const all: readonly [Delivery, ...Delivery[]] = waiting === undefined ? over : [waiting, ...over]
    for (const delivery of all) {
      this.#remove(delivery)
      if (delivery !== waiting) this.#listener.ended(delivery.id, undefined)
    }
    const dueAt = waiting?.dueAt ?? (Math.max(now, this.#digestAt + LIMITS.digestEveryMs) as Millis)
    const digest = toDigest(all, { now, dueAt })
    this.#digestAt = dueAt
    this.#put(digest)
    this.#joinable.set(DIGEST, digest.id)
  }

  /** Lower severities use up nothing of the rate of critical deliveries, which never wait behind them. */
  #isOverRate({ ratePerMinute }: Channel, { severity }: Delivery, now: Millis): boolean {
    const sentAt = severity === 'critical' ? this.#criticalSentAt : this.#sentAt
    while ((sentAt[0] ?? now) <= now - MINUTE_MS) sentAt.shift()
    return sentAt.length >= ratePerMinute
  }

  /** A critical delivery has an extra place, so that it never waits behind a lower severity. */
  #hasRoom(delivery: Delivery): boolean {
    const max = LIMITS.deliveriesInFlightPerChannelMax
    return this.#underWay.size < (delivery.severity === 'critical' ? max + 1 : max)
  }

  #mustWait(delivery: Delivery): boolean {
    for (const id of this.#underWay) {
      const other = this.#open.get(id)
      if (other === undefined) continue
      const alerts = new Set(other.delivery().members.map(({ alertId }) => alertId))
      if (delivery.members.some(({ alertId }) => alerts.has(alertId))) return true
    }
    return false
  }

  #joinableOf(key: string, now: Millis): DeliveryGroup | undefined {
    const id = this.#joinable.get(key)
    const open = id === undefined ? undefined : this.#open.get(id)
    return open !== undefined && open.head.dueAt > now && open.head.tries === 0 ? open : undefined
  }

  #supersede(id: string, alertId: AlertId): void {
    this.#waiting.delete(alertId)
    const group = this.#open.get(id)
    if (group === undefined) return
    if (!group.isOnlyOf(alertId)) {
      const before = group.size
      group.leave(alertId)
      this.#members += group.size - before
      this.#noteChanged(group)
      return
    }
    const delivery = group.delivery()
    this.#remove(delivery)
    if (delivery.attempts.length > 0) this.#drop(delivery)
    else this.#listener.ended(id, undefined)
  }

  /** Drops a repeat, or else a delivery with severity `info`. Critical alerts are accepted even without room. */
  #makeRoomFor({ notice }: NotificationItem): boolean {
    const isLesser = [
      ({ event }: DeliveryGroup['head']) => event === 'repeat',
      ({ severity, event }: DeliveryGroup['head']) => severity === 'info' && event !== 'digest',
    ]
    for (const test of isLesser) {
      for (const group of this.#open.values()) {
        if (!test(group.head) || this.#underWay.has(group.head.id)) continue
        this.#remove(group.head)
        this.#listener.dropped('queue_full', group.delivery())
        this.#drop(group.delivery())
        return true
      }
    }
    return notice.severity === 'critical'
  }

  #put(delivery: Delivery): void {
    const group = new DeliveryGroup(delivery)
    this.#members += group.size - (this.#open.get(delivery.id)?.size ?? 0)
    this.#open.set(delivery.id, group)
    for (const { alertId } of delivery.members) this.#waiting.set(alertId, delivery.id)
    this.#noteChanged(group)
  }

  #noteChanged(group: DeliveryGroup): void {
    this.#quietUntil = 0
    this.#listener.changed(group)
  }

  /** Marks a removed delivery as dropped. Nobody gets it. */
  #drop(delivery: Delivery): void {
    this.#listener.ended(delivery.id, { ...delivery, state: 'dropped', nextAttemptAt: undefined })
  }

  #remove({ id }: Pick<Delivery, 'id'>): void {
    const kept = this.#open.get(id)
    if (kept === undefined) return
    this.#open.delete(id)
    this.#members -= kept.size
    for (const { alertId } of kept.delivery().members)
      if (this.#waiting.get(alertId) === id) this.#waiting.delete(alertId)
    const { key } = kept.head
    if (this.#joinable.get(key) === id) this.#joinable.delete(key)
  }
}

function urgencyOf({ severity }: Pick<Delivery, 'severity'>): number {
  return severity === 'critical' ? 0 : severity === 'warning' ? 1 : 2
}
