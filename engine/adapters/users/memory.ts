// Users without a disk, for tests and simulations.
import { Directory } from './directory.ts'
import { HeldUsers, type WriteUsers } from './held-users.ts'

export class MemoryUsers extends HeldUsers {
  readonly #directory: Directory

  constructor(directory = new Directory(), write: WriteUsers = async () => {}) {
    super(directory, write)
    this.#directory = directory
  }

  /** The process dies. What was durable is in the one returned. */
  crash(): MemoryUsers {
    return new MemoryUsers(this.#directory)
  }
}
