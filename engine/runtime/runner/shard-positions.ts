// How far a shard has got, as its host knows it: one position per partition in four senses, each at or below the
// one before it.
//
// - applied: decided, saved and performed. It outlives the shard, so that nothing is performed twice.
// - seen: read by this incarnation of the shard and settled; its vitals and snapshots reach so far.
// - covered: its rows are collected or handed out.
// - inserted (the store's): its rows are stored. A restart reads what lies behind it.
import type { Partition } from '../../../schemas/ids.ts'
import type { Entry, Positions } from '../../ports/log.ts'

import type { Records } from '../../ports/store.ts'
import type { Position } from '../shard/protocol.ts'

export class ShardPositions {
  readonly #store: Pick<Records, 'applied' | 'inserted'>
  readonly #applied: number[]
  #seen: number[] = []
  #covered: number[] = []

  constructor(store: Pick<Records, 'applied' | 'inserted'>) {
    this.#store = store
    const inserted = store.inserted()
    // A batch that changed no record is not saved; that it was applied shows in the checkpoint of its rows.
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

  /** The next incarnation of the shard reads again from where rows and vitals are stored. */
  startOver(): void {
    this.#seen = [...this.#store.inserted()]
    this.#covered = [...this.#seen]
  }

  /** These were gained: they begin with what the store has of them after their claim. */
  join(partitions: readonly Partition[]): void {
    const [applied, inserted] = [this.#store.applied(), this.#store.inserted()]
    for (const partition of partitions) {
      const stored = inserted[partition] ?? 0
      this.#applied[partition] = Math.max(applied[partition] ?? 0, stored)
      this.#seen[partition] = stored
      this.#covered[partition] = stored
    }
  }

  /** These were settled. */
  settled(applied: readonly Position[], entries: readonly Entry[]): void {
    for (const position of applied) raise(this.#applied, position)
    for (const entry of entries) raise(this.#seen, entry)
  }

  /** All that the log has was read: what is applied and not to be had from it any more has no vitals. */
  caughtUp(): void {
    this.#seen = [...this.#applied]
  }

  /** A shard that has covered nothing yet says 0; what was covered before it stays covered. */
  cover(covered: Float64Array): void {
    covered.forEach((seq, partition) => {
      this.#covered[partition] = Math.max(this.#covered[partition] ?? 0, seq)
    })
  }
}

function raise(positions: number[], { partition, seq }: Position): void {
  positions[partition] = Math.max(positions[partition] ?? 0, seq)
}
