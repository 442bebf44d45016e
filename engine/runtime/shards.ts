// The shards of this node: which partitions are its own, and what is asked of them.
import type { Partition } from '../../schemas/ids.ts'
import type { Wants } from '../ports/feed.ts'
import type { Claim } from '../ports/store.ts'
import { fanOut, type Owners } from './fan-out.ts'
import { grouped } from './grouped.ts'
import { notOwned, type Seat } from './runner/seat.ts'
import type { AnswerOf, Ask, Mark } from './shard/protocol.ts'

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

  /** The answer sees everything at or before `after`. Rejects with a `NOT_OWNED` fault if the question is about a
   *  partition of another node. */
  async ask<A extends Ask>(ask: A, after: readonly Mark[]): Promise<AnswerOf<A>> {
    const owners: Owners<Seat> = {
      partitions: this.#owned.keys(),
      ownerOf: (partition) => this.#seatOf(partition),
      ask: (seat, question) => seat.ask(question),
    }
    const answer = await fanOut(owners, { ask, after })
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
