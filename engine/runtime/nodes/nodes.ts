// Finds the node that can do a piece of work: this one, another one, or at the moment none.
//
// N1. If a node refuses work because it does not own the partition, or if the node is absent, the work was not done. It is
//     tried again for a while, because a new owner may be taking over. After any other failure nobody knows whether it
//     was done.
// N2. A question that concerns several owners goes to all of them at once. If one does not answer, there is no answer.
// N3. If a node dies while it has a question, a question that only reads is asked again. Any other is given up, because
//     nobody knows whether it was done.
import { BroadcastId, type DeviceId, type Millis, type Partition } from '../../../schemas/ids.ts'
import { ALL_PARTITIONS, partitionOf } from '../../domain/partition.ts'
import { LIMITS } from '../../limits.ts'
import type { ChannelCall } from '../../ports/alert-channels.ts'
import type { Clock } from '../../ports/clock.ts'
import { Fault } from '../../ports/fault.ts'
import type { Log } from '../../ports/log.ts'
import type { Mesh } from '../../ports/mesh.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { NodeState } from '../../ports/system.ts'
import { fanOut, type Owners } from '../fan-out.ts'
import { grouped } from '../grouped.ts'
import { notOwned } from '../runner/assignment.ts'
import type { AnswerOf, Ask, Position } from '../shard/protocol.ts'
import type { LocalWork } from './local-work.ts'
import { NodeLostFault, NodeQuestions } from './node-questions.ts'
import { askNode, serveNode } from './wire.ts'
import type { NodeWork, OutcomeOf } from './work.ts'

/** The way to the other nodes, in a cluster. */
export interface Peers {
  readonly mesh: Mesh
  /** Undefined while the partition has no owner. */
  readonly addressOf: (partition: Partition) => string | undefined
}

export interface NodesPorts {
  readonly localWork: LocalWork
  readonly log: Pick<Log, 'ends'>
  readonly peers: Peers | undefined
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'sleep'>
}

/** The owner of this partition is the leader, which runs services for all nodes. */
export const LEADER_PARTITION = partitionAt(0)

const READS: ReadonlySet<NodeWork['kind']> = new Set([
  'ask',
  'await',
  'broadcast_state',
  'broadcast_list',
  'deployment_plan',
  'deployment_list',
  'deployment_get',
  'deployment_members',
  'fleet_alerts',
  'fleet_alert_counts',
  'figures',
])
const CHANNEL_READS: ReadonlySet<ChannelCall['op']> = new Set(['list', 'deliveries', 'notified'])

/** The address shown for a node outside a cluster. */
const SINGLE_NODE_ADDRESS = 'local'

/** Used in a question that only tests whether owners answer. */
const NO_BROADCAST = BroadcastId('')

export class Nodes {
  readonly #ports: NodesPorts
  readonly #questions: NodeQuestions
  /** How many calls are waiting for an owner. */
  #searching = 0

  constructor(ports: NodesPorts) {
    this.#ports = ports
    const { clock, schedule, peers } = ports
    const addresses = () => new Set(ALL_PARTITIONS.map((partition) => peers?.addressOf(partition)))
    this.#questions = new NodeQuestions({ clock, schedule, addresses })
  }

  /** Begins to serve other nodes. */
  serve(): void {
    const { localWork, peers } = this.#ports
    if (peers !== undefined) serveNode(peers.mesh, (work) => localWork.perform(work))
  }

  /** Does the work on the node that owns this partition. */
  async runAtOwner<Work extends NodeWork>(partition: Partition, work: Work): Promise<OutcomeOf<Work>> {
    const { localWork, peers } = this.#ports
    if (peers === undefined) return localWork.perform(work)
    return this.#retryUntilOwned(async () => this.#send(ownerAddress(peers, partition), work))
  }

  /** Does the work on the node that owns this device. A single node need not work out the partition. */
  async runForDevice<Work extends NodeWork>(deviceId: DeviceId, work: Work): Promise<OutcomeOf<Work>> {
    const { localWork, peers } = this.#ports
    return peers === undefined ? localWork.perform(work) : this.runAtOwner(partitionOf(deviceId), work)
  }

  /** The answer includes every message acknowledged before the call (N2). */
  ask<A extends Ask>(ask: A): Promise<AnswerOf<A>> {
    const after = isAboutAllDevices(ask) ? this.#allLogEnds() : this.logEndsFor(devicesOf(ask))
    const { localWork, peers } = this.#ports
    if (peers === undefined) return localWork.perform({ kind: 'ask', ask, after, partitions: ALL_PARTITIONS })
    const owners: Owners<string> = {
      partitions: ALL_PARTITIONS,
      ownerOf: (partition) => ownerAddress(peers, partition),
      ask: (address, question) => this.#send(address, { kind: 'ask', ...question }),
    }
    return this.#retryUntilOwned(() => fanOut(owners, { ask, after }))
  }

  /** The end of the log for these devices. Everything acknowledged is at or before it. */
  logEndsFor(deviceIds: readonly DeviceId[]): readonly Position[] {
    const ends = this.#ports.log.ends()
    return deviceIds.map((id) => {
      const partition = partitionOf(id)
      return { partition, seq: ends[partition] ?? 0 }
    })
  }

