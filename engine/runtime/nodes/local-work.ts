// Work that this node does for the devices it owns, whichever node asks for it.
import { isOpen } from '../../domain/command/moves.ts'
import type { Command } from '../../domain/command/record.ts'
import { partitionOf } from '../../domain/partition.ts'
import type { RequestOutcome } from '../../ports/engine.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { NodeFigures } from '../../ports/system.ts'
import type { CommandWaits } from '../command-waits.ts'
import type { Ingest } from '../ingress/ingest.ts'
import type { Replies } from '../replies.ts'
import type { Settler } from '../rows/settler.ts'
import { notOwned } from '../runner/assignment.ts'
import { packRequest } from '../shard/requests.ts'
import type { Shards } from '../shards.ts'
import type { LeaderServices } from './leader-services.ts'
import type { NodeOutcomes, NodeWork, OutcomeOf } from './work.ts'

export interface LocalWorkPorts {
  readonly shards: Shards
  readonly ingest: Ingest
  readonly replies: Replies
  readonly waits: CommandWaits
  readonly settler: Settler
  readonly schedule: Pick<Schedule, 'sleep'>
  readonly leaderServices: () => Promise<LeaderServices>
  readonly newRequestId: () => string
  readonly figures: () => Promise<NodeFigures>
}

type WorkHandlers = { [Kind in keyof NodeOutcomes]: (work: WorkOf<Kind>) => Promise<NodeOutcomes[Kind]> }
type WorkOf<Kind> = Extract<NodeWork, { readonly kind: Kind }>

export class LocalWork {
  readonly #ports: LocalWorkPorts
  readonly #handlers: WorkHandlers

  constructor(ports: LocalWorkPorts) {
    this.#ports = ports
    this.#handlers = {
      submit: (work) => this.#submit(work),
      ask: (question) => ports.shards.ask(question),
      await: (work) => this.#await(work),
      broadcast: async ({ request }) => (await ports.leaderServices()).broadcasts.create(request),
      broadcast_state: async ({ kind: _, broadcastId, ...page }) =>
        (await ports.leaderServices()).broadcasts.state(broadcastId, page),
      broadcast_list: async ({ query }) => (await ports.leaderServices()).broadcasts.list(query),
      broadcast_cancel: async ({ broadcastId, by }) =>
        (await ports.leaderServices()).broadcasts.cancel(broadcastId, by),
      firmware_add: async ({ firmware }) => (await ports.leaderServices()).firmware.add(firmware),
      firmware_edit: async ({ editing }) => (await ports.leaderServices()).firmware.edit(editing),
      deployment_create: async ({ request }) => (await ports.leaderServices()).deployments.create(request),
      deployment_plan: async ({ request }) => (await ports.leaderServices()).deployments.plan(request),
      deployment_list: async ({ deviceId }) => (await ports.leaderServices()).deployments.list(deviceId),
      deployment_get: async ({ id }) => (await ports.leaderServices()).deployments.get(id),
      deployment_act: async ({ id, action, ifRevision }) =>
        (await ports.leaderServices()).deployments.act(id, action, ifRevision),
      deployment_members: async ({ id, query }) =>
        (await ports.leaderServices()).deployments.members(id, query),
      purge: async ({ kind: _, ...purge }) => (await ports.leaderServices()).purges.purge(purge),
      image_missing: async ({ firmwareId }) => {
        await (await ports.leaderServices()).deployments.imageMissing(
          ({ firmware }) => firmware.id === firmwareId,
        )
        return undefined
      },
      firmware_remove: async ({ removal }) => (await ports.leaderServices()).firmware.remove(removal),
      channels: async ({ call }) => (await ports.leaderServices()).notifications.call(call),
      fleet_alerts: async ({ query }) => (await ports.leaderServices()).fleetAlerts.list(query),
      fleet_alert_counts: async ({ within }) => (await ports.leaderServices()).fleetAlerts.counts(within),
      fleet_alert_act: async ({ id, act, by }) => (await ports.leaderServices()).fleetAlerts.act(id, act, by),
      alert_change: async ({ change }) => (await ports.leaderServices()).alerts.change(change),
      figures: () => ports.figures(),
      flush: ({ horizon, partitions }) => this.#flush(horizon, partitions),
    }
  }

  perform<Work extends NodeWork>(work: Work): Promise<OutcomeOf<Work>> {
    // The table has the right function for each kind. Its type says so, but a lookup loses that.
    const handle = this.#handlers[work.kind] as unknown as (work: Work) => Promise<OutcomeOf<Work>>
    return handle(work)
  }

  async #submit({ deviceId, request, signed }: WorkOf<'submit'>): Promise<RequestOutcome> {
    const { shards, ingest, replies, newRequestId } = this.#ports
    const partition = partitionOf(deviceId)
    if (!shards.owns(partition)) throw notOwned()
    const requestId = newRequestId()
    const reply = replies.await(requestId)
    try {
      const payload = packRequest({ requestId, deviceId, ...signed, request })
      const [answer] = await Promise.all([reply, ingest.request(deviceId, partition, payload)])
      return answer
    } finally {
      replies.forget(requestId)
    }
  }

  async #await({ deviceId, commandId, after, timeoutMs }: WorkOf<'await'>): Promise<Command | undefined> {
    const { shards, waits, schedule } = this.#ports
    const find = async () => {
      const ask = { kind: 'commands', deviceId } as const
      const commands = await shards.ask({ ask, after, partitions: [partitionOf(deviceId)] })
      return commands?.find(({ id }) => id === commandId)
    }
    const wait = waits.open(deviceId, commandId)
    try {
      const command = await find()
      if (command === undefined || !isOpen(command.status)) return command
      const ended = await Promise.race([wait.ended, schedule.sleep(timeoutMs)])
      return ended ?? (await find())
    } finally {
      wait.close()
    }
  }

  async #flush(
    horizon: WorkOf<'flush'>['horizon'],
    partitions: WorkOf<'flush'>['partitions'],
  ): Promise<undefined> {
    const { shards, settler } = this.#ports
    settler.raiseHorizon(horizon)
    if (!partitions.every((partition) => shards.owns(partition))) throw notOwned()
    await shards.flush()
    if (!partitions.every((partition) => shards.owns(partition))) throw notOwned()
    return undefined
  }
}
