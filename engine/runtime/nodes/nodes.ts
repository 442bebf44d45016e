// The way of work to where it can be done: here, on another node, or nowhere just now.
//
// N1. What was refused because the node does not own the partition, or is not there, was not done, and is tried again for
//     a while: an owner that just takes over, from a dead node too, is found that way. After any other failure it is not
//     known.
// N2. A question that concerns several owners goes to all of them at once; without one of them there is no answer.
import { BroadcastId, type Millis, type Partition } from '../../../schemas/ids.ts'
import { ALL_PARTITIONS, partitionOf } from '../../domain/partition.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import { Fault } from '../../ports/fault.ts'
import type { Mesh } from '../../ports/mesh.ts'
import type { Schedule } from '../../ports/schedule.ts'
import { grouped } from '../grouped.ts'
import type { Asked } from '../questions.ts'
import { notOwned } from '../runner/seat.ts'
import type { Answer, Ask, Mark } from '../shard/protocol.ts'
import type { LocalWork } from './local-work.ts'
import { askNode, serveNode } from './wire.ts'
import type { NodeWork, OutcomeOf } from './work.ts'

/** The other nodes, where there may be any. */
export interface Others {
  readonly mesh: Mesh
  /** Undefined while it has no owner. */
  readonly addressOf: (partition: Partition) => string | undefined
}

export interface NodesMeans {
  readonly here: LocalWork
  readonly others: Others | undefined
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'sleep'>
}

/** Whose owner hands out broadcasts and settles rollups for all. */
export const LEADING = partitionAt(0)

/** Asked for where only an answer counts. */
const NO_BROADCAST = BroadcastId('')

export class Nodes implements Asked {
  readonly #means: NodesMeans
  /** That wait for an owner to be found. */
  #searching = 0

  constructor(means: NodesMeans) {
    this.#means = means
  }

  /** Does what the others ask for. */
  serve(): void {
    const { here, others } = this.#means
    if (others !== undefined) serveNode(others.mesh, (work) => here.do(work))
  }

  /** On the node that owns this partition. */
  async at<Work extends NodeWork>(partition: Partition, work: Work): Promise<OutcomeOf<Work>> {
    const { here, others } = this.#means
    if (others === undefined) return here.do(work)
    return this.#found(() => this.#send(others.addressOf(partition), work))
  }

  /** By N2. */
  ask(ask: Ask, after: readonly Mark[]): Promise<Answer> {
    if (this.#means.others === undefined) return this.#means.here.do({ kind: 'ask', ask, after })
    if (ask.kind === 'views') return this.#found(() => this.#views(ask, after))
    if (ask.kind === 'children') return this.#found(() => this.#children(ask))
    return this.at(partitionOf(ask.deviceId), { kind: 'ask', ask, after })
  }

  /** By N1. Waits for an owner no longer than most callers would, and not for too many of them. */
  async #found<Outcome>(send: () => Promise<Outcome>): Promise<Outcome> {
    const { clock, schedule } = this.#means
    const until = clock.ticks() + LIMITS.ownerSearchMs
    for (let isSearching = false; ; ) {
      try {
        return await send()
      } catch (error) {
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

  /** On every node that owns anything; rejects if a partition has no owner. */
  async flush(horizon: Millis): Promise<void> {
    const { here, others } = this.#means
    if (others === undefined) {
      await here.do({ kind: 'flush', horizon, partitions: ALL_PARTITIONS })
      return
    }
    const groups = [...this.#byOwner(ALL_PARTITIONS, (partition) => partition)]
    await Promise.all(
      groups.map(([address, partitions]) => this.#send(address, { kind: 'flush', horizon, partitions })),
    )
  }

  /** Whether every partition has an owner that answers. */
  async isWhole(): Promise<boolean> {
    try {
      await this.ask({ kind: 'children', broadcastId: NO_BROADCAST }, [])
      return true
    } catch (error) {
      if (error instanceof Fault && error.retryable) return false
      throw error
    }
  }

  async #views(ask: Extract<Ask, { readonly kind: 'views' }>, after: readonly Mark[]): Promise<Answer> {
    const groups = [...this.#byOwner(ask.deviceIds, partitionOf).values()]
    const answers = await Promise.all(
      groups.map((deviceIds) => {
        const partitions = new Set(deviceIds.map(partitionOf))
        const [first = LEADING] = partitions
        const marks = after.filter(({ partition }) => partitions.has(partition))
        const work = { kind: 'ask', ask: { kind: 'views', deviceIds }, after: marks } as const
        return this.#send(this.#means.others?.addressOf(first), work)
      }),
    )
    const found = new Map(
      groups.flatMap((ids, group) => {
        const answer = answers[group]
        return ids.map((id, i) => [id, answer?.kind === 'views' ? answer.views[i] : undefined] as const)
      }),
    )
    return { kind: 'views', views: ask.deviceIds.map((id) => found.get(id)) }
  }

  async #children(ask: Extract<Ask, { readonly kind: 'children' }>): Promise<Answer> {
    const addresses = [...this.#byOwner(ALL_PARTITIONS, (partition) => partition).keys()]
    const answers = await Promise.all(
      addresses.map((address) => this.#send(address, { kind: 'ask', ask, after: [] })),
    )
    return {
      kind: 'children',
      children: answers.flatMap((answer) => (answer.kind === 'children' ? answer.children : [])),
    }
  }

  #send<Work extends NodeWork>(address: string | undefined, work: Work): Promise<OutcomeOf<Work>> {
    const { here, others } = this.#means
    if (others === undefined || address === others.mesh.address) return here.do(work)
    if (address === undefined) return Promise.reject(notOwned())
    const extraMs = work.kind === 'await' ? work.timeoutMs : 0
    return askNode(others.mesh, work, { address, timeoutMs: LIMITS.nodeAnswerMs + extraMs })
  }

  /** Throws if one of them has no owner. */
  #byOwner<Item>(items: readonly Item[], toPartition: (item: Item) => Partition): Map<string, Item[]> {
    return grouped(items, (item) => {
      const address = this.#means.others?.addressOf(toPartition(item))
      if (address === undefined) throw notOwned()
      return address
    })
  }
}

/** Nobody has begun with it. */
function isNotDone(error: unknown): boolean {
  return error instanceof Fault && (error.code === 'NOT_OWNED' || error.code === 'NODE_ABSENT')
}

function partitionAt(index: number): Partition {
  const partition = ALL_PARTITIONS[index]
  if (partition === undefined) throw new RangeError(`no partition ${index}`)
  return partition
}
