// For tests and simulations: users in memory.
import { Directory } from '../directory.ts'
import { HeldUsers } from '../held-users.ts'

export class MemoryUsers extends HeldUsers {
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
