// The shards of this node: which partitions are its own, and what is asked of them.
import type { BroadcastId, DeviceId, Partition } from '../../schemas/ids.ts'
import { partitionOf } from '../domain/partition.ts'
import type { DeviceView } from '../ports/device-view.ts'
import type { Wants } from '../ports/feed.ts'
import type { Claim } from '../ports/store.ts'
import { grouped } from './grouped.ts'
import { notOwned, type Seat } from './runner/seat.ts'
import type { Answer, Ask, Mark } from './shard/protocol.ts'

export class Shards {
  readonly #seats: readonly Seat[]
  readonly #owned = new Map<Partition, number>()
  readonly #isCertain: () => boolean

  /** `isCertain`: false while what is owned may be another's by now. */
  constructor(seats: readonly Seat[], isCertain: () => boolean) {
    this.#seats = seats
    this.#isCertain = isCertain
  }

  gained(claims: readonly Claim[]): void {
    for (const { partition, epoch } of claims) this.#owned.set(partition, epoch)
    this.#bySeat(claims, ({ partition }) => partition).forEach((own, seat) => {
      seat.gain(own)
    })
  }

  lost(partitions: readonly Partition[]): void {
    for (const partition of partitions) this.#owned.delete(partition)
    this.#bySeat(partitions, (partition) => partition).forEach((own, seat) => {
      seat.lose(own)
    })
  }

  async handOver(partitions: readonly Partition[]): Promise<void> {
    const leaving = this.#bySeat(partitions, (partition) => partition)
    await Promise.all([...leaving].map(([seat, own]) => seat.handOver(own)))
    for (const partition of partitions) this.#owned.delete(partition)
  }

  owns(partition: Partition): boolean {
    return this.#owned.has(partition)
  }

  /** It is ours, and nobody else's for certain. */
  acts(partition: Partition): boolean {
    return this.owns(partition) && this.#isCertain()
  }

  /** Resolves once the claim of this partition went through, or it is not ours any more. */
  seated(partition: Partition): Promise<void> {
    return this.#seatOf(partition).settled()
  }

  /** Sees all that lies at or before `after`. Rejects with a `NOT_OWNED` fault if it concerns others' partitions. */
  async ask(ask: Ask, after: readonly Mark[]): Promise<Answer> {
    const answer = await this.#ask(ask, after)
    if (!this.#isCertain()) throw notOwned()
    return answer
  }

  want(wants: Wants): void {
    for (const seat of this.#seats) seat.want(wants)
  }

  tick(): void {
    for (const seat of this.#seats) seat.tick()
  }

  backlog(): readonly number[] {
    return this.#seats.map((seat) => seat.backlog())
  }

  async flush(): Promise<void> {
    await Promise.all(this.#seats.map((seat) => seat.flush()))
  }

  async close(deadlineMs: number): Promise<void> {
    await Promise.all(this.#seats.map((seat) => seat.close(deadlineMs)))
  }

  #ask(ask: Ask, after: readonly Mark[]): Promise<Answer> {
    if (ask.kind === 'views') return this.#views(ask.deviceIds, after)
    if (ask.kind === 'children') return this.#children(ask.broadcastId)
    const partition = partitionOf(ask.deviceId)
    return this.#seatOf(partition).ask(ask, after, [partition])
  }

  async #views(deviceIds: readonly DeviceId[], after: readonly Mark[]): Promise<Answer> {
    const found = new Map<DeviceId, DeviceView | undefined>()
    const asks = [...this.#bySeat(deviceIds, partitionOf)].map(async ([seat, ids]) => {
      const partitions = ids.map(partitionOf)
      const marks = after.filter(({ partition }) => partitions.includes(partition))
      const answer = await seat.ask({ kind: 'views', deviceIds: ids }, marks, partitions)
      if (answer.kind !== 'views') return
      ids.forEach((id, i) => {
        found.set(id, answer.views[i])
      })
    })
    await Promise.all(asks)
    return { kind: 'views', views: deviceIds.map((id) => found.get(id)) }
  }

  async #children(broadcastId: BroadcastId): Promise<Answer> {
    const seats = this.#bySeat([...this.#owned.keys()], (partition) => partition)
    const ask = { kind: 'children', broadcastId } as const
    const answers = await Promise.all([...seats].map(([seat, own]) => seat.ask(ask, [], own)))
    return {
      kind: 'children',
      children: answers.flatMap((answer) => (answer.kind === 'children' ? answer.children : [])),
    }
  }

  #bySeat<Item>(items: readonly Item[], toPartition: (item: Item) => Partition): Map<Seat, Item[]> {
    return grouped(items, (item) => this.#seatOf(toPartition(item)))
  }

  /** Dealt out in turn. */
  #seatOf(partition: Partition): Seat {
    const seat = this.#seats[partition % this.#seats.length]
    // A node without shards owns nothing.
    if (seat === undefined) throw notOwned()
    return seat
  }
}
