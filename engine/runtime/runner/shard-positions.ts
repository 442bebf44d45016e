// How far a shard has got, as its host knows it: four positions per partition, each at or below the previous one.
//
// - applied: decided, saved and performed. Survives the shard, so that nothing is performed twice.
// - seen: read by this incarnation of the shard and settled. Its vitals and snapshots reach this far.
// - covered: its rows are collected or handed out.
// - inserted (kept by the store): its rows are stored. A restart reads what comes after it.
import type { Partition } from '../../../schemas/ids.ts'
import type { Entry, Positions } from '../../ports/log.ts'
import type { Records } from '../../ports/store.ts'
import type { Position } from '../shard/protocol.ts'
import { raise } from '../shard/raise.ts'

export class ShardPositions {
  readonly #store: Pick<Records, 'applied' | 'inserted'>
  readonly #applied: number[]
  #seen: number[] = []
  #covered: number[] = []

  constructor(store: Pick<Records, 'applied' | 'inserted'>) {
    this.#store = store
    const inserted = store.inserted()
    // A batch that changed no record is not saved, but the checkpoint of its rows shows that it was applied.
    this.#applied = store.applied().map((seq, partition) => Math.max(seq, inserted[partition] ?? 0))
    this.startOver()
  }

  get applied(): Positions {
    return this.#applied
  }

  appliedOf(partitions: readonly Partition[]): readonly Position[] {
    return partitions.map((partition) => ({ partition, seq: this.#applied[partition] ?? 0 }))
  }

  get seen(): Positions {
    return this.#seen
  }

  get covered(): Positions {
    return this.#covered
  }

  /** Goes back to where rows and vitals are stored. The shard's next incarnation reads from there. */
  startOver(): void {
    this.#seen = [...this.#store.inserted()]
    this.#covered = [...this.#seen]
  }

  /** Adds gained partitions at the positions that the store has after their claim. */
  join(partitions: readonly Partition[]): void {
    const [applied, inserted] = [this.#store.applied(), this.#store.inserted()]
    for (const partition of partitions) {
      const stored = inserted[partition] ?? 0
      this.#applied[partition] = Math.max(applied[partition] ?? 0, stored)
      this.#seen[partition] = stored
      this.#covered[partition] = stored
    }
  }

  /** Notes what was settled. */
  settled(applied: readonly Position[], entries: readonly Entry[]): void {
    for (const position of applied) raise(this.#applied, position)
    for (const entry of entries) raise(this.#seen, entry)
  }

  /** Called when everything in the log was read. Applied entries that the log no longer has cannot restore vitals. */
  caughtUp(): void {
    this.#seen = [...this.#applied]
  }

  /** Raises the covered positions. A new shard reports 0 until it covers something, which changes nothing. */
  cover(covered: Float64Array): void {
    covered.forEach((seq, partition) => {
      this.#covered[partition] = Math.max(this.#covered[partition] ?? 0, seq)
    })
  }
}
