// Finds the node that can do a piece of work: this one, another one, or none just now.
//
// N1. Work that a node refuses because it does not own the partition, or because the node is gone, was not done. It is
//     tried again for a while, so that an owner that is just taking over is found. After any other failure nobody knows
//     whether it was done.
// N2. A question that concerns several owners goes to all of them at once; without one of them there is no answer.
// N3. When a node dies over a question, one that only reads is asked again, and any other is given up: nobody knows whether
//     it was done.
import { BroadcastId, type DeviceId, type Millis, type Partition } from '../../../schemas/ids.ts'
import { ALL_PARTITIONS, partitionOf } from '../../domain/partition.ts'
import { LIMITS } from '../../limits.ts'
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
import { GoneFault, UnderWay } from './under-way.ts'
import { askNode, serveNode } from './wire.ts'
import type { NodeWork, OutcomeOf } from './work.ts'

/** The other nodes, where there may be any. */
export interface Others {
  readonly mesh: Mesh
  /** Undefined while the partition has no owner. */
  readonly addressOf: (partition: Partition) => string | undefined
}

export interface NodesPorts {
  readonly here: LocalWork
  readonly log: Pick<Log, 'ends'>
  readonly others: Others | undefined
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'sleep'>
}

/** The owner of this partition leads: it hands out broadcasts and settles rollups for all. */
export const LEADING = partitionAt(0)

const READS: ReadonlySet<NodeWork['kind']> = new Set([
  'ask',
  'await',
  'broadcast_state',
  'fleet_alerts',
  'fleet_alert_counts',
  'figures',
])

/** The address of a node without others. */
const ALONE = 'local'

/** A question about it only tells whether somebody answers. */
const NO_BROADCAST = BroadcastId('')

export class Nodes {
  readonly #ports: NodesPorts
  readonly #underWay: UnderWay
  /** Number of calls that wait for an owner. */
  #searching = 0

  constructor(ports: NodesPorts) {
    this.#ports = ports
    const { clock, schedule, others } = ports
    const addresses = () => new Set(ALL_PARTITIONS.map((partition) => others?.addressOf(partition)))
    this.#underWay = new UnderWay({ clock, schedule, addresses })
  }

  /** Serves the other nodes. */
  serve(): void {
    const { here, others } = this.#ports
    if (others !== undefined) serveNode(others.mesh, (work) => here.do(work))
  }

  /** Does the work on the node that owns this partition. */
  async at<Work extends NodeWork>(partition: Partition, work: Work): Promise<OutcomeOf<Work>> {
    const { here, others } = this.#ports
    if (others === undefined) return here.do(work)
    return this.#found(async () => this.#send(addressIn(others, partition), work))
  }

  /** Does the work on the node that owns this device. One node alone need not work out its partition. */
  async atDevice<Work extends NodeWork>(deviceId: DeviceId, work: Work): Promise<OutcomeOf<Work>> {
    const { here, others } = this.#ports
    return others === undefined ? here.do(work) : this.at(partitionOf(deviceId), work)
  }

  /** The answer sees every message acknowledged before the call (N2). */
  ask<A extends Ask>(ask: A): Promise<AnswerOf<A>> {
    const after = isAboutAll(ask) ? this.#allEnds() : this.ends(devicesOf(ask))
    const { here, others } = this.#ports
    if (others === undefined) return here.do({ kind: 'ask', ask, after, partitions: ALL_PARTITIONS })
    const owners: Owners<string> = {
      partitions: ALL_PARTITIONS,
      ownerOf: (partition) => addressIn(others, partition),
      ask: (address, question) => this.#send(address, { kind: 'ask', ...question }),
    }
    return this.#found(() => fanOut(owners, { ask, after }))
  }

  /** The log's end for these devices: everything acknowledged lies at or before it. */
  ends(deviceIds: readonly DeviceId[]): readonly Position[] {
    const ends = this.#ports.log.ends()
    return deviceIds.map((id) => {
      const partition = partitionOf(id)
      return { partition, seq: ends[partition] ?? 0 }
    })
  }

