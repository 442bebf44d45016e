// The notifier tells channels of alerts. It takes the notices that moved alerts left, makes deliveries of them, sends these
// and notes the results. It is a service of the leader.
//
// - Deliveries are saved together with the removal of their notices, and sent afterwards. A crash at any point loses none,
//   and repeats at most those that were in flight, under the same ids.
// N2. A channel is told that an alert resolved if, and only if, it was told that the alert fires.
import type { AlertId, ChannelId } from '../../../schemas/ids.ts'
import type { DeliveryEvent } from '../../../schemas/vocabulary.ts'
import { acceptsNotice, type Channel, healthAfter, isActive } from '../../domain/alert/channel.ts'
import {
  applyAttempt,
  type Delivery,
  errorCodeOf,
  isFinal,
  type NotificationItem,
  restartDelivery,
  type SendResult,
  toFallback,
  withoutAlerts,
} from '../../domain/alert/delivery.ts'
import type { MessageAlert } from '../../domain/alert/message.ts'
import { decodeNotice, type Notice } from '../../domain/alert/notice.ts'
import { LIMITS } from '../../limits.ts'
import type { ChannelNotice } from '../../ports/alert-channels.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Notices } from '../../ports/notices.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { ChannelBook } from './channel-book.ts'
import { DeliveryQueue } from './delivery-queue.ts'
import type { DeliveryStore } from './delivery-store.ts'
import { TakenMoves } from './taken-moves.ts'

export type NotifierSignal =
  | {
      readonly kind: 'notified'
      readonly channelType: Channel['target']['kind']
      readonly event: DeliveryEvent
      readonly result: 'delivered' | 'retry' | 'failed' | 'gone'
      /** Time since the message was created. Undefined unless it was delivered. */
      readonly seconds: number | undefined
    }
  | { readonly kind: 'notifications_dropped'; readonly reason: string; readonly alerts: number }
  | { readonly kind: 'notifier_failed'; readonly error: unknown }
  | { readonly kind: 'notice_unreadable'; readonly error: unknown }

export interface NotifierPorts {
  readonly notices: Notices
  readonly book: ChannelBook
  readonly store: DeliveryStore
  readonly send: (channel: Channel, delivery: Delivery) => Promise<SendResult>
  readonly links: {
    readonly device: (id: string) => string
    readonly alert: (id: string) => string
  }
  readonly clock: Clock
  readonly schedule: Schedule
  readonly dice: () => number
  readonly pollMs?: number | undefined
  readonly signal: (signal: NotifierSignal) => void
}

export class Notifier {
  readonly #ports: NotifierPorts
  readonly #queues = new Map<ChannelId, DeliveryQueue>()
  readonly #taken = new TakenMoves()
  #stop: (() => void) | undefined
  #isProcessing = false
  #isClosed = false

  constructor(ports: NotifierPorts) {
    this.#ports = ports
  }

  async open(): Promise<void> {
    const { store, schedule, clock, pollMs = LIMITS.noticesPollMs } = this.#ports
    for (const delivery of await store.open()) {
      this.#taken.restore(delivery)
      const queue = this.#queueOf(delivery.channelId)
      if (!isFinal(delivery)) queue.restore(delivery)
      for (const { at } of delivery.attempts) queue.restoreSent(delivery, at, clock.now())
    }
    // Reading changes nothing, so this save only marks the read deliveries as saved.
    await store.save()
    this.#stop = schedule.every(pollMs, () => this.poll())
  }

  close(): void {
    this.#isClosed = true
    this.#stop?.()
    this.#ports.store.close()
  }

