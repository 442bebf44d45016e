// This node's part in deciding who owns which partition (R2): it enters itself into the table, takes its share, hands over
// what is too much, and expels nodes that have fallen silent.
//
// W1. After each renewal that went through, ownership is certain for a while by this node's own monotonic clock. Other
//     nodes wait longer than that from when they saw the renewal. So a node that was paused knows that it may have lost
//     everything before anything is taken from it, and does nothing until the next renewal shows what is true.
// - A node judges the silence of others only while it renews itself. After a pause, or while the table does not answer,
//   no node is blamed for what none could do.
// - A node is expelled before its partitions are taken, and only if it has not renewed since. Its own renewals fail from
//   then on, and it starts again as another node.
// W4. A read may return an older state than the one before. A smaller epoch or revision than is known is ignored.
// - Certainty is no guarantee. The store refuses a save under an epoch that is not the last (`Store.claim`).
// W6. A node that reaches the table but not the store or ClickHouse would keep its partitions and decide nothing for them.
//     So it declares itself unfit once that has lasted for a while, and nodes that can work get its share. It is fit again
//     once it has worked for as long. An unfit node waits before it gives anything away, so that others have time to say
//     that they are unfit, too, and gives nothing once it works again: an outage for all is no reason to move partitions.
// W7. With each renewal a node reports up to which receive time it has come, and only after that does it release what it
//     handed over. So a node that reads that a partition is free knows a time no earlier than any that its owner gave. A
//     dead owner's lease ends before another may take over, and by then time has moved on by more than the lease.
import type { Millis, Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { NodeEntry, OwnershipNode, OwnershipState, OwnershipTable } from '../../ports/ownership.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Claim } from '../../ports/store.ts'
import { shareOf } from './share.ts'

/** This node's receive times, which continue after those of other nodes. */
export interface ReceiveTimes {
  now(): Millis
  follow(at: Millis): void
}

/** The part of a node that works for its partitions. */
interface OwnershipHost {
  /** This node owns these from now on. */
  gained(claims: readonly Claim[]): void
  /** This node has lost these without notice. Nothing more may be done for them. */
  lost(partitions: readonly Partition[]): void
  /** Resolves once nothing more is done for these, so that another node may. This node owns them until then, unless
   *  `lost` is called. */
  handOver(partitions: readonly Partition[]): Promise<void>
  /** The table did not answer. It will be asked again. */
  failed(error: unknown): void
  /** False while this node cannot reach what partitions need. */
  isHealthy?(): boolean
  /** Tells that this node has no share while others can work, or that it has one again. */
  fitnessChanged?(isUnfit: boolean): void
  /** The clock that gives receive times (W7). */
  readonly receiveTimes?: ReceiveTimes
}

export interface OwnershipPorts {
  readonly table: OwnershipTable
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'every'>
  readonly host: OwnershipHost
  /** A node with a new id. */
  readonly newNode: () => OwnershipNode
  /** How many units are shared. These are the engine's partitions or the lanes of the ingress, and a lane goes by the
   *  number of its first partition. */
  readonly count?: number
}

interface NodeSighting {
  readonly revision: number
  readonly at: number
}

export class Ownership {
  readonly #ports: OwnershipPorts
  #node: OwnershipNode
  #revision = 0
  #certainUntil = Number.NEGATIVE_INFINITY
  #certainSince = 0
  readonly #owned = new Map<Partition, number>()
  readonly #leaving = new Set<Partition>()
  /** Partitions handed over that the table may still list as this node's, with their epochs. */
  readonly #handedOver = new Map<Partition, number>()
  readonly #released = new Map<Partition, number>()
  readonly #handOvers = new Set<Promise<void>>()
  #lastSeen: ReadonlyMap<string, NodeSighting> = new Map()
  #addresses: ReadonlyMap<Partition, string> = new Map()
  #round: Promise<void> | undefined
  #isRoundRequested = false
  #wasHealthy = true
  #healthChangedAt = 0
  #fitnessChangedAt = 0
  #isClosing = false
  #stops: readonly (() => void)[] = []

  constructor(ports: OwnershipPorts) {
    this.#ports = ports
    this.#node = ports.newNode()
  }

  start(): void {
    const { schedule, table } = this.#ports
    const look = () => void this.#requestRound()
    this.#stops = [schedule.every(LIMITS.ownershipRenewMs, look), table.onChange(look)]
    look()
  }

  /** While false, nothing may be done for any partition (W1). */
  isCertain(): boolean {
    return this.#ports.clock.ticks() < this.#certainUntil
  }

  /** Whether this node may act for the partition at this moment, under this claim (W1). Asked right before every action
   *  that the store cannot refuse, and again after each wait. */
  mayAct({ partition, epoch }: Claim): boolean {
    return this.isCertain() && this.#owned.get(partition) === epoch
  }

  /** Address of the partition's owner as last seen in the table; undefined while it has none. */
  addressOf(partition: Partition): string | undefined {
    return this.#addresses.get(partition)
  }

  /** Hands everything over before it leaves the table. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#giveUp([...this.#owned.keys()])
    await Promise.all(this.#handOvers)
    for (const stop of this.#stops) stop()
    // The round under way may not know of the hand-over yet, so another one follows.
    await this.#round
    await this.#requestRound()
    try {
      const { table } = this.#ports
      if (this.#revision > 0) await table.expel({ ...this.#node, revision: this.#revision })
      table.announceChange()
    } catch (error) {
      // The others will notice by themselves.
      this.#ports.host.failed(error)
    }
  }

  /** Runs one round at a time. A call during a round makes one more follow. */
  #requestRound(): Promise<void> {
    this.#isRoundRequested = this.#round !== undefined
    this.#round ??= this.#runRound().finally(() => {
      this.#round = undefined
      if (this.#isRoundRequested && !this.#isClosing) void this.#requestRound()
    })
    return this.#round
  }

  async #runRound(): Promise<void> {
    try {
      this.#updateFitness()
      const handedOver = new Map(this.#handedOver)
      if (!(await this.#renew())) return
      await this.#release(handedOver)
      const state = await this.#ports.table.read()
      this.#applyState(state)
      const nodes = await this.#expelSilent(state.nodes)
      if (!this.#isClosing && this.isCertain()) await this.#balance({ ...state, nodes })
    } catch (error) {
      this.#ports.host.failed(error)
    }
  }

  /** Decides whether this node is fit (W6). */
  #updateFitness(): void {
    const { clock, host } = this.#ports
    const now = clock.ticks()
    const isHealthy = host.isHealthy?.() ?? true
    if (isHealthy !== this.#wasHealthy) this.#healthChangedAt = now
    this.#wasHealthy = isHealthy
    const isUnfit = this.#node.isUnfit === true
    if (isHealthy !== isUnfit || now - this.#healthChangedAt < LIMITS.ownershipUnfitMs) return
    this.#fitnessChangedAt = now
    this.#node = { id: this.#node.id, address: this.#node.address, ...(isHealthy ? {} : { isUnfit: true }) }
    host.fitnessChanged?.(!isHealthy)
  }

  async #renew(): Promise<boolean> {
    const { table, clock, newNode, host } = this.#ports
    const sentAt = clock.ticks()
    const at = host.receiveTimes?.now()
    const revision = await table.renew(at === undefined ? this.#node : { ...this.#node, at }, this.#revision)
    if (revision === undefined) {
      this.#node = newNode()
      this.#revision = 0
      this.#certainUntil = Number.NEGATIVE_INFINITY
      this.#lose([...this.#owned.keys()])
      this.#handedOver.clear()
      this.#isRoundRequested = true
      return false
    }
    if (!this.isCertain()) this.#certainSince = clock.ticks()
    this.#revision = revision
    this.#certainUntil = sentAt + LIMITS.ownershipLeaseMs
    return true
  }

  async #release(handedOver: ReadonlyMap<Partition, number>): Promise<void> {
    const { table } = this.#ports
    if (handedOver.size === 0) return
    for (const [partition, epoch] of handedOver) {
      await table.release(partition, epoch)
      this.#handedOver.delete(partition)
      this.#released.set(partition, epoch)
    }
    table.announceChange()
  }

  /** Takes over the state of the table where it is not older than what is known (W4). */
  #applyState({ nodes, owners }: OwnershipState): void {
    for (const { id, at } of nodes)
      if (id !== this.#node.id && at !== undefined) this.#ports.host.receiveTimes?.follow(at)
    const addressOf = new Map(nodes.map(({ id, address }) => [id, address]))
    const addresses = new Map<Partition, string>()
    const lost: Partition[] = []
    const gained: Claim[] = []
    for (const { partition, nodeId, epoch } of owners) {
      const address = nodeId === undefined ? undefined : addressOf.get(nodeId)
      if (address !== undefined) addresses.set(partition, address)
      const known = this.#owned.get(partition)
      if (known !== undefined && epoch > known) lost.push(partition)
      // The table has a claim of this node whose answer was lost.
      else if (known === undefined && nodeId === this.#node.id && this.#isUnknownClaim(partition, epoch))
        gained.push({ partition, epoch })
    }
    this.#addresses = addresses
    this.#lose(lost)
    this.#gain(gained)
  }

  #isUnknownClaim(partition: Partition, epoch: number): boolean {
    return !this.#handedOver.has(partition) && epoch > (this.#released.get(partition) ?? 0)
  }

  async #expelSilent(nodes: readonly NodeEntry[]): Promise<readonly NodeEntry[]> {
    const { table, clock } = this.#ports
    const now = clock.ticks()
    const before = this.#lastSeen
    const sightingOf = ({ id, revision }: NodeEntry): NodeSighting => {
      const seen = before.get(id)
      return seen !== undefined && seen.revision >= revision ? seen : { revision, at: now }
    }
    this.#lastSeen = new Map(nodes.map((node) => [node.id, sightingOf(node)]))
    const living: NodeEntry[] = []
    for (const node of nodes) {
      const heardAt = Math.max(this.#lastSeen.get(node.id)?.at ?? now, this.#certainSince)
      const isSilent = node.id !== this.#node.id && now - heardAt > LIMITS.ownershipSilenceMs
      if (!isSilent || !(await table.expel(node))) living.push(node)
    }
    return living
  }

  async #balance(state: OwnershipState): Promise<void> {
    const { table, count } = this.#ports
    const { take, give } = shareOf(this.#node.id, state, count)
    const claims: Claim[] = []
    try {
      for (const { partition, epoch: before } of take) {
        const epoch = this.isCertain() ? await table.claim(partition, this.#node.id, before) : undefined
        if (epoch !== undefined) claims.push({ partition, epoch })
      }
    } finally {
      this.#gain(claims)
    }
    if (claims.length > 0) table.announceChange()
    if (!this.#isFitnessGrace()) this.#giveUp(give)
  }

  /** Whether this unfit node still waits to see how the others fare (W6). */
  #isFitnessGrace(): boolean {
    if (this.#node.isUnfit !== true) return false
    return (
      this.#wasHealthy || this.#ports.clock.ticks() - this.#fitnessChangedAt < LIMITS.ownershipUnfitMs / 2
    )
  }

  #giveUp(partitions: readonly Partition[]): void {
    const handOver = this.#handOver(partitions).finally(() => this.#handOvers.delete(handOver))
    this.#handOvers.add(handOver)
  }

  async #handOver(partitions: readonly Partition[]): Promise<void> {
    const claims = partitions.flatMap((partition) => {
      const epoch = this.#leaving.has(partition) ? undefined : this.#owned.get(partition)
      return epoch === undefined ? [] : [{ partition, epoch }]
    })
    if (claims.length === 0) return
    for (const { partition } of claims) this.#leaving.add(partition)
    try {
      await this.#ports.host.handOver(claims.map(({ partition }) => partition))
      for (const { partition, epoch } of claims) {
        // It was lost meanwhile, and perhaps gained again.
        if (this.#owned.get(partition) !== epoch) continue
        this.#owned.delete(partition)
        this.#handedOver.set(partition, epoch)
      }
    } catch (error) {
      // This node keeps them, and another round hands them over.
      this.#ports.host.failed(error)
    }
    for (const { partition } of claims) this.#leaving.delete(partition)
    if (!this.#isClosing) void this.#requestRound()
  }

  #gain(claims: readonly Claim[]): void {
    if (claims.length === 0) return
    for (const { partition, epoch } of claims) this.#owned.set(partition, epoch)
    this.#ports.host.gained(claims)
  }

  #lose(partitions: readonly Partition[]): void {
    if (partitions.length === 0) return
    for (const partition of partitions) this.#owned.delete(partition)
    this.#ports.host.lost(partitions)
  }
}
