// Files on their way to callers, each of whom may take their time. There are few places for them, so a caller has fewer.
import type { Readable } from 'node:stream'
import { API_LIMITS } from '../limits.ts'
import { type Refusal, refused } from '../refusal.ts'

export class FileStreams {
  readonly #counts = new Map<string, number>()

  /** Counts the file until it has ended. Ends it at once if its caller has too many, and says so. */
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
