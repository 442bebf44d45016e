// For tests and simulations: users in memory.

import { CachedUsers } from '../cached-users.ts'
import { Directory } from '../directory.ts'

export class MemoryUsers extends CachedUsers {
  readonly #directory: Directory

  /** `mayWrite` rejects to make a write fail. */
  constructor(directory = new Directory(), mayWrite: () => Promise<void> = async () => {}) {
    super(directory, async (changes) => {
      await mayWrite()
      directory.apply(changes)
      return 'written'
    })
    this.#directory = directory
  }

  /** Simulates a crash. The returned users have all that was durable. */
  crash(): MemoryUsers {
    return new MemoryUsers(this.#directory)
  }
}
