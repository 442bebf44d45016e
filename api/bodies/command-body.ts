// The body of a command in REST and /ws.

import type { Command, CommandResult } from '../../engine/domain/command/record.ts'
import { heldReason } from '../../engine/domain/command/send-order.ts'
import type { CommandBody } from '../../schemas/command.ts'
import { type DeviceId, toIso } from '../../schemas/ids.ts'
import type { DeviceStatus } from '../../schemas/vocabulary.ts'
import { isoOrNull } from './iso-or-null.ts'

/** The states of a device that may keep a command from being sent. */
export interface HoldingDevice {
  readonly status: DeviceStatus
  /** True while it installs firmware or restarts with it. */
  readonly isUpdating?: boolean
}

export function commandBody(
  deviceId: DeviceId,
  command: Command,
  device: HoldingDevice | undefined,
): CommandBody {
  const { delivery, progress, resultBytesOmitted } = command
  return {
    command_id: command.id,
    device_id: deviceId,
    command: command.name,
    data: command.data,
    status: command.status,
    held_reason: (device && heldReason(command, device.status, device.isUpdating === true)) ?? null,
    priority: command.priority,
    timeout_sec: command.timeoutSec,
    created_at: toIso(command.createdAt),
    created_by: command.createdBy,
    expires_at: toIso(command.expiresAt),
    delivered_at: isoOrNull(command.deliveredAt),
    acked_at: isoOrNull(command.ackedAt),
    completed_at: isoOrNull(command.completedAt),
    cancelled_at: isoOrNull(command.cancelledAt),
    cancelled_by: command.cancelledBy ?? null,
    progress: progress ?? null,
    ...resultBody(command),
    result_bytes_omitted: resultBytesOmitted ?? null,
    attempts: delivery.attempts,
    late: command.late,
    conflicts: command.conflicts.map((conflict) => ({
      status: conflict.status,
      at: toIso(conflict.at),
      ...resultBody(conflict),
    })),
    broadcast_id: command.broadcastId ?? null,
  }
}

function resultBody({ executedAt, result, error }: CommandResult) {
  return {
    executed_at: isoOrNull(executedAt),
    result: result ?? null,
    error: error === undefined ? null : { code: error.code, message: error.message },
  }
}
