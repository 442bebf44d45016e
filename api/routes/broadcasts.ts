// /commands/$broadcast: one command to many devices.
import { type Broadcast, skipReason } from '../../engine/domain/command/broadcast.ts'
import { isEqual, own } from '../../engine/domain/shadow/json-object.ts'
import type { BroadcastState } from '../../engine/ports/engine.ts'
import type { DeviceSummary } from '../../engine/ports/store.ts'
import type { BroadcastRequestBody } from '../../schemas/command.ts'
import { BroadcastId } from '../../schemas/ids.ts'
import {
  broadcastCommand,
  cancelBroadcast,
  getBroadcast,
  listBroadcastDevices,
  listBroadcasts,
} from '../../schemas/operations/broadcasts.ts'
import type { CommandStatus } from '../../schemas/vocabulary.ts'
import type { Caller } from '../auth/caller.ts'
import { isInScope, scopeOf } from '../auth/scope.ts'
import { broadcastBody } from '../bodies/broadcast-body.ts'
import { commandBody } from '../bodies/command-body.ts'
import { targetPreview } from '../bodies/target-preview.ts'
import { type Answer, answer } from '../http/answer.ts'
import { pageAnswer, pageBody, toWindow, type Window } from '../http/paging.ts'
import { createFor, type RepeatKey } from '../http/repeats.ts'
import { type Route, route } from '../http/route.ts'
import type { Services } from '../http/services.ts'
import { type Refusal, refused } from '../refusal.ts'
import { devicesInScope, toKept, toScope } from './broadcast-target.ts'
import { incompatibleTypes, parseStatuses, refuseCommand } from './command-checks.ts'

export function broadcastRoutes(services: Services): readonly Route[] {
  const { engine } = services
  return [
    route(broadcastCommand, ({ query, body, user, repeatKey }) =>
      broadcast(services, { body, user, repeatKey, isDryRun: query.dry_run === true }),
    ),
    route(listBroadcasts, async ({ query, user, url }) => {
      const window = toWindow(query)
      const { broadcasts, total } = await engine.listBroadcasts({
        offset: window.offset,
        limit: window.perPage,
        by: user.id,
        within: scopeOf(user),
      })
      const bodies = broadcasts.map(({ broadcast, counts }) => ({
        ...broadcastBody(seenBy(services, broadcast, user), counts),
        counts,
      }))
      return pageAnswer(bodies, total, window, url)
    }),
    route(listBroadcastDevices, async ({ params, query, user, url }) => {
      const wanted = parseStatuses(query.status)
      if (wanted.kind === 'refused') return wanted
      const id = BroadcastId(params.broadcast_id)
      const window = toWindow(query)
      const statuses = wanted.statuses === undefined ? undefined : [...wanted.statuses]
      const state = await visibleState(services, { id, user, window, statuses })
      return state === undefined
        ? broadcastNotFound()
        : pageAnswer(commandBodies(services, state), state.matching, window, url)
    }),
    route(getBroadcast, async ({ params, query, user }) => {
      const call = { id: BroadcastId(params.broadcast_id), user, window: toWindow(query) }
      const state = await visibleState(services, call)
      return state === undefined ? broadcastNotFound() : stateAnswer(services, state, call)
    }),
    route(cancelBroadcast, async ({ params, query, user }) => {
      const call = { id: BroadcastId(params.broadcast_id), user, window: toWindow(query) }
      if ((await visibleState(services, call)) === undefined) return broadcastNotFound()
      await engine.cancelBroadcast(call.id, user.id)
      const state = await visibleState(services, call)
      return state === undefined ? broadcastNotFound() : stateAnswer(services, state, call)
    }),
  ]
}

interface BroadcastCall {
  readonly body: BroadcastRequestBody
  readonly user: Caller
  readonly repeatKey: RepeatKey | undefined
  readonly isDryRun: boolean
}

