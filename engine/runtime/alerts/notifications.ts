// The channels and the notifier together: a service of the leader, and the answers to the API's calls.
import type { ChannelId, Millis } from '../../../schemas/ids.ts'
import { type Channel, publicState } from '../../domain/alert/channel.ts'
import {
  beginDelivery,
  type Delivery,
  errorCodeOf,
  messageOf,
  statusOf,
} from '../../domain/alert/delivery.ts'
import { sampleItem } from '../../domain/alert/sample.ts'
import { unreachable } from '../../domain/unreachable.ts'
import { LIMITS } from '../../limits.ts'
import type { ChannelAnswer, ChannelCall } from '../../ports/alert-channels.ts'
import type { Clock } from '../../ports/clock.ts'
import type { EngineRefusal } from '../../ports/engine-refusal.ts'
import { type FeedEvent, FLEET } from '../../ports/feed.ts'
import type { Outbound } from '../../ports/outbound.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Claim, Store } from '../../ports/store.ts'
import { ChannelBook } from './channel-book.ts'
import { sendToChannel } from './channel-sender.ts'
import { DeliveryStore } from './delivery-store.ts'
import { Notifier, type NotifierSignal } from './notifier.ts'

export interface NotificationsPorts {
  readonly store: Store
  readonly claims: readonly Claim[]
  readonly outbound: Outbound
  readonly clock: Clock
  /** The system's time, which receivers compare with theirs. */
  readonly systemNow: () => Millis
  readonly schedule: Schedule
  readonly dice: () => number
  /** The time between two polls for due deliveries. Default: `LIMITS.noticesPollMs`. */
  readonly pollMs?: number
  readonly rulesUsing: (id: ChannelId) => Promise<readonly string[]>
  readonly signal: (signal: NotifierSignal) => void
  readonly publish: (events: readonly FeedEvent[]) => void
}

const MINUTE_MS = 60_000

function channelMoved(channel: Channel, at: Millis): FeedEvent {
  const { id, name, severity, group, target } = channel
  const news = { id, name, severity, group, type: target.kind, state: publicState(channel) }
  return { kind: 'alert_channel', event: 'channel.state', deviceId: FLEET, at, channel: news }
}

export class Notifications {
  readonly #ports: NotificationsPorts
  readonly #book: ChannelBook
  readonly #notifier: Notifier
  /** The times of each channel's tests within the last minute. */
  readonly #testedAt = new Map<ChannelId, readonly Millis[]>()

  constructor(ports: NotificationsPorts) {
    const { store, claims, clock, schedule, outbound, signal, dice, pollMs, rulesUsing, publish } = ports
    const failed = (error: unknown) => signal({ kind: 'notifier_failed', error })
    this.#ports = ports
    this.#book = new ChannelBook({
      ...{ store, claims, clock, rulesUsing },
      http: outbound.http,
      hasMail: outbound.mail !== undefined,
      moved: (channel) => publish([channelMoved(channel, clock.now())]),
    })
    this.#notifier = new Notifier({
      notices: store,
      book: this.#book,
      store: new DeliveryStore({ store, claims, schedule, failed }),
      send: (channel, delivery) => this.#send(channel, delivery),
      links: outbound.links,
      ...{ clock, schedule, dice, signal, pollMs },
    })
  }

  async open(): Promise<void> {
    await this.#book.open()
    await this.#notifier.open()
  }

  close(): void {
    this.#notifier.close()
  }

  /** How many alerts wait to be sent. */
  waiting(): number {
    return this.#notifier.waiting()
  }

  async call(call: ChannelCall): Promise<ChannelAnswer> {
    switch (call.op) {
      case 'list':
        return { kind: 'channels', channels: this.#book.all() }
      case 'create':
        return this.#book.create(call.id, call.settings, call.by)
      case 'replace':
        return this.#book.replace(call.id, call.settings, call.revision)
      case 'rotate':
        return this.#book.rotate(call.id)
      case 'remove':
        return this.#book.remove(call.id, call.force)
      case 'test':
        return this.#test(call.id, call.name)
      case 'deliveries': {
        if (this.#book.get(call.id) === undefined) return notFound('channel')
        return { kind: 'deliveries', ...(await this.#notifier.deliveries(call.id, call)) }
      }
      case 'redeliver': {
        const delivery = await this.#notifier.redeliver(call.deliveryId)
        return delivery === undefined ? notFound('delivery') : { kind: 'delivery', delivery }
      }
      case 'notified':
        return { kind: 'notified', alerts: this.#notifier.notified(call.alertIds) }
      default:
        return unreachable(call)
    }
  }

  /** Sends a sample at once, without regard to groups, rates or the channel's state. */
  async #test(id: ChannelId, name: string): Promise<ChannelAnswer> {
    const { clock, outbound, schedule } = this.#ports
    const channel = this.#book.get(id)
    if (channel === undefined) return notFound('channel')
    const now = clock.now()
    const recent = (this.#testedAt.get(id) ?? []).filter((at) => at > now - MINUTE_MS)
    const [oldest = now] = recent
    if (recent.length >= LIMITS.channelTestsPerMinute) {
      const retryAfter = Math.ceil((oldest + MINUTE_MS - now) / 1_000)
      return { kind: 'refused', code: 'RATE_LIMIT_EXCEEDED', detail: { retry_after_sec: retryAfter } }
    }
    this.#testedAt.set(id, [...recent, now])
    const begun = beginDelivery(sampleItem(name, outbound.links, now), { channelId: id, now, dueAt: now })
    const delivery: Delivery = { ...begun, event: 'test' }
    const began = clock.ticks()
    const late = schedule
      .sleep(LIMITS.channelTestMs)
      .then(() => ({ kind: 'failed', code: 'TIMEOUT' }) as const)
    const result = await Promise.race([this.#send(channel, delivery), late])
    const latencyMs = Math.round(clock.ticks() - began)
    const errorCode = errorCodeOf(result)
    await this.#notifier.note({
      ...delivery,
      state: errorCode === undefined ? 'delivered' : result.kind === 'blocked' ? 'blocked' : 'failed',
      attempts: [{ at: now, statusCode: statusOf(result), errorCode, latencyMs }],
      nextAttemptAt: undefined,
      finishedAt: clock.now(),
    })
    return { kind: 'tested', result, latencyMs }
  }

  #send(channel: Channel, delivery: Delivery) {
    const { outbound, systemNow } = this.#ports
    const message = messageOf(delivery, delivery.createdAt)
    return sendToChannel(outbound, channel, { message, userAgent: outbound.userAgent, now: systemNow() })
  }
}

function notFound(what: string): EngineRefusal {
  return { kind: 'refused', code: 'NOT_FOUND', detail: { message: `no such ${what}` } }
}
