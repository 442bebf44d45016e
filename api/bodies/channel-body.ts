// Channels and deliveries as REST shows them. Secrets are masked, and a mask that is sent back stands for its secret.
import { type Channel, publicState } from '../../engine/domain/alert/channel.ts'
import type { Delivery } from '../../engine/domain/alert/delivery.ts'
import type { PublicChannel } from '../../engine/ports/feed.ts'
import type { ChannelBody, DeliveryBody } from '../../schemas/alert-channel.ts'
import { toIso } from '../../schemas/ids.ts'
import { isoOrNull } from './iso-or-null.ts'

export const MASK = '••••'

export function maskedUrl(url: string): string {
  const { protocol, host } = new URL(url)
  return `${protocol}//${host}/…`
}

/** The fields that everybody may see. */
export function channelSummary(channel: Channel): ChannelBody {
  const { id, name, target, severity } = channel
  return { channel_id: id, name, type: target.kind, severity: [...severity], state: publicState(channel) }
}

/** The fields sent to everybody when the state of a channel changes. */
export function publicChannelBody({ id, name, type, severity, state }: PublicChannel): ChannelBody {
  return { channel_id: id, name, type, severity: [...severity], state }
}

/** The fields that admins see. The secret of a webhook is shown once, to the admin who created it. */
export function channelBody(channel: Channel, { showsSecret = false } = {}): ChannelBody {
  const { health, target } = channel
  return {
    ...channelSummary(channel),
    enabled: channel.enabled,
    default: channel.isDefault,
    group: channel.group ?? null,
    group_wait_sec: channel.groupWaitSec,
    group_interval_sec: channel.groupIntervalSec,
    rate_per_minute: channel.ratePerMinute,
    fallback_channel_id: channel.fallbackChannelId ?? null,
    send_resolved: channel.sendResolved ?? null,
    last_error:
      health.lastError === undefined ? null : { ...health.lastError, at: toIso(health.lastError.at) },
    ...targetBody(target, showsSecret),
    created_at: toIso(channel.createdAt),
    created_by: channel.createdBy,
    updated_at: toIso(channel.updatedAt),
    etag: String(channel.revision),
  }
}

export function deliveryBody(delivery: Delivery): DeliveryBody {
  const { id, notificationId, channelId, event, members, state, attempts, nextAttemptAt, createdAt } =
    delivery
  return {
    delivery_id: id,
    notification_id: notificationId,
    channel_id: channelId,
    event,
    alert_ids: members.map(({ alertId }) => alertId),
    state,
    attempts: attempts.map(({ at, statusCode, errorCode, latencyMs }) => ({
      at: toIso(at),
      status_code: statusCode ?? null,
      error_code: errorCode ?? null,
      latency_ms: latencyMs,
    })),
    next_attempt_at: isoOrNull(nextAttemptAt),
    created_at: toIso(createdAt),
  }
}

function targetBody(target: Channel['target'], showsSecret: boolean): Partial<ChannelBody> {
  switch (target.kind) {
    case 'chat_webhook':
      return {
        webhook_url: maskedUrl(target.webhookUrl),
        channel: target.channel ?? null,
        format: target.format,
      }
    case 'webhook': {
      const { url, method, template, headers } = target
      const masked = Object.fromEntries(Object.keys(headers).map((name) => [name, MASK]))
      const secret = showsSecret ? target.secret : MASK
      return { url, method, headers: masked, template: template ?? null, secret }
    }
    case 'email':
      return { to: [...target.to], subject: target.subject ?? null }
  }
}