  #allEnds(): readonly Position[] {
    const ends = this.#ports.log.ends()
    return ALL_PARTITIONS.map((partition) => ({ partition, seq: ends[partition] ?? 0 }))
  }

  /** Waits for an owner (N1), but no longer than most callers would, and only for a bounded number of calls. */
  async #found<Outcome>(send: () => Promise<Outcome>): Promise<Outcome> {
    const { clock, schedule } = this.#ports
    let until = clock.ticks() + LIMITS.ownerSearchMs
    for (let isSearching = false; ; ) {
      try {
        return await send()
      } catch (error) {
        // Somebody may have waited long at a node that then died: the next owner is known by now.
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

  /** Flushes every node that owns anything; rejects if a partition has no owner. */
  async flush(horizon: Millis): Promise<void> {
    const { here, others } = this.#ports
    if (others === undefined) {
      await here.do({ kind: 'flush', horizon, partitions: ALL_PARTITIONS })
      return
    }
    const groups = [...grouped(ALL_PARTITIONS, (partition) => addressIn(others, partition))]
    await Promise.all(
      groups.map(([address, partitions]) => this.#send(address, { kind: 'flush', horizon, partitions })),
    )
  }

  /** This node and every owner of a partition, by address. Who does not answer is among them. */
  async figures(): Promise<readonly NodeState[]> {
    const { here, others } = this.#ports
    if (others === undefined) return [{ address: ALONE, figures: await here.do({ kind: 'figures' }) }]
    const owners = ALL_PARTITIONS.map((partition) => others.addressOf(partition))
    const addresses = new Set([others.mesh.address, ...owners.filter((address) => address !== undefined)])
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
  async isWhole(): Promise<boolean> {
    try {
      await this.ask({ kind: 'children', broadcastId: NO_BROADCAST })
      return true
    } catch (error) {
      if (error instanceof Fault && error.retryable) return false
      throw error
    }
  }

  async #send<Work extends NodeWork>(address: string, work: Work): Promise<OutcomeOf<Work>> {
    const { here, others } = this.#ports
    if (others === undefined || address === others.mesh.address) return here.do(work)
    const extraMs = work.kind === 'await' ? work.timeoutMs : isTest(work) ? LIMITS.channelTestMs : 0
    const asked = askNode(others.mesh, work, { address, timeoutMs: LIMITS.nodeAnswerMs + extraMs })
    try {
      return await this.#underWay.watch(address, asked)
    } catch (error) {
      // N3.
      if (error instanceof GoneFault && READS.has(work.kind)) throw notOwned()
      throw error
    }
  }
}

/** A test of a channel waits for somebody outside. */
function isTest(work: NodeWork): boolean {
  return work.kind === 'channels' && work.call.op === 'test'
}

function addressIn(others: Others, partition: Partition): string {
  const address = others.addressOf(partition)
  if (address === undefined) throw notOwned()
  return address
}

/** Commands of a broadcast and jobs exist once the requests that made them are answered: there is nothing to wait
 *  for. */
function devicesOf(ask: Ask): readonly DeviceId[] {
  if (ask.kind === 'children' || ask.kind === 'jobs') return []
  if (ask.kind === 'fleet' || ask.kind === 'fleet_counts') return []
  if (ask.kind === 'alerts' || ask.kind === 'alert_counts' || ask.kind === 'kept_commands') return []
  if (ask.kind === 'named_commands') return ask.commands.map(({ deviceId }) => deviceId)
  if (ask.kind === 'latest') return ask.deviceIds ?? []
  return ask.kind === 'views' || ask.kind === 'firmware' ? ask.deviceIds : [ask.deviceId]
}

function isAboutAll({ kind }: Ask): boolean {
  return kind === 'alerts' || kind === 'alert_counts' || kind === 'kept_commands'
}

/** True if nobody has begun with the work. */
function isNotDone(error: unknown): boolean {
  return error instanceof Fault && (error.code === 'NOT_OWNED' || error.code === 'NODE_ABSENT')
}

function partitionAt(index: number): Partition {
  const partition = ALL_PARTITIONS[index]
  if (partition === undefined) throw new RangeError(`no partition ${index}`)
  return partition
}