  /** How many alerts wait to be sent. */
  waiting(): number {
    return [...this.#queues.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** Takes the notices that shards left, and sends what is due. */
  poll(): void {
    if (this.#isClosed) return
    if (!this.#isProcessing && this.#ports.notices.noticeCounts().waiting > 0) void this.#processNotices()
    this.#sendDue()
  }

  /** The deliveries of a channel, newest first. */
  async deliveries(
    id: ChannelId,
    { offset, limit }: { readonly offset: number; readonly limit: number },
  ): Promise<{ readonly deliveries: readonly Delivery[]; readonly total: number }> {
    const open = this.#queues.get(id)?.ids() ?? []
    const ids = [...this.#ports.store.finishedOf(id), ...open].reverse()
    const page = ids.slice(offset, offset + limit)
    const read = await Promise.all(page.map((each) => this.#find(id, each)))
    return { deliveries: read.filter((each) => each !== undefined), total: ids.length }
  }

  /** The channels that were told of each of these alerts. */
  notified(alertIds: readonly AlertId[]): readonly (readonly ChannelNotice[])[] {
    return alertIds.map((id) => this.#ports.store.notifiedOf(id))
  }

  /** Sends a finished delivery once more, under the same ids. Undefined if there is no such delivery. */
  async redeliver(id: string): Promise<Delivery | undefined> {
    const { store, clock, book } = this.#ports
    const delivery = await store.read(id)
    if (delivery === undefined || book.get(delivery.channelId) === undefined) return undefined
    if (!isFinal(delivery)) return delivery
    const again = restartDelivery(delivery, clock.now())
    this.#queueOf(delivery.channelId).put(again)
    await this.#saveDeliveries()
    return again
  }

  /** Keeps a delivery that did not go through a queue, such as a test. */
  async note(delivery: Delivery): Promise<void> {
    this.#ports.store.put(delivery.id, delivery)
    await this.#saveDeliveries()
  }

  async #find(channelId: ChannelId, id: string): Promise<Delivery | undefined> {
    return this.#queues.get(channelId)?.find(id) ?? (await this.#ports.store.read(id))
  }

  async #processNotices(): Promise<void> {
    const { notices, store, schedule, signal } = this.#ports
    this.#isProcessing = true
    try {
      const taken = await notices.notices(LIMITS.noticesTakenMax)
      for (let from = 0; from < taken.length; from += LIMITS.noticesAtOnceMax) {
        // In a storm, other work only waits for one part of the notices.
        if (from > 0) await schedule.sleep(0)
        if (this.#isClosed) return
        this.#processNow(taken.slice(from, from + LIMITS.noticesAtOnceMax))
      }
      store.forget(this.#ports.clock.now() - LIMITS.deliveriesKeptMs)
      await store.save()
    } catch (error) {
      // The next poll tries again shortly after.
      signal({ kind: 'notifier_failed', error })
      return
    } finally {
      this.#isProcessing = false
    }
    this.poll()
  }

  /** Runs without a pause, so that every save has both the deliveries of a notice and its removal. */
  #processNow(notices: Awaited<ReturnType<Notices['notices']>>): void {
    for (const { bytes } of notices) this.#enqueue(bytes)
    this.#ports.store.removeNotices(notices.map(({ key }) => key))
  }

  #enqueue(bytes: Uint8Array): void {
    let notice: Notice
    try {
      notice = decodeNotice(bytes)
    } catch (error) {
      this.#ports.signal({ kind: 'notice_unreadable', error })
      return
    }
    if (!this.#taken.take(notice)) return
    const toldAlert = () => this.#templateValuesOf(notice)
    const item: NotificationItem = {
      notice,
      get told() {
        return toldAlert()
      },
    }
    if (notice.event === 'resolved') this.#enqueueEnd(item)
    else if (notice.suppressedBy.length === 0) this.#enqueueNews(item)
  }

  #enqueueNews(item: NotificationItem): void {
    const { store } = this.#ports
    const { notice } = item
    const told = new Set(store.notifiedChannelsOf(notice.alertId))
    for (const channel of this.#ports.book.all()) {
      if (acceptsNotice(channel, notice)) this.#add(item, channel, told)
    }
    store.setNotifiedChannels(notice.alertId, told)
  }

  /** Tells the end to each channel that was or will be told that the alert fires, whatever the rule says now (N2). */
  #enqueueEnd(item: NotificationItem): void {
    const { store, book, clock } = this.#ports
    const { alertId, sendResolved } = item.notice
    for (const id of store.notifiedChannelsOf(alertId)) {
      const channel = book.get(id)
      if (channel === undefined || !(channel.sendResolved ?? sendResolved)) continue
      this.#queueOf(id).add(item, channel, clock.now())
    }
    store.setNotifiedChannels(alertId, new Set())
  }

  #add(item: NotificationItem, channel: Channel, told: Set<ChannelId>): void {
    const { clock, book } = this.#ports
    const isQueued = this.#queueOf(channel.id).add(item, channel, clock.now())
    if (isQueued) told.add(channel.id)
    // A failing channel keeps trying, and its fallback is told at once.
    const fallback = channel.health.state === 'failing' ? this.#fallbackOf(channel) : undefined
    if (fallback === undefined || told.has(fallback.id) || book.get(fallback.id) === undefined) return
    if (this.#queueOf(fallback.id).add(item, fallback, clock.now())) told.add(fallback.id)
  }

  #sendDue(): void {
    const { book, clock, store } = this.#ports
    const now = clock.now()
    let room = LIMITS.deliveriesInFlightMax - this.#underWay()
    for (const [id, queue] of this.#queues) {
      if (queue.size === 0) continue
      const channel = book.get(id)
      if (channel === undefined || !isActive(channel)) {
        queue.drop(now)
        continue
      }
      const isSaved = (delivery: string) => store.isSaved(delivery)
      const begun = queue.next(channel, now, { isSaved, room })
      room -= begun.length
      for (const delivery of begun) void this.#deliver(channel, delivery, queue)
    }
    // Not while notices are taken: a delivery that collects thousands of alerts is written as a whole with each save.
    if (!this.#isProcessing) void this.#saveDeliveries()
  }

  #underWay(): number {
    return [...this.#queues.values()].reduce((sum, { underWay }) => sum + underWay, 0)
  }

  async #deliver(channel: Channel, delivery: Delivery, queue: DeliveryQueue): Promise<void> {
    const { clock, send, dice, signal, book } = this.#ports
    const startedAt = clock.now()
    const began = clock.ticks()
    const result = await send(channel, delivery)
    if (this.#isClosed) return
    const now = clock.now()
    const latencyMs = Math.round(clock.ticks() - began)
    // The channel may have been edited while the delivery was in flight.
    const health = book.get(channel.id)?.health ?? channel.health
    const isFailing = health.state === 'failing'
    const after = applyAttempt(delivery, result, { startedAt, now, latencyMs, dice: dice(), isFailing })
    queue.settle(after.delivery, after.outcome !== 'retry')
    const seconds = after.outcome === 'delivered' ? (now - delivery.createdAt) / 1_000 : undefined
    signal({
      kind: 'notified',
      channelType: channel.target.kind,
      event: delivery.event,
      result: after.outcome,
      seconds,
    })
    const isPartial = result.kind === 'partial'
    if (after.outcome === 'failed' || after.outcome === 'gone')
      this.#passOn(channel, after.delivery, { isPartial })
    await this.#judgeHealth(channel, result, isPartial ? 'partial' : after.outcome)
    this.poll()
  }

  /** Passes a delivery that failed for good to the fallback channel. */
  #passOn(channel: Channel, delivery: Delivery, { isPartial }: { readonly isPartial: boolean }): void {
    const fallback = this.#fallbackOf(channel)
    const isFallbackItself = delivery.id.split('_ch_').length > 2
    const passed = fallback === undefined || isFallbackItself ? undefined : this.#passedTo(fallback, delivery)
    this.#noteLost(channel.id, delivery, { isPartial, passedTo: passed?.channelId })
    if (passed !== undefined) this.#queueOf(passed.channelId).put(passed)
  }

  /** The channel did not take this delivery. It counts as not told, unless it took an earlier message of the alert, or some of
   *  its receivers took this one (N2). */
  #noteLost(
    id: ChannelId,
    { members }: Delivery,
    {
      isPartial = false,
      passedTo,
    }: { readonly isPartial?: boolean; readonly passedTo?: ChannelId | undefined },
  ): void {
    const { store } = this.#ports
    for (const { alertId, event } of members) {
      if (event === 'resolved') continue
      const told = new Set(store.notifiedChannelsOf(alertId))
      if (!told.has(id)) continue
      if (!isPartial && !store.hasArrived(alertId, id)) told.delete(id)
      if (passedTo !== undefined) told.add(passedTo)
      store.setNotifiedChannels(alertId, told)
    }
  }

  /** The delivery for the fallback channel, without alerts whose end that channel is told of by itself. */
  #passedTo({ id }: Channel, delivery: Delivery): Delivery | undefined {
    const { store, clock } = this.#ports
    const isTold = (alertId: AlertId) =>
      store.notifiedOf(alertId).some(({ channelId, event }) => channelId === id && event === 'resolved')
    const ended = delivery.members.filter(({ event }) => event === 'resolved').map(({ alertId }) => alertId)
    const left = withoutAlerts(delivery, new Set(ended.filter(isTold)))
    return left && toFallback(left, id, clock.now())
  }

  #fallbackOf({ fallbackChannelId }: Channel): Channel | undefined {
    const fallback = fallbackChannelId === undefined ? undefined : this.#ports.book.get(fallbackChannelId)
    return fallback !== undefined && isActive(fallback) ? fallback : undefined
  }

  async #judgeHealth(
    { id }: Channel,
    result: SendResult,
    outcome: Parameters<typeof healthAfter>[1],
  ): Promise<void> {
    const { book, clock, signal } = this.#ports
    const lastError = { code: errorCodeOf(result) ?? '', at: clock.now() }
    try {
      await book.changeHealth(id, (health) => healthAfter(health, outcome, lastError))
    } catch (error) {
      signal({ kind: 'notifier_failed', error })
    }
  }

  async #saveDeliveries(): Promise<void> {
    try {
      await this.#ports.store.save()
    } catch (error) {
      this.#ports.signal({ kind: 'notifier_failed', error })
    }
  }

  #queueOf(id: ChannelId): DeliveryQueue {
    const known = this.#queues.get(id)
    if (known !== undefined) return known
    const { store, signal } = this.#ports
    const queue = new DeliveryQueue({
      changed: (group) => store.putOpen(group),
      ended: (delivery, ended) => store.put(delivery, ended),
      dropped: (reason, delivery) => {
        const alerts = delivery?.members.length ?? 1
        signal({ kind: 'notifications_dropped', reason, alerts })
        if (delivery !== undefined) this.#noteLost(id, delivery, {})
      },
    })
    this.#queues.set(id, queue)
    return queue
  }

  #templateValuesOf(notice: Notice): MessageAlert {
    const { event, ruleId, ruleName, severity, message, alert, device, alertId } = notice
    const { links } = this.#ports
    const link = device === undefined ? links.alert(alertId) : links.device(device.id)
    return {
      ...{ event, ruleId, ruleName, severity, message },
      alert: { ...alert, alert_id: alertId, message, link },
      device: device && { ...device, link: links.device(device.id) },
    }
  }
}
