// A queue for a few concurrent places. Each caller has a line of their own, and the lines take turns.
//
// F1. The total length of all lines is bounded. When it is reached, the newest entry of the longest line makes room.
import { API_LIMITS } from '../limits.ts'

type Start = (outcome: 'go' | 'busy') => void

export class FairQueue {
  #running = 0
  #waiting = 0
  /** The first line is served next. */
  readonly #lines = new Map<string, Start[]>()

  async run<T>(caller: string, work: () => Promise<T>): Promise<T | 'busy'> {
    if (this.#running < API_LIMITS.hashesAtOnceMax) this.#running++
    // The place is handed directly to the next in turn, so `#running` stays the same.
    else if ((await this.#waitInLine(caller)) === 'busy') return 'busy'
    try {
      return await work()
    } finally {
      this.#startNext()
    }
  }

  async #waitInLine(caller: string): Promise<'go' | 'busy'> {
    if (this.#waiting >= API_LIMITS.hashesWaitingMax && !this.#makeRoom(caller)) return 'busy'
    const line = this.#lines.get(caller) ?? []
    this.#lines.set(caller, line)
    this.#waiting++
    return await new Promise((resolve) => line.push(resolve))
  }

  // by F1
  #makeRoom(caller: string): boolean {
    let [longest, length] = ['', (this.#lines.get(caller)?.length ?? 0) + 1]
    for (const [other, line] of this.#lines)
      if (line.length > length) [longest, length] = [other, line.length]
    const newest = this.#lines.get(longest)?.pop()
    if (newest === undefined) return false
    this.#waiting--
    newest('busy')
    return true
  }

  #startNext(): void {
    for (const [caller, line] of this.#lines) {
      this.#lines.delete(caller)
      const start = line.shift()
      if (line.length > 0) this.#lines.set(caller, line)
      if (start === undefined) continue
      this.#waiting--
      start('go')
      return
    }
    this.#running--
  }
}
