// The messages sent to a device on `command`.
import { CommandId, type Millis, toIso } from '../../../schemas/ids.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { type DownlinkMessage, toDownlink } from '../downlink.ts'
import type { Command, Notice } from './record.ts'

/** The two messages about a command: the command itself, and the notice that cancels it. */
export type SendKind = 'command' | 'cancel'

const CANCEL = '$cancel'
const CANCEL_ID_SUFFIX = '_cancel'

/** `timeout_ms` is the timeout as the caller gave it, even if the message is sent late; `expires_at` is when it ends. */
export function commandMessage(command: Command): DownlinkMessage {
  const { id, name, data, expiresAt, timeoutSec } = command
  const lasts = { timeout_ms: timeoutSec * 1_000, expires_at: toIso(expiresAt) }
  return toMessage(command, { request_id: id, command: name, data, ...lasts })
}

/** The notice has its own `request_id`, because devices drop ids that they have already seen. */
export function cancelMessage(command: Command, notice: Notice, now: Millis): DownlinkMessage {
  const request = { request_id: `${command.id}${CANCEL_ID_SUFFIX}`, command: CANCEL }
  return toMessage(command, {
    ...request,
    data: { request_id: command.id },
    timeout_ms: Math.max(1, notice.expiresAt - now),
    expires_at: toIso(notice.expiresAt),
  })
}

/** True if the device answers the notice itself, which says nothing about the command. */
export function isCancelId(requestId: string): boolean {
  return requestId.endsWith(CANCEL_ID_SUFFIX)
}

/** Finds the message that a device acknowledged by this id. */
export function toDelivered(requestId: string): {
  readonly commandId: CommandId
  readonly message: SendKind
} {
  if (!isCancelId(requestId)) return { commandId: CommandId(requestId), message: 'command' }
  return { commandId: CommandId(requestId.slice(0, -CANCEL_ID_SUFFIX.length)), message: 'cancel' }
}

function toMessage({ priority, createdAt }: Command, body: JsonObject): DownlinkMessage {
  const qos = priority === 'critical' ? 2 : 1
  return toDownlink('command', { ...body, priority, issued_at: toIso(createdAt) }, { qos })
}
