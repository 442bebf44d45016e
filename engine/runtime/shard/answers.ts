// Answers a shard's questions from memory.
import { type BroadcastId, type Millis, toMillis } from '../../../schemas/ids.ts'
import { commandFits, type KeptCommand, newestOf } from '../../domain/command/kept-commands.ts'
import { type LatestValues, newLatestValues } from '../../domain/fleet/latest-values.ts'
import { isInScope } from '../../domain/group-scope.ts'
import { partitionOf } from '../../domain/partition.ts'
import { MetricChoice } from '../../domain/telemetry/picked.ts'
import { unreachable } from '../../domain/unreachable.ts'
import type { KeptCommandsQuery, Metric } from '../../ports/engine.ts'
import type { Positions } from '../../ports/log.ts'
import { type Actor, type Actors, toSnapshot, toView } from './actor.ts'
import { alertCounts, findAlerts } from './alert-answers.ts'
import { talliesOf, toFirmwareState } from './job-answers.ts'
import type { Answer, Answers, Ask, Child } from './protocol.ts'
import type { ShardAlerts } from './shard-alerts.ts'
import type { ShardFleet } from './shard-fleet.ts'

export interface AnswerContext {
  readonly now: Millis
  readonly alerts: ShardAlerts
  readonly fleet: ShardFleet
  /** Each partition's position up to which vitals reach. */
  readonly reached: Positions
}

export function answer(actors: Actors, ask: Ask, { now, alerts, fleet, reached }: AnswerContext): Answer {
  switch (ask.kind) {
    case 'views':
      return ask.deviceIds.map((id): Answers['views'][number] => {
        const actor = actors.get(id)
        return actor && toView(actor, now)
      })
    case 'snapshot': {
      const actor = actors.get(ask.deviceId)
      return actor && toSnapshot(actor, reached[partitionOf(ask.deviceId)] ?? 0)
    }
    case 'metrics': {
      const actor = actors.get(ask.deviceId)
      return actor && metricsOf(actor)
    }
    case 'shadow':
      return actors.get(ask.deviceId)?.device.shadow
    case 'commands':
      return actors.get(ask.deviceId)?.device.commands.toReversed()
    case 'firmware':
      return ask.deviceIds.map((id) => {
        const actor = actors.get(id)
        return actor && toFirmwareState(actor, now)
      })
    case 'jobs':
      return talliesOf(actors, ask.deploymentIds, now)
    case 'children':
      return childrenOf(actors, ask.broadcastId)
    case 'kept_commands':
      return keptCommands(actors, ask.query)
    case 'named_commands':
      return ask.commands.flatMap(({ deviceId, commandId }) => {
        const command = actors.get(deviceId)?.device.commands.find(({ id }) => id === commandId)
        return command === undefined ? [] : [{ deviceId, command }]
      })
    case 'alerts':
      return findAlerts(actors, ask.query, { now, alerts })
    case 'alert_counts':
      return alertCounts(ask.within, alerts)
    case 'fleet_counts':
      return alerts.fleetCounts(ask.sums, actors.values(), now)
    case 'latest':
      return [latestOf(actors, ask)]
    case 'fleet':
      return [fleet.answer(actors, ask.known, now)]
    default:
      return unreachable(ask)
  }
}

function metricsOf({ latest }: Actor): readonly Metric[] {
  return (latest?.toMetrics() ?? []).map(({ at, ...metric }) => ({ ...metric, at: toMillis(at) }))
}

function keptCommands(actors: Actors, query: KeptCommandsQuery): readonly KeptCommand[] {
  const { deviceId: only, group, within, limit } = query
  const subtree = group === undefined ? undefined : [group]
  const found: KeptCommand[] = []
  for (const { device } of only === undefined
    ? actors.values()
    : [actors.get(only)].flatMap((a) => a ?? [])) {
    if (device.commands.length === 0) continue
    if (!isInScope(device.group, within) || !isInScope(device.group, subtree)) continue
    for (const command of device.commands)
      if (commandFits(query, device.id, command)) found.push({ deviceId: device.id, command })
  }
  return newestOf(found, limit)
}

function latestOf(
  actors: Actors,
  { deviceIds, metrics, heardAfter }: Extract<Ask, { readonly kind: 'latest' }>,
): LatestValues {
  const found = newLatestValues(metrics.length)
  const choice = new MetricChoice(metrics)
  const add = (actor: Actor | undefined) => {
    if (actor === undefined || actor.heardAt < heardAfter) return
    found.id.push(actor.device.id)
    const picked = actor.latest?.pick(choice)
    metrics.forEach((_, i) => {
      found.values[i]?.push(picked?.[i]?.value ?? null)
      found.at[i]?.push(Math.floor((picked?.[i]?.at ?? 0) / 1_000))
    })
  }
  if (deviceIds === undefined) for (const actor of actors.values()) add(actor)
  else for (const id of deviceIds) add(actors.get(id))
  return found
}

/** The commands of a broadcast. They are kept with their devices only. */
function childrenOf(actors: Actors, broadcastId: BroadcastId): readonly Child[] {
  const children: Child[] = []
  for (const { device } of actors.values())
    for (const command of device.commands)
      if (command.broadcastId === broadcastId)
        children.push({ deviceId: device.id, commandId: command.id, status: command.status })
  return children
}
