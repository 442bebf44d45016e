// The target of a broadcast: the devices of a group, those with a tag, a list of devices, or all that match a filter.
// Devices outside the caller's groups are never included.
import type { BroadcastTarget } from '../../engine/domain/command/broadcast.ts'
import type { BroadcastRequest } from '../../engine/ports/engine.ts'
import type { DeviceSummary } from '../../engine/ports/store.ts'
import type { BroadcastRequestBody, BroadcastTargetBody } from '../../schemas/command.ts'
import type { DeviceId } from '../../schemas/ids.ts'
import type { Json } from '../../schemas/json.ts'
import type { Caller } from '../auth/caller.ts'
import { isInScope, scopeOf } from '../auth/scope.ts'
import type { Services } from '../http/services.ts'
import { invalid, type Refusal, refused } from '../refusal.ts'
import { toMembers } from './deployment-request.ts'

/** How many of the listed devices are stored with the broadcast. */
const NAMED_KEPT_MAX = 50

type Engine = Pick<Services, 'engine'>
export type BroadcastScope = Pick<BroadcastRequest, 'group' | 'chosen' | 'within'>
type ScopeResult = { readonly kind: 'scope'; readonly scope: BroadcastScope } | Refusal

export function toScope(
  services: Engine,
  body: Pick<BroadcastRequestBody, 'group' | 'target'>,
  user: Caller,
): ScopeResult {
  const { group, target } = body
  const within = scopeOf(user)
  if (group !== undefined && target !== undefined)
    return invalid('/target', { code: 'NOT_ALLOWED', message: 'cannot be given together with group' })
  if (group !== undefined) return groupScope(group, within)
  if (target === undefined)
    return invalid('/group', { code: 'REQUIRED', message: 'is missing: give a group or a target' })
  if (target.type === 'group' && typeof target.value === 'string' && target.value !== '')
    return groupScope(target.value, within)
  if (target.type === 'group')
    return invalid('/target/value', { code: 'NOT_ALLOWED', message: 'must name a group' })
  const found = toMembers(services, target, user)
  if (found.kind === 'refused') return found
  const { members } = found
  const limited = members.kind === 'matching' ? members.filter.group : undefined
  return { kind: 'scope', scope: { group: limited, chosen: { target: toKept(target), members }, within } }
}

/** [contract 2.2] A group that has nothing in common with the caller's groups does not exist for the caller, whether or not it
 *  has devices. Of one that contains a group of the caller, that part is meant. */
function groupScope(group: string, within: readonly string[] | undefined): ScopeResult {
  const isShared = (root: string) => isInScope(group, [root]) || isInScope(root, [group])
  if (within !== undefined && !within.some(isShared))
    return refused('NOT_FOUND', { message: 'no such group' })
  return { kind: 'scope', scope: { group, within } }
}

/** The part of a target that is stored. */
export function toKept({ type, value }: BroadcastTargetBody): BroadcastTarget {
  // The value was parsed from JSON.
  const json = value as Json
  return { type, value: Array.isArray(json) ? json.slice(0, NAMED_KEPT_MAX) : json }
}

export function* devicesInScope(
  { engine }: Engine,
  { group, chosen, within }: BroadcastScope,
): Iterable<DeviceSummary> {
  const ids: Iterable<DeviceId> =
    chosen?.members.kind === 'named'
      ? new Set(chosen.members.deviceIds)
      : engine.devices.matching(chosen?.members.filter ?? { group, within })
  for (const id of ids) {
    const device = engine.devices.summary(id)
    if (device !== undefined) yield device
  }
}
