// What one node does for all: handing out broadcasts. It is the one that owns the first partition, from when its claim
// went through.
import type { Broadcasts } from '../broadcasts.ts'
import { notOwned } from '../runner/assignment.ts'
import type { Shards } from '../shards.ts'
import { LEADING } from './nodes.ts'

export class Leader {
  readonly #shards: Shards
  readonly #open: () => Broadcasts
  #broadcasts: Broadcasts | undefined
  #terms = 0

  /** `open`: with what earlier leaders have saved. */
  constructor(shards: Shards, open: () => Broadcasts) {
    this.#shards = shards
    this.#open = open
  }

  isLeading(): boolean {
    return this.#broadcasts !== undefined && this.#shards.acts(LEADING)
  }

  async begin(): Promise<void> {
    const term = ++this.#terms
    await this.#shards.assigned(LEADING)
    if (term !== this.#terms || !this.#shards.owns(LEADING)) return
    this.#broadcasts = this.#open()
    this.#broadcasts.open()
  }

  end(): void {
    this.#terms++
    this.#broadcasts?.close()
    this.#broadcasts = undefined
  }

  /** Throws where another leads. */
  broadcasts(): Broadcasts {
    if (this.#broadcasts === undefined) throw notOwned()
    return this.#broadcasts
  }

  async settleBroadcasts(): Promise<void> {
    if (this.isLeading()) await this.#broadcasts?.settle()
  }
}
