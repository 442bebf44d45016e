// Channels: where notifications of alerts are sent.
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
      /** A JSON template, or undefined for the standard body. */
      readonly template: string | undefined
      readonly secret: string
      /** The secret before the last rotation. It also signs for a while. */
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
  /** Undefined: the rules decide. */
  readonly sendResolved: boolean | undefined
  readonly target: ChannelTarget
}

export interface ChannelHealth {
  readonly state: ChannelState
  readonly lastError: { readonly code: string; readonly at: Millis } | undefined
  /** Consecutive deliveries that failed for good. */
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

/** Whether the channel gets this notice, because the rule names it or leaves the choice to the channels. */
export function acceptsNotice(channel: Channel, notice: Notice): boolean {
  const { channels, highestSeverity, device } = notice
  const isSelected = channels === undefined ? channel.isDefault : channels.includes(channel.id)
  return (
    isSelected &&
    isActive(channel) &&
    channel.severity.includes(highestSeverity) &&
    (channel.group === undefined || isBelow(device?.group ?? groupOf(notice.alert['group']), channel.group))
  )
}

/** The health of a channel after a delivery, or one attempt, has ended. */
export function healthAfter(
  health: ChannelHealth,
  outcome: 'delivered' | 'partial' | 'retry' | 'failed' | 'gone',
  lastError: NonNullable<ChannelHealth['lastError']>,
): ChannelHealth {
  const failures = health.failures + 1
  switch (outcome) {
    case 'retry':
      return health
    case 'delivered':
      return isHealthy(health) ? health : { ...HEALTHY, lastError: health.lastError }
    case 'partial':
      return { ...HEALTHY, lastError }
    case 'gone':
      return { state: 'disabled', lastError, failures }
    case 'failed':
      return {
        state: failures >= LIMITS.channelFailuresMax ? 'failing' : health.state,
        ...{ lastError, failures },
      }
  }
}

function isHealthy({ state, failures }: ChannelHealth): boolean {
  return failures === 0 && state !== 'failing'
}

/** The part that everybody may see. A channel that an admin turned off and one whose address is gone are both `disabled`. */
export function publicState({ enabled, health }: Channel): ChannelHealth['state'] {
  return enabled ? health.state : 'disabled'
}

export function isActive(channel: Channel): boolean {
  return publicState(channel) !== 'disabled'
}

function isBelow(group: string | undefined, subtree: string): boolean {
  return group !== undefined && (group === subtree || group.startsWith(`${subtree}/`))
}

function groupOf(group: Json | undefined): string | undefined {
  return typeof group === 'string' ? group : undefined
}
