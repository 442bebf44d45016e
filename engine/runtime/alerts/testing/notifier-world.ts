// A leader's notifications over a store in memory, in simulated time, with receivers that answer as a test says. `crash`
// ends them between any two steps, and new ones begin with what was saved.
import { AlertId, ChannelId, Millis, RuleId } from '../../../../schemas/ids.ts'
import { MemoryStore } from '../../../adapters/store/testing/memory.ts'
import type { ChannelSettings } from '../../../domain/alert/channel.ts'
import type { Delivery, SendResult } from '../../../domain/alert/delivery.ts'
import { encodeNotice, type Notice, noticeKey } from '../../../domain/alert/notice.ts'
import { partitionOf } from '../../../domain/partition.ts'
import type { FeedEvent } from '../../../ports/feed.ts'
import type { OutboundRequest } from '../../../ports/http-out.ts'
import { NO_SAVE } from '../../../ports/store.ts'
import { SimTime } from '../../../testing/time.ts'
import { Notifications } from '../notifications.ts'
import type { NotifierSignal } from '../notifier.ts'

export const START = Millis(Date.UTC(2026, 10, 22, 14))

export interface ReceivedPost {
  readonly at: number
  readonly url: string
  readonly id: string
  readonly type: string
  readonly alertIds: readonly string[]
  readonly total: number
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

export type Answer = (request: OutboundRequest) => Promise<SendResult> | SendResult

export const OK: SendResult = { kind: 'answered', status: 200, retryAfterSec: undefined }
export const answered = (status: number, retryAfterSec?: number): SendResult => ({
  kind: 'answered',
  status,
  retryAfterSec,
})

export class NotifierWorld {
  readonly time = new SimTime(START)
  readonly store = new MemoryStore({ partitionOf })
  readonly received: ReceivedPost[] = []
  readonly signals: NotifierSignal[] = []
  readonly feed: FeedEvent[] = []
  /** How receivers answer. */
  answer: Answer = () => OK
  /** How many saves fail before they are carried out. */
  failingSaves = 0
  #incarnation = this.time.newIncarnation()
  readonly #pollMs: number
  /** Saves for shards, whose saves never fail. */
  readonly #save: MemoryStore['save']
  #notifications: Notifications

  constructor({ pollMs = 100 } = {}) {
    this.#pollMs = pollMs
    this.#notifications = this.#make()
    this.#save = this.store.save.bind(this.store)
    this.store.save = async (what) => {
      if (this.failingSaves-- > 0) throw new Error('the disk is full')
      this.failingSaves = 0
      await this.#save(what)
    }
  }

  get notifications(): Notifications {
    return this.#notifications
  }

  async open(): Promise<void> {
    await this.#notifications.open()
  }

  /** Ends the notifications suddenly and begins new ones. */
  async crash(): Promise<void> {
    this.failingSaves = 0
    this.#incarnation.end()
    this.#notifications.close()
    this.#incarnation = this.time.newIncarnation()
    this.#notifications = this.#make()
    await this.#notifications.open()
  }

  async channel(id: string, settings: Partial<ChannelSettings> = {}): Promise<ChannelId> {
    const made = await this.#notifications.call({
      op: 'create',
      id: ChannelId(id),
      by: 'usr_1',
      settings: { ...channelSettings(id), ...settings },
    })
    if (made.kind !== 'channel') throw new Error(`no channel: ${made.kind}`)
    return ChannelId(id)
  }

  /** Saves notices as shards do when an alert moves. */
  async notice(notices: readonly Notice[]): Promise<void> {
    await this.#save({
      ...NO_SAVE,
      notices: notices.map((notice) => ({ key: noticeKey(notice), bytes: encodeNotice(notice) })),
    })
  }

  at(notice: Partial<Notice>): Notice {
    return aNotice({ at: this.time.now(), ...notice })
  }

  advance(ms: number): Promise<void> {
    return this.time.advance(ms)
  }

  async deliveries(id: ChannelId): Promise<readonly Delivery[]> {
    const found = await this.#notifications.call({ op: 'deliveries', id, offset: 0, limit: 1_000 })
    return found.kind === 'deliveries' ? found.deliveries : []
  }

  /** The alerts in the messages received, each with its event. */
  told(): readonly string[] {
    return this.received.flatMap(({ type, alertIds }) =>
      alertIds.map((id) => `${id} ${type.replace('alert.', '')}`),
    )
  }

  #make(): Notifications {
    return new Notifications({
      store: this.store,
      claims: [],
      outbound: {
        http: { judge: async () => ({ kind: 'allowed' }), send: (request) => this.#receive(request) },
        mail: undefined,
        links: {
          device: (id) => `https://fleet.example.com/devices/${id}`,
          alert: (id) => `https://x/alerts/${id}`,
        },
        userAgent: 'fleet/test',
      },
      clock: this.time,
      systemNow: () => this.time.now(),
      schedule: this.#incarnation.schedule,
      dice: () => 0.5,
      pollMs: this.#pollMs,
      rulesUsing: async () => [],
      signal: (signal) => this.signals.push(signal),
      publish: (events) => this.feed.push(...events),
    })
  }

  async #receive(request: OutboundRequest): Promise<SendResult> {
    // The usual body of a webhook has these fields.
    const body = JSON.parse(request.body) as {
      readonly type: string
      readonly data: { readonly alerts: readonly { readonly alert_id: string }[]; readonly total: number }
    }
    this.received.push({
      at: this.time.now() - START,
      url: request.url,
      id: request.headers['webhook-id'] ?? '',
      type: body.type,
      alertIds: body.data.alerts.map(({ alert_id }) => alert_id),
      total: body.data.total,
      body: request.body,
      headers: request.headers,
    })
    return this.answer(request)
  }
}

/** A channel for everything, without waiting for more. */
export function channelSettings(id: string): ChannelSettings {
  return {
    ...{ name: id, enabled: true, severity: ['info', 'warning', 'critical'], isDefault: true },
    ...{ group: undefined, groupWaitSec: 0, groupIntervalSec: 0, ratePerMinute: 600 },
    ...{ fallbackChannelId: undefined, sendResolved: undefined, target: webhookTarget(id) },
  }
}

export function webhookTarget(id: string): ChannelSettings['target'] {
  return {
    kind: 'webhook',
    url: `https://${id}.example.com/`,
    method: 'POST',
    headers: {},
    template: undefined,
    secret: '',
    former: undefined,
  }
}

export function aNotice(notice: Partial<Notice> = {}): Notice {
  const alertId = notice.alertId ?? AlertId('alt_1')
  const at = notice.at ?? START
  const resolvedAt = notice.event === 'resolved' ? new Date(at).toISOString() : null
  return {
    alertId,
    ruleId: RuleId('rul_1'),
    ruleName: 'battery low',
    event: 'fired',
    revision: notice.event === 'resolved' ? 2 : 1,
    at,
    severity: 'warning',
    highestSeverity: notice.severity ?? 'warning',
    channels: undefined,
    groupBy: 'none',
    sendResolved: true,
    message: 'battery low',
    suppressedBy: [],
    alert: {
      alert_id: alertId,
      type: 'threshold',
      value: 1,
      threshold: 2,
      fired_at: '2026-11-22T14:00:00.000Z',
      resolved_at: resolvedAt,
    },
    device: { id: 'pump', name: 'Pump', type: 'mqtt_device', group: 'north/hall' },
    ...notice,
  }
}
