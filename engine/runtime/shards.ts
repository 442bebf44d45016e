// The shards of this node: which partitions they own, and how questions reach them.
import type { Partition } from '../../schemas/ids.ts'
import type { AlertSettings } from '../domain/alert/rule-book.ts'
import type { Wants } from '../ports/feed.ts'
import type { Claim } from '../ports/store.ts'
import type { NodeFigures } from '../ports/system.ts'
import { fanOut, type Owners, type Question } from './fan-out.ts'
import { grouped } from './grouped.ts'
import { type Assignment, notOwned } from './runner/assignment.ts'
import type { AnswerOf, Ask } from './shard/protocol.ts'

export class Shards {
  readonly #assignments: readonly Assignment[]
  readonly #owned = new Map<Partition, number>()
  readonly #isCertain: () => boolean

  /** `isCertain`: false while another node may own what this node believes to own. */
  constructor(assignments: readonly Assignment[], isCertain: () => boolean) {
    this.#assignments = assignments
    this.#isCertain = isCertain
  }

  gained(claims: readonly Claim[]): void {
    for (const { partition, epoch } of claims) this.#owned.set(partition, epoch)
    this.#byAssignment(claims, ({ partition }) => partition).forEach((own, assignment) => {
      assignment.gain(own)
    })
  }

  lost(partitions: readonly Partition[]): void {
    for (const partition of partitions) this.#owned.delete(partition)
    this.#byAssignment(partitions, (partition) => partition).forEach((own, assignment) => {
      assignment.lose(own)
    })
  }

  async handOver(partitions: readonly Partition[]): Promise<void> {
    const leaving = this.#byAssignment(partitions, (partition) => partition)
    const epochs = new Map(this.#owned)
    await Promise.all([...leaving].map(([assignment, own]) => assignment.handOver(own)))
    // What was lost meanwhile and gained again stays.
    for (const partition of partitions)
      if (this.#owned.get(partition) === epochs.get(partition)) this.#owned.delete(partition)
  }

  /** The claims that a save for this partition must carry. Empty if this node does not own it. */
  claimsOf(partition: Partition): readonly Claim[] {
    const epoch = this.#owned.get(partition)
    return epoch === undefined ? [] : [{ partition, epoch }]
  }

  owns(partition: Partition): boolean {
    return this.#owned.has(partition)
  }

  /** Whether this node owns the partition and no other node can. */
  acts(partition: Partition): boolean {
    return this.owns(partition) && this.#isCertain()
  }

  /** Resolves once this partition's claim has gone through, or this node no longer owns it. */
  assigned(partition: Partition): Promise<void> {
    return this.#assignmentOf(partition).settled()
  }

  /** The answer includes everything up to `after`. Rejects with a `NOT_OWNED` fault if the question concerns a partition
   *  of another node, because an answer without its devices would be incomplete. */
  async ask<A extends Ask>({ ask, after, partitions }: Question<A>): Promise<AnswerOf<A>> {
    const owners: Owners<Assignment> = {
      partitions,
      ownerOf: (partition) => this.#assignmentOf(partition),
      ask: (assignment, question) => assignment.ask(question),
    }
    const answer = await fanOut(owners, { ask, after })
    if (!this.#isCertain()) throw notOwned()
    return answer
  }

  want(wants: Wants): void {
    for (const assignment of this.#assignments) assignment.want(wants)
  }

  /** Sets the rules and silences for everything that is read from now on. */
  rule(settings: AlertSettings): void {
    for (const assignment of this.#assignments) assignment.rule(settings)
  }

  sweep(): void {
    for (const assignment of this.#assignments) assignment.sweep()
  }

  backlog(): readonly number[] {
    return this.#assignments.map((assignment) => assignment.backlog())
  }

  lags(): NodeFigures['partitions'] {
    const all = this.#assignments.flatMap((assignment) => assignment.lags())
    return all.sort((a, b) => a.partition - b.partition)
  }

  async flush(): Promise<void> {
    await Promise.all(this.#assignments.map((assignment) => assignment.flush()))
  }

  async close(deadlineMs: number): Promise<void> {
    await Promise.all(this.#assignments.map((assignment) => assignment.close(deadlineMs)))
  }

  #byAssignment<Item>(
    items: readonly Item[],
    toPartition: (item: Item) => Partition,
  ): Map<Assignment, Item[]> {
    return grouped(items, (item) => this.#assignmentOf(toPartition(item)))
  }

  /** Partitions are dealt out to assignments in turn. */
  #assignmentOf(partition: Partition): Assignment {
    const assignment = this.#assignments[partition % this.#assignments.length]
    // A node without shards owns nothing.
    if (assignment === undefined) throw notOwned()
    return assignment
  }
}
