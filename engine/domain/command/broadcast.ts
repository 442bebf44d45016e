// One command to many devices: each member gets a command of its own, and this record describes them together.
//
// A broadcast that reaches nobody is refused, because a typing error in an emergency stop must not look like success.
// Its progress is counted from its commands each time and stored nowhere.
import { type BroadcastId, type DeviceId, Millis } from '../../../schemas/ids.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { Refusal } from '../../../schemas/refusals.ts'
import {
  COMMAND_STATUSES,
  type CommandPriority,
  type CommandStatus,
  type DeviceStatus,
} from '../../../schemas/vocabulary.ts'
import { LIMITS } from '../../limits.ts'
import type { CommandRequest } from './create.ts'
import { isOpen } from './moves.ts'

export type SkipReason = 'decommissioned' | 'queue_full' | 'unknown_command' | 'invalid_parameters'

export interface SkippedMember {
  readonly deviceId: DeviceId
  readonly reason: SkipReason
}

/** How the sender chose the devices, if not by a group. */
export interface BroadcastTarget {
  readonly type: string
  /** If devices were named, only the first of them. */
  readonly value: Json
}

export interface Broadcast {
  readonly id: BroadcastId
  /** All target devices belong to this group's subtree. Undefined if they may belong to any group. */
  readonly group: string | undefined
  /** Undefined if the target is the group's subtree. Records of earlier releases lack it. */
  readonly target?: BroadcastTarget | undefined
  readonly name: string
  readonly data: JsonObject
  readonly priority: CommandPriority
  readonly timeoutSec: number | undefined
  readonly createdAt: Millis
  readonly createdBy: string
  /** The number of target devices at its creation. */
  readonly total: number
  readonly accepted: number
  /** The first skipped members, up to the limit. `total - accepted` members were skipped. */
  readonly skipped: readonly SkippedMember[]
  /** Devices sent to per second. Undefined means all at once. */
  readonly perSec: number | undefined
}

export interface BroadcastMember {
  readonly deviceId: DeviceId
  readonly status: DeviceStatus
  /** Why devices of the member's type do not take the command. */
  readonly unfit?: 'unknown_command' | 'invalid_parameters' | undefined
}

export interface BroadcastRequest {
  readonly group: string | undefined
  readonly target?: BroadcastTarget | undefined
  readonly name: string
  readonly data?: JsonObject | undefined
  readonly priority?: CommandPriority | undefined
  readonly timeoutSec?: number | undefined
  readonly perSec?: number | undefined
}

export type BroadcastOutcome =
  | {
      readonly kind: 'created'
      readonly broadcast: Broadcast
      /** The command to create for each accepted member, in order. */
      readonly requests: readonly { readonly deviceId: DeviceId; readonly request: CommandRequest }[]
    }
  | Refusal<'EMPTY_TARGET'>

export function createBroadcast(
  request: BroadcastRequest,
  members: readonly BroadcastMember[],
  { id, by, now }: { readonly id: BroadcastId; readonly by: string; readonly now: Millis },
): BroadcastOutcome {
  const { group, target, name, data = {}, priority = 'normal', timeoutSec } = request
  const skipped = members.flatMap((member): SkippedMember[] => {
    const reason = skipReason(member)
    return reason === undefined ? [] : [{ deviceId: member.deviceId, reason }]
  })
  const fit = members.filter((member) => skipReason(member) === undefined)
  if (fit.length === 0) {
    const place = target === undefined ? `in ${JSON.stringify(group)}` : `that the ${target.type} means`
    const message = `no device ${place} takes this command`
    const skippedBody = firstSkipped(skipped).map(({ deviceId, reason }) => ({ device_id: deviceId, reason }))
    const detail = { message, group: group ?? null, total: members.length, skipped: skippedBody }
    return { kind: 'refused', code: 'EMPTY_TARGET', detail }
  }
  // A critical broadcast is not paced.
  const perSec = priority === 'critical' ? undefined : (request.perSec ?? LIMITS.broadcastPerSecDefault)
  const requests = fit.map(({ deviceId }, i) => {
    const notBefore = perSec === undefined ? undefined : Millis(now + Math.floor((i * 1_000) / perSec))
    return { deviceId, request: { name, data, priority, timeoutSec, notBefore, broadcastId: id } }
  })
  const broadcast: Broadcast = {
    ...{ id, group, target, name, data, priority, timeoutSec, createdAt: now, createdBy: by },
    total: members.length,
    accepted: fit.length,
    skipped: firstSkipped(skipped),
    perSec,
  }
  return { kind: 'created', broadcast, requests: requests }
}

/** Counts a member as skipped because its device refused the command: its queue was full, or it had been decommissioned
 *  meanwhile. */
export function skipMember(broadcast: Broadcast, skipped: SkippedMember): Broadcast {
  const accepted = broadcast.accepted - 1
  return { ...broadcast, accepted, skipped: firstSkipped([...broadcast.skipped, skipped]) }
}

export type StatusCounts = Readonly<Record<CommandStatus, number>>

export function tally(statuses: Iterable<CommandStatus>): StatusCounts {
  const counts = noCounts()
  for (const status of statuses) counts[status]++
  return counts
}

export type BroadcastStatus =
  | 'pending'
  | 'in_progress'
  | 'partial'
  | Exclude<CommandStatus, 'pending' | 'delivered' | 'acked'>

/** `pending` until the first command is delivered. Once all have ended, the status they share, or else `partial` if some
 *  completed and `failed` if none did, or if every member refused its command. */
export function broadcastStatus(
  counts: StatusCounts,
  { accepted }: Pick<Broadcast, 'accepted'>,
): BroadcastStatus {
  const present = COMMAND_STATUSES.filter((status) => counts[status] > 0)
  if (present.length === 0 && accepted === 0) return 'failed'
  const [only = 'pending', ...others] = present
  if (others.length === 0 && only === 'pending') return 'pending'
  if (present.some(isOpen)) return 'in_progress'
  if (others.length === 0 && only !== 'pending' && only !== 'delivered' && only !== 'acked') return only
  return counts.completed > 0 ? 'partial' : 'failed'
}

export function skipReason({ status, unfit }: Omit<BroadcastMember, 'deviceId'>): SkipReason | undefined {
  return status === 'decommissioned' ? 'decommissioned' : unfit
}

function firstSkipped(skipped: readonly SkippedMember[]): readonly SkippedMember[] {
  return skipped.slice(0, LIMITS.broadcastSkippedMax)
}

function noCounts(): Record<CommandStatus, number> {
  // The array names every status, so every key is there.
  return Object.fromEntries(COMMAND_STATUSES.map((status) => [status, 0])) as Record<CommandStatus, number>
}
