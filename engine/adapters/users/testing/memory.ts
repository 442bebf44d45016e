// Users without a disk, for tests and simulations.
import { Directory } from '../directory.ts'
import { HeldUsers } from '../held-users.ts'

export class MemoryUsers extends HeldUsers {
  readonly #directory: Directory

  /** `mayWrite` rejects when the write shall fail. */
  constructor(directory = new Directory(), mayWrite: () => Promise<void> = async () => {}) {
    super(directory, async (changes) => {
      await mayWrite()
      directory.apply(changes)
      return 'written'
    })
    this.#directory = directory
  }

  /** The process dies. What was durable is in the one returned. */
  crash(): MemoryUsers {
    return new MemoryUsers(this.#directory)
  }
}
