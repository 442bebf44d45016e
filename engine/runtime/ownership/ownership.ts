// This node's part in who owns which partition (R2): enters itself, takes its share, hands over what is too much, and
// takes out nodes that have fallen silent.
//
// W1. What is owned is certain for a while after the last renewal that went through, by this node's own monotonic
//     clock. Others wait longer than that, from when they saw it. So a node that was paused knows that it may have
//     lost everything before anything was taken from it, and does nothing until the next renewal says what is true.
// - A node is silent only to one that renews itself meanwhile: after a pause, or while the table does not answer,
//   nobody is blamed for what nobody could do.
// - A node is taken out before its partitions are taken, and only if it has not renewed since: then its own renewals
//   fail, and it starts again as another node.
// W4. A read may be older than the one before it. What has a smaller epoch or revision than is known is no news.
// - Certainty is no guarantee. The store refuses a save under an epoch that is not the last (`Store.claim`).
// W6. A node that sees the table but not the store or ClickHouse would keep its partitions and decide nothing for them.
//     So it says that it is unfit once that has lasted for a while, and others that can work have its share. It is fit
//     again once it has worked for as long. It gives nothing before the others, too, had time to say that they are unfit,
//     and nothing when it works again: what is away for all is no reason to move.
// W7. A node says with each renewal up to which receive time it has come, and releases nothing that it handed over since. So
//     who reads that something is free reads a time behind all that its owner gave. A dead owner's lease ended before
//     another may take over, and the time has moved on by more than the lease.
import type { Millis, Partition } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { Clock } from '../../ports/clock.ts'
import type { NodeEntry, OwnershipNode, OwnershipState, OwnershipTable } from '../../ports/ownership.ts'
import type { Schedule } from '../../ports/schedule.ts'
import type { Claim } from '../../ports/store.ts'
import { shareOf } from './share.ts'

/** The receive times of this node, which go on behind those of others. */
export interface ReceiveTimes {
  now(): Millis
  follow(at: Millis): void
}

/** The part of a node that works for its partitions. */
interface OwnershipHost {
  /** Ours from now on. */
  gained(claims: readonly Claim[]): void
  /** Ours no longer, without notice: nothing more may be done for them. */
  lost(partitions: readonly Partition[]): void
  /** Resolves once nothing more is done for them, and another may. Until then they are ours, unless `lost` says so. */
  handOver(partitions: readonly Partition[]): Promise<void>
  /** The table did not answer; it is asked again. */
  failed(error: unknown): void
  /** False while what partitions need is away from here. */
  works?(): boolean
  /** This node has no share of the partitions from now on while others can work; or it has one again. */
  unfit?(isUnfit: boolean): void
  /** Where times are given to what is received (W7). */
  readonly times?: ReceiveTimes
}

export interface OwnershipPorts {
  readonly table: OwnershipTable
  readonly clock: Pick<Clock, 'ticks'>
  readonly schedule: Pick<Schedule, 'every'>
  readonly host: OwnershipHost
  /** A node that nobody has seen yet. */
  readonly newNode: () => OwnershipNode
  /** How many there are of what is shared: the engine's partitions, or else the lanes of the ingress, each named by its
   *  first partition. */
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
  /** Handed over, and perhaps still entered as ours. */
  readonly #handedOver = new Map<Partition, number>()
  readonly #released = new Map<Partition, number>()
  readonly #handOvers = new Set<Promise<void>>()
  #seen: ReadonlyMap<string, NodeSighting> = new Map()
  #addresses: ReadonlyMap<Partition, string> = new Map()
  #round: Promise<void> | undefined
  #isAgain = false
  #worked = true
  #workedSince = 0
  #judgedAt = 0
  #isClosing = false
  #stops: readonly (() => void)[] = []

  constructor(ports: OwnershipPorts) {
    this.#ports = ports
    this.#node = ports.newNode()
  }

  start(): void {
    const { schedule, table } = this.#ports
    const look = () => void this.#look()
    this.#stops = [schedule.every(LIMITS.ownershipRenewMs, look), table.onCall(look)]
    look()
  }

  /** While false, nothing may be done for any partition (W1). */
  isCertain(): boolean {
    return this.#ports.clock.ticks() < this.#certainUntil
  }

  /** Whether this node may do something for the partition at this moment, under this claim (W1). Asked right before each
   *  thing that the store cannot refuse, and again after each wait. */
  mayAct({ partition, epoch }: Claim): boolean {
    return this.isCertain() && this.#owned.get(partition) === epoch
  }

  /** Address of the partition's owner as last seen in the table; undefined while it has none. */
  addressOf(partition: Partition): string | undefined {
    return this.#addresses.get(partition)
  }

