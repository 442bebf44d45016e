// What this node does for the devices whose partitions are its own, whoever asks for it.
import { isOpen } from '../../domain/command/moves.ts'
import type { Command } from '../../domain/command/record.ts'
import { partitionOf } from '../../domain/partition.ts'
import type { RequestOutcome } from '../../ports/engine.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Broadcasts } from '../broadcasts.ts'
import type { CommandWaits } from '../command-waits.ts'
import type { Ingest } from '../ingress/ingest.ts'
import type { Replies } from '../replies.ts'
import type { Settler } from '../rows/settler.ts'
import { notOwned } from '../runner/assignment.ts'
import { packRequest } from '../shard/requests.ts'
import type { Shards } from '../shards.ts'
import type { NodeOutcomes, NodeWork, OutcomeOf } from './work.ts'

export interface LocalWorkPorts {
  readonly shards: Shards
  readonly ingest: Ingest
  readonly replies: Replies
  readonly waits: CommandWaits
  readonly settler: Settler
  readonly schedule: Pick<Schedule, 'sleep'>
  readonly broadcasts: () => Broadcasts
  readonly newRequestId: () => string
}

type Doers = { [Kind in keyof NodeOutcomes]: (work: WorkOf<Kind>) => Promise<NodeOutcomes[Kind]> }
type WorkOf<Kind> = Extract<NodeWork, { readonly kind: Kind }>

export class LocalWork {
  readonly #ports: LocalWorkPorts
  readonly #doers: Doers

  constructor(ports: LocalWorkPorts) {
    this.#ports = ports
    this.#doers = {
      submit: (work) => this.#submit(work),
      ask: ({ ask, after }) => ports.shards.ask(ask, after),
      await: (work) => this.#await(work),
      broadcast: ({ request }) => ports.broadcasts().create(request),
      broadcast_state: ({ broadcastId, offset, limit }) =>
        ports.broadcasts().state(broadcastId, { offset, limit }),
      broadcast_cancel: ({ broadcastId, by }) => ports.broadcasts().cancel(broadcastId, by),
      flush: ({ horizon, partitions }) => this.#flush(horizon, partitions),
    }
  }

  do<Work extends NodeWork>(work: Work): Promise<OutcomeOf<Work>> {
    // The table has the right one under each kind, which its type says and a lookup loses.
    const run = this.#doers[work.kind] as unknown as (work: Work) => Promise<OutcomeOf<Work>>
    return run(work)
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
      const commands = await shards.ask({ kind: 'commands', deviceId }, after)
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
    settler.announced(horizon)
    if (!partitions.every((partition) => shards.owns(partition))) throw notOwned()
    await shards.flush()
    if (!partitions.every((partition) => shards.owns(partition))) throw notOwned()
    return undefined
  }
}
