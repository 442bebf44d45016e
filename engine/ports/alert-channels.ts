// Alert channels as the API sees them. Their records are kept by the leader.
import type { AlertId, ChannelId, Millis } from '../../schemas/ids.ts'
import type { DeliveryState } from '../../schemas/vocabulary.ts'

import type { Channel, ChannelSettings } from '../domain/alert/channel.ts'
import type { Delivery, SendResult } from '../domain/alert/delivery.ts'
import type { NoticeEvent } from '../domain/alert/notice.ts'
import type { EngineRefusal } from './engine-refusal.ts'

export type ChannelCall =
  | { readonly op: 'list' }
  | { readonly op: 'create'; readonly id: ChannelId; readonly settings: ChannelSettings; readonly by: string }
  /** `revision`: the channel is replaced only if it still has this revision. */
  | {
      readonly op: 'replace'
      readonly id: ChannelId
      readonly settings: ChannelSettings
      readonly revision: number
    }
  | { readonly op: 'remove'; readonly id: ChannelId; readonly force: boolean }
  | { readonly op: 'test'; readonly id: ChannelId; readonly name: string }
  | { readonly op: 'rotate'; readonly id: ChannelId }
  | { readonly op: 'deliveries'; readonly id: ChannelId; readonly offset: number; readonly limit: number }
  | { readonly op: 'redeliver'; readonly deliveryId: string }
  /** Asks which channels were told of these alerts. */
  | { readonly op: 'notified'; readonly alertIds: readonly AlertId[] }

/** What one channel was told of an alert. */
export interface ChannelNotice {
  readonly channelId: ChannelId
  readonly event: NoticeEvent
  readonly at: Millis
  readonly state: DeliveryState
}

export interface TestResult {
  readonly result: SendResult
  readonly latencyMs: number
}

/** What each call answers unless it is refused. */
export interface ChannelAnswers {
  readonly list: { readonly kind: 'channels'; readonly channels: readonly Channel[] }
  readonly create: { readonly kind: 'channel'; readonly channel: Channel }
  readonly replace: { readonly kind: 'channel'; readonly channel: Channel }
  readonly remove: { readonly kind: 'removed' }
  readonly test: { readonly kind: 'tested' } & TestResult
  readonly rotate: { readonly kind: 'channel'; readonly channel: Channel }
  readonly deliveries: {
    readonly kind: 'deliveries'
    readonly deliveries: readonly Delivery[]
    readonly total: number
  }
  /** Sorted like `alertIds`. */
  readonly notified: { readonly kind: 'notified'; readonly alerts: readonly (readonly ChannelNotice[])[] }
  readonly redeliver: { readonly kind: 'delivery'; readonly delivery: Delivery }
}

export type ChannelAnswer<Call extends ChannelCall = ChannelCall> = ChannelAnswers[Call['op']] | EngineRefusal
