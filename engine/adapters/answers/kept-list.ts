// Which answers are kept, in memory: how long, and how large they are. All are kept equally long, so that the oldest
// is the first whose time is over.
import type { Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { KeptAnswer } from '../../ports/answers.ts'

interface Entry {
  readonly keptUntil: Millis
  readonly bytes: number
}

export class KeptList {
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  has(id: string, now: Millis): boolean {
    const entry = this.#entries.get(id)
    return entry !== undefined && entry.keptUntil > now
  }

  hasRoom(now: Millis): boolean {
    const over = this.over(now)
    const bytes = over.reduce((sum, id) => sum - (this.#entries.get(id)?.bytes ?? 0), this.#bytes)
    return this.#entries.size - over.length < LIMITS.keptAnswersMax && bytes < LIMITS.keptAnswersBytesMax
  }

  /** Those whose time is over. */
  over(now: Millis): readonly string[] {
    const over: string[] = []
    for (const [id, { keptUntil }] of this.#entries) {
      if (keptUntil > now) break
      over.push(id)
    }
    return over
  }

  add({ id, keptUntil }: Pick<KeptAnswer, 'id' | 'keptUntil'>, bytes: number): void {
    this.remove([id])
    this.#entries.set(id, { keptUntil, bytes })
    this.#bytes += bytes
  }

  remove(ids: readonly string[]): void {
    for (const id of ids) {
      this.#bytes -= this.#entries.get(id)?.bytes ?? 0
      this.#entries.delete(id)
    }
  }
}
