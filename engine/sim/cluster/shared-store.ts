// The store that all nodes of a simulated cluster share. It remembers every write, so that it can be put back to an older
// state, like Redis after a failover to a replica that was behind.
import { MemoryStore } from '../../adapters/store/testing/memory.ts'
import { partitionOf } from '../../domain/partition.ts'
import type { Claim, Save, Store } from '../../ports/store.ts'

const WRITES = ['claim', 'save', 'checkpoint', 'clearLate', 'clearHistory', 'putFact'] as const

interface Write {
  /** The time in ticks. */
  readonly at: number
  readonly save: Save | undefined
  again(store: MemoryStore): Promise<void>
}

export class SharedStore {
  #store = new MemoryStore({ partitionOf })
  #writes: Write[] = []
  #writers = 0
  readonly #ticks: () => number
  readonly #claimed: (claims: readonly Claim[]) => void

  /** `claimed` is called after each claim. */
  constructor(ticks: () => number, claimed: (claims: readonly Claim[]) => void) {
    this.#ticks = ticks
    this.#claimed = claimed
  }

  /** The current store. */
  get now(): MemoryStore {
    return this.#store
  }

  /** Returns a connection for one node. */
  connect(): Store {
    const store = this.#store
    const writes = this.#writes
    const writer = ++this.#writers
    return new Proxy<Store>(store, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (name === 'close') return async () => {}
        if (name === 'writer') return writer
        if (typeof value !== 'function') return value
        if (!(WRITES as readonly unknown[]).includes(name)) return value.bind(target)
        return async (...args: readonly unknown[]) => {
          await value.apply(target, args)
          const again = async (other: MemoryStore) => {
            await Reflect.get(other, name).apply(other, args)
          }
          // The first argument of `save` is a save, and that of `claim` a list of claims.
          writes.push({ at: this.#ticks(), save: name === 'save' ? (args[0] as Save) : undefined, again })
          if (name === 'claim') this.#claimed(args[0] as readonly Claim[])
        }
      },
    })
  }

  /** Undoes the writes of the last `ms`, and returns the remaining saves. No node may be connected. */
  async setBack(ms: number): Promise<readonly Save[]> {
    const until = this.#ticks() - ms
    const kept = this.#writes.filter(({ at }) => at <= until)
    this.#store.crash()
    this.#store = new MemoryStore({ partitionOf })
    this.#writes = kept
    for (const { again } of kept) await again(this.#store)
    return kept.flatMap(({ save }) => save ?? [])
  }
}
