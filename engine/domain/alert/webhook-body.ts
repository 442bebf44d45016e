// The body of a webhook that has no template of its own.
import { toIso } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { AlertMessage, MessageAlert } from './message.ts'

export function webhookBody(message: AlertMessage): JsonObject {
  const { notificationId, event, at, told, total, rules } = message
  const [first] = told
  return {
    type: `alert.${event}`,
    timestamp: toIso(at),
    data: {
      notification_id: notificationId,
      alert: first.alert,
      device: deviceOf(first),
      rule: { id: first.ruleId, name: first.ruleName },
      alerts: told.map(({ alert }) => alert),
      total,
      ...(event === 'digest'
        ? { rules: rules.map(({ name, fired, resolved }) => ({ name, fired, resolved })) }
        : {}),
    },
  }
}

function deviceOf({ device }: MessageAlert): JsonObject | null {
  if (device === undefined) return null
  const { id, name, type, group, link } = device
  return { id, name, type, group: group ?? null, link }
}