  /** Hands everything over, in the order of things. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#giveUp([...this.#owned.keys()])
    await Promise.all(this.#handOvers)
    for (const stop of this.#stops) stop()
    // One that began before it knew of all this, and one that gives it all up.
    await this.#round
    await this.#look()
    try {
      const { table } = this.#ports
      if (this.#revision > 0) await table.expel({ ...this.#node, revision: this.#revision })
      table.call()
    } catch (error) {
      // The others find out by themselves.
      this.#ports.host.failed(error)
    }
  }

  /** One round at a time; what is asked for meanwhile makes one more. */
  #look(): Promise<void> {
    this.#isAgain = this.#round !== undefined
    this.#round ??= this.#tryRound().finally(() => {
      this.#round = undefined
      if (this.#isAgain && !this.#isClosing) void this.#look()
    })
    return this.#round
  }

  async #tryRound(): Promise<void> {
    try {
      this.#judge()
      const handedOver = new Map(this.#handedOver)
      if (!(await this.#renew())) return
      await this.#release(handedOver)
      const state = await this.#ports.table.read()
      this.#compare(state)
      const nodes = await this.#withoutSilent(state.nodes)
      if (!this.#isClosing && this.isCertain()) await this.#share({ ...state, nodes })
    } catch (error) {
      this.#ports.host.failed(error)
    }
  }

  /** Decides whether this node is fit (W6). */
  #judge(): void {
    const { clock, host } = this.#ports
    const now = clock.ticks()
    const works = host.works?.() ?? true
    if (works !== this.#worked) this.#workedSince = now
    this.#worked = works
    const isUnfit = this.#node.isUnfit === true
    if (works !== isUnfit || now - this.#workedSince < LIMITS.ownershipUnfitMs) return
    this.#judgedAt = now
    this.#node = { id: this.#node.id, address: this.#node.address, ...(works ? {} : { isUnfit: true }) }
    host.unfit?.(!works)
  }

  async #renew(): Promise<boolean> {
    const { table, clock, newNode, host } = this.#ports
    const sentAt = clock.ticks()
    const at = host.times?.now()
    const revision = await table.renew(at === undefined ? this.#node : { ...this.#node, at }, this.#revision)
    if (revision === undefined) {
      this.#node = newNode()
      this.#revision = 0
      this.#certainUntil = Number.NEGATIVE_INFINITY
      this.#lose([...this.#owned.keys()])
      this.#handedOver.clear()
      this.#isAgain = true
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
    table.call()
  }

  /** Takes over what the table says, unless it is older than what is known (W4). */
  #compare({ nodes, owners }: OwnershipState): void {
    for (const { id, at } of nodes)
      if (id !== this.#node.id && at !== undefined) this.#ports.host.times?.follow(at)
    const addressOf = new Map(nodes.map(({ id, address }) => [id, address]))
    const addresses = new Map<Partition, string>()
    const lost: Partition[] = []
    const gained: Claim[] = []
    for (const { partition, nodeId, epoch } of owners) {
      const address = nodeId === undefined ? undefined : addressOf.get(nodeId)
      if (address !== undefined) addresses.set(partition, address)
      const known = this.#owned.get(partition)
      if (known !== undefined && epoch > known) lost.push(partition)
      // A claim went through whose answer was lost.
      else if (known === undefined && nodeId === this.#node.id && this.#isNews(partition, epoch))
        gained.push({ partition, epoch })
    }
    this.#addresses = addresses
    this.#lose(lost)
    this.#gain(gained)
  }

  #isNews(partition: Partition, epoch: number): boolean {
    return !this.#handedOver.has(partition) && epoch > (this.#released.get(partition) ?? 0)
  }

  async #withoutSilent(nodes: readonly NodeEntry[]): Promise<readonly NodeEntry[]> {
    const { table, clock } = this.#ports
    const now = clock.ticks()
    const before = this.#seen
    const seenOf = ({ id, revision }: NodeEntry): NodeSighting => {
      const seen = before.get(id)
      return seen !== undefined && seen.revision >= revision ? seen : { revision, at: now }
    }
    this.#seen = new Map(nodes.map((node) => [node.id, seenOf(node)]))
    const living: NodeEntry[] = []
    for (const node of nodes) {
      const heardAt = Math.max(this.#seen.get(node.id)?.at ?? now, this.#certainSince)
      const isSilent = node.id !== this.#node.id && now - heardAt > LIMITS.ownershipSilenceMs
      if (!isSilent || !(await table.expel(node))) living.push(node)
    }
    return living
  }

  async #share(state: OwnershipState): Promise<void> {
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
    if (claims.length > 0) table.call()
    if (!this.#isWaiting()) this.#giveUp(give)
  }

  /** Whether this unfit node still has to see how the others fare (W6). */
  #isWaiting(): boolean {
    if (this.#node.isUnfit !== true) return false
    return this.#worked || this.#ports.clock.ticks() - this.#judgedAt < LIMITS.ownershipUnfitMs / 2
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
        // Lost meanwhile, and perhaps ours again.
        if (this.#owned.get(partition) !== epoch) continue
        this.#owned.delete(partition)
        this.#handedOver.set(partition, epoch)
      }
    } catch (error) {
      // They stay ours, and are handed over with another round.
      this.#ports.host.failed(error)
    }
    for (const { partition } of claims) this.#leaving.delete(partition)
    if (!this.#isClosing) void this.#look()
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