  #allLogEnds(): readonly Position[] {
    const ends = this.#ports.log.ends()
    return ALL_PARTITIONS.map((partition) => ({ partition, seq: ends[partition] ?? 0 }))
  }

  /** Retries until there is an owner (N1), but not for longer than most callers wait, and only for a limited number of
   *  calls. */
  async #retryUntilOwned<Outcome>(send: () => Promise<Outcome>): Promise<Outcome> {
    const { clock, schedule } = this.#ports
    let until = clock.ticks() + LIMITS.ownerSearchMs
    for (let isSearching = false; ; ) {
      try {
        return await send()
      } catch (error) {
        // The call may have waited long at a node that then died. By now the next owner may be known.
        if (!isSearching) until = Math.max(until, clock.ticks() + LIMITS.ownershipTimeoutMs)
        if (!isNotDone(error) || clock.ticks() >= until) throw error
        if (!isSearching && this.#searching >= LIMITS.ownerSearchesMax) throw error
      } finally {
        if (isSearching) this.#searching--
      }
      isSearching = true
      this.#searching++
      await schedule.sleep(LIMITS.ownerSearchRetryMs)
    }
  }

  /** Flushes every node that owns anything. Rejects if a partition has no owner. */
  async flush(horizon: Millis): Promise<void> {
    const { localWork, peers } = this.#ports
    if (peers === undefined) {
      await localWork.perform({ kind: 'flush', horizon, partitions: ALL_PARTITIONS })
      return
    }
    const groups = [...grouped(ALL_PARTITIONS, (partition) => ownerAddress(peers, partition))]
    await Promise.all(
      groups.map(([address, partitions]) => this.#send(address, { kind: 'flush', horizon, partitions })),
    )
  }

  /** The figures of this node and of every owner of a partition. Nodes that do not answer are listed without figures. */
  async figures(): Promise<readonly NodeState[]> {
    const { localWork, peers } = this.#ports
    if (peers === undefined)
      return [{ address: SINGLE_NODE_ADDRESS, figures: await localWork.perform({ kind: 'figures' }) }]
    const owners = ALL_PARTITIONS.map((partition) => peers.addressOf(partition))
    const addresses = new Set([peers.mesh.address, ...owners.filter((address) => address !== undefined)])
    const states = [...addresses].sort().map(async (address): Promise<NodeState> => {
      try {
        return { address, figures: await this.#send(address, { kind: 'figures' }) }
      } catch (error) {
        if (error instanceof Fault) return { address, figures: undefined }
        throw error
      }
    })
    return Promise.all(states)
  }

  /** Whether every partition has an owner that answers. */
  async isComplete(): Promise<boolean> {
    try {
      await this.ask({ kind: 'children', broadcastId: NO_BROADCAST })
      return true
    } catch (error) {
      if (error instanceof Fault && error.retryable) return false
      throw error
    }
  }

  async #send<Work extends NodeWork>(address: string, work: Work): Promise<OutcomeOf<Work>> {
    const { localWork, peers } = this.#ports
    if (peers === undefined || address === peers.mesh.address) return localWork.perform(work)
    const extraMs = work.kind === 'await' ? work.timeoutMs : isChannelTest(work) ? LIMITS.channelTestMs : 0
    const answer = askNode(peers.mesh, work, { address, timeoutMs: LIMITS.nodeAnswerMs + extraMs })
    try {
      return await this.#questions.track(address, answer)
    } catch (error) {
      // N3.
      if (error instanceof NodeLostFault && isRead(work)) throw notOwned()
      throw error
    }
  }
}

function isRead(work: NodeWork): boolean {
  return work.kind === 'channels' ? CHANNEL_READS.has(work.call.op) : READS.has(work.kind)
}

/** A test of a channel takes longer, because it waits for an outside server. */
function isChannelTest(work: NodeWork): boolean {
  return work.kind === 'channels' && work.call.op === 'test'
}

function ownerAddress(peers: Peers, partition: Partition): string {
  const address = peers.addressOf(partition)
  if (address === undefined) throw notOwned()
  return address
}

/** Questions about all devices get no positions here. For commands of a broadcast and jobs there is nothing to wait for:
 *  they exist once the requests that created them are answered. */
function devicesOf(ask: Ask): readonly DeviceId[] {
  if (ask.kind === 'children' || ask.kind === 'jobs') return []
  if (ask.kind === 'fleet' || ask.kind === 'fleet_counts') return []
  if (ask.kind === 'alerts' || ask.kind === 'alert_counts' || ask.kind === 'kept_commands') return []
  if (ask.kind === 'named_commands') return ask.commands.map(({ deviceId }) => deviceId)
  if (ask.kind === 'latest') return ask.deviceIds ?? []
  return ask.kind === 'views' || ask.kind === 'firmware' ? ask.deviceIds : [ask.deviceId]
}

function isAboutAllDevices({ kind }: Ask): boolean {
  return kind === 'alerts' || kind === 'alert_counts' || kind === 'kept_commands'
}

/** Whether it is certain that no node has begun the work. */
function isNotDone(error: unknown): boolean {
  return error instanceof Fault && (error.code === 'NOT_OWNED' || error.code === 'NODE_ABSENT')
}

function partitionAt(index: number): Partition {
  const partition = ALL_PARTITIONS[index]
  if (partition === undefined) throw new RangeError(`no partition ${index}`)
  return partition
}
