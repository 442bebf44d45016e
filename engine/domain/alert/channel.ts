// Where alerts are told of.
import type { ChannelId, Millis } from '../../../schemas/ids.ts'
import type { Json } from '../../../schemas/json.ts'
import type { AlertSeverity, ChannelState, ChatFormat } from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import type { Notice } from './notice.ts'

export type ChannelTarget =
  | {
      readonly kind: 'chat_webhook'
      readonly webhookUrl: string
      readonly channel: string | undefined
      readonly format: ChatFormat
    }
  | {
      readonly kind: 'webhook'
      readonly url: string
      readonly method: 'POST' | 'PUT' | 'PATCH'
      readonly headers: Readonly<Record<string, string>>
      /** A JSON text, or undefined for the usual body. */
      readonly template: string | undefined
      readonly secret: string
      /** The secret before the last rotation: it signs, too, for a while. */
      readonly former: { readonly secret: string; readonly until: Millis } | undefined
    }
  | { readonly kind: 'email'; readonly to: readonly string[]; readonly subject: string | undefined }

/** What a user decides. */
export interface ChannelSettings {
  readonly name: string
  readonly enabled: boolean
  readonly severity: readonly AlertSeverity[]
  readonly isDefault: boolean
  readonly group: string | undefined
  /** Critical alerts never wait for others. */
  readonly groupWaitSec: number
  readonly groupIntervalSec: number
  readonly ratePerMinute: number
  readonly fallbackChannelId: ChannelId | undefined
  /** Undefined leaves it to the rules. */
  readonly sendResolved: boolean | undefined
  readonly target: ChannelTarget
}

export interface ChannelHealth {
  readonly state: ChannelState
  readonly lastError: { readonly code: string; readonly at: Millis } | undefined
  /** Deliveries in a row that failed for good. */
  readonly failures: number
}

export interface Channel extends ChannelSettings {
  readonly id: ChannelId
  readonly health: ChannelHealth
  readonly createdAt: Millis
  readonly createdBy: string
  readonly updatedAt: Millis
  /** Grows with every edit. It is the ETag. */
  readonly revision: number
}

export const HEALTHY: ChannelHealth = { state: 'ok', lastError: undefined, failures: 0 }

/** Whether the channel is told of this, if the rule leaves it to the channels or names it. */
export function takes(channel: Channel, notice: Notice): boolean {
  const { channels, highestSeverity, device } = notice
  const isMeant = channels === undefined ? channel.isDefault : channels.includes(channel.id)
  return (
    isMeant &&
    isOpen(channel) &&
    channel.severity.includes(highestSeverity) &&
    (channel.group === undefined || isBelow(device?.group ?? groupOf(notice.alert['group']), channel.group))
  )
}

/** What a channel's health is after a delivery, or a try of one, ended. */
export function healthAfter(
  health: ChannelHealth,
  outcome: 'delivered' | 'retry' | 'failed' | 'gone',
  lastError: NonNullable<ChannelHealth['lastError']>,
): ChannelHealth {
  const failures = health.failures + 1
  switch (outcome) {
    case 'retry':
      return health
    case 'delivered':
      return isWell(health) ? health : { ...HEALTHY, lastError: health.lastError }
    case 'gone':
      return { state: 'disabled', lastError, failures }
    case 'failed':
      return {
        state: failures >= LIMITS.channelFailuresMax ? 'failing' : health.state,
        ...{ lastError, failures },
      }
  }
}

function isWell({ state, failures }: ChannelHealth): boolean {
  return failures === 0 && state !== 'failing'
}

/** What everybody sees of it. One that an admin turned off is as disabled as one whose address is gone. */
export function shownState({ enabled, health }: Channel): ChannelHealth['state'] {
  return enabled ? health.state : 'disabled'
}

export function isOpen(channel: Channel): boolean {
  return shownState(channel) !== 'disabled'
}

function isBelow(group: string | undefined, subtree: string): boolean {
  return group !== undefined && (group === subtree || group.startsWith(`${subtree}/`))
}

function groupOf(group: Json | undefined): string | undefined {
  return typeof group === 'string' ? group : undefined
}
