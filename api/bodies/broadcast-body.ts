// The body of a broadcast in REST.
import {
  type Broadcast,
  broadcastStatus,
  type StatusCounts,
  tally,
} from '../../engine/domain/command/broadcast.ts'
import { toIso } from '../../schemas/ids.ts'
import type { JsonObject } from '../../schemas/json.ts'

export function broadcastBody(broadcast: Broadcast, counts: StatusCounts | undefined) {
  const data: JsonObject = broadcast.data
  const { group, target } = broadcast
  return {
    broadcast_id: broadcast.id,
    group: target === undefined ? (group ?? null) : null,
    target: target ?? { type: 'group', value: group },
    command: broadcast.name,
    data,
    priority: broadcast.priority,
    timeout_sec: broadcast.timeoutSec ?? null,
    status: broadcastStatus(counts ?? tally([]), broadcast),
    total: broadcast.total,
    accepted: broadcast.accepted,
    skipped: broadcast.skipped.map(({ deviceId, reason }) => ({ device_id: deviceId, reason })),
    created_at: toIso(broadcast.createdAt),
    created_by: broadcast.createdBy,
  }
}
