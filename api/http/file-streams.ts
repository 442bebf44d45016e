// Limits concurrent file downloads. Callers may read slowly and there are few places, so each caller may hold only some.
import type { Readable } from 'node:stream'
import { API_LIMITS } from '../limits.ts'
import { type Refusal, refused } from '../refusal.ts'

export class FileStreams {
  readonly #counts = new Map<string, number>()

  /** Counts the file until it has ended. If the caller has too many, ends the file at once and returns the refusal. */
  refuse(caller: string, bytes: Readable): Refusal | undefined {
    const count = this.#counts.get(caller) ?? 0
    if (count >= API_LIMITS.filesPerCallerMax) {
      bytes.destroy()
      return refused('RATE_LIMIT_EXCEEDED', {
        message: `at most ${API_LIMITS.filesPerCallerMax} files of one user are sent at once`,
        retry_after_sec: API_LIMITS.retryAfterSec,
      })
    }
    this.#counts.set(caller, count + 1)
    bytes.once('close', () => this.#end(caller))
    return undefined
  }

  #end(caller: string): void {
    const count = (this.#counts.get(caller) ?? 0) - 1
    if (count > 0) this.#counts.set(caller, count)
    else this.#counts.delete(caller)
  }
}
