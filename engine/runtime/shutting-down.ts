import { Fault } from '../ports/fault.ts'

/** The answer of a process that ends. Another one answers, or a later one. */
export function shuttingDown(): Fault {
  return new Fault('SHARD_LOST', { retryable: true, message: 'this process is shutting down; try again' })
}