async function broadcast(
  services: Services,
  { body, user, repeatKey, isDryRun }: BroadcastCall,
): Promise<Answer | Refusal> {
  const { engine, ids, deviceTypes, clock } = services
  // Devices whose type does not define the command are skipped.
  const refusal = refuseCommand(body, undefined) ?? reservedName(body.command)
  if (refusal !== undefined) return refusal
  const found = toScope(services, body, user)
  if (found.kind === 'refused') return found
  const unfit = incompatibleTypes(body, deviceTypes.defined.values())
  if (isDryRun) {
    const reasonOf = ({ status, type }: DeviceSummary) => skipReason({ status, unfit: own(unfit, type) })
    return answer(200, targetPreview(devicesInScope(services, found.scope), reasonOf))
  }
  const request = {
    ...found.scope,
    expectedTotal: body.expected_total,
    command: body.command,
    data: body.data ?? undefined,
    priority: body.priority,
    timeoutSec: body.timeout_sec,
    by: user.id,
    unfit,
  }
  const outcome = await createFor(
    repeatKey,
    { prefix: 'bc_', ids, clock },
    {
      create: (id) => engine.broadcast({ broadcastId: BroadcastId(id), ...request }),
      createdAt: (made) => (made.kind === 'done' ? made.broadcast.createdAt : undefined),
    },
  )
  if (outcome.kind === 'refused') return outcome
  if (!isSame(outcome.broadcast, body))
    return refused('IDEMPOTENCY_KEY_REUSED', {
      message: 'this Idempotency-Key came with another broadcast before',
    })
  return answer(202, broadcastBody(outcome.broadcast, undefined), {
    location: `${broadcastCommand.path}/${outcome.broadcast.id}`,
  })
}

function reservedName(name: string): Refusal | undefined {
  if (!name.startsWith('$')) return undefined
  return refused('VALIDATION_FAILED', {
    message: 'names that begin with $ are the service’s own',
    errors: [{ path: '/command', in: 'body', code: 'NOT_ALLOWED', message: 'begins with $' }],
  })
}

function isSame(broadcast: Broadcast, body: BroadcastRequestBody): boolean {
  return (
    isSameTarget(broadcast, body) &&
    broadcast.name === body.command &&
    broadcast.priority === (body.priority ?? 'normal') &&
    broadcast.timeoutSec === body.timeout_sec &&
    isEqual(broadcast.data, body.data ?? {})
  )
}

function isSameTarget(broadcast: Broadcast, { group, target }: BroadcastRequestBody): boolean {
  if (target === undefined || target.type === 'group')
    return broadcast.target === undefined && broadcast.group === (group ?? target?.value)
  const { type, value } = toKept(target)
  return broadcast.target?.type === type && isEqual({ value: broadcast.target.value }, { value })
}

interface StateCall {
  readonly id: BroadcastId
  readonly user: Caller
  readonly window: Window
  readonly statuses?: readonly CommandStatus[] | undefined
}

/** A broadcast is visible to its sender and to users who may see its whole group, or all groups if its target was not a
 *  group. Of its devices, users see those that they may see now. */
async function visibleState(
  { engine }: Services,
  { id, user, window, statuses }: StateCall,
): Promise<BroadcastState | undefined> {
  const within = scopeOf(user)
  const page = { offset: window.offset, limit: window.perPage, statuses, within }
  const state = await engine.broadcastState(id, page)
  if (state === undefined) return undefined
  const { createdBy, group } = state.broadcast
  return createdBy === user.id || isInScope(group, within) ? state : undefined
}

function stateAnswer(services: Services, state: BroadcastState, { user, window }: StateCall): Answer {
  const { broadcast, counts } = state
  return answer(200, {
    ...broadcastBody(seenBy(services, broadcast, user), counts),
    counts,
    commands: pageBody(commandBodies(services, state), broadcast.accepted, window),
  })
}

function commandBodies({ engine }: Services, { commands }: BroadcastState) {
  return commands.map(({ deviceId, command }) =>
    commandBody(deviceId, command, engine.devices.summary(deviceId)),
  )
}

/** The broadcast without skipped devices that the user may not see. */
function seenBy({ engine }: Services, broadcast: Broadcast, user: Caller): Broadcast {
  const scope = scopeOf(user)
  const skipped = broadcast.skipped.filter(({ deviceId }) =>
    isInScope(engine.devices.summary(deviceId)?.group, scope),
  )
  return { ...broadcast, skipped }
}

const broadcastNotFound = () => refused('NOT_FOUND', { message: 'no such broadcast' })
