// Writes to the file that the store, the users and the kept answers share. A failure is reported as a fault of the store.
import { Fault } from '../../ports/fault.ts'
import { type Change, CommitError, type LmdbEnv } from './lmdb-env.ts'

/** Writes all changes or none. Rejects with a fault of the store. */
export async function saveChanges(env: Pick<LmdbEnv, 'write'>, changes: readonly Change[]): Promise<void> {
  try {
    await env.write(changes)
  } catch (cause) {
    const isFinal = cause instanceof CommitError && cause.isFinal
    throw new Fault('STORE_UNAVAILABLE', { retryable: !isFinal, cause })
  }
}
