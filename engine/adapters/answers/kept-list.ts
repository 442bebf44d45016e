// An index in memory of the stored answers, with their expiry and size, and of the requests in progress. All answers
// live equally long, so the oldest expires first, and likewise for requests in progress.
import { Millis } from '../../../schemas/ids.ts'
import { LIMITS } from '../../limits.ts'
import type { BegunAnswer, FoundAnswer, KeptAnswer } from '../../ports/answers.ts'

interface Entry {
  readonly keptUntil: Millis
  readonly bytes: number
}

export class KeptList {
  readonly #entries = new Map<string, Entry>()
  readonly #begun = new Map<string, Millis>()
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax: number = LIMITS.keptAnswersBytesMax) {
    this.#bytesMax = bytesMax
  }

  has(id: string, now: Millis): boolean {
    const entry = this.#entries.get(id)
    return entry !== undefined && entry.keptUntil > now
  }

  /** Whether there is room for another answer. */
  room(now: Millis): FoundAnswer {
    const over = this.over(now)
    const bytes = over.reduce((sum, id) => sum - (this.#entries.get(id)?.bytes ?? 0), this.#bytes)
    const hasRoom = this.#entries.size - over.length < LIMITS.keptAnswersMax && bytes < this.#bytesMax
    return { kind: hasRoom ? 'none' : 'full' }
  }

  /** Ends a request in progress without storing an answer. */
  begin(id: string, now: Millis): BegunAnswer {
    for (const [other, until] of this.#begun) {
      if (until > now) break
      this.#begun.delete(other)
    }
    if (this.#begun.has(id)) return { kind: 'running' }
    const until = Millis(now + LIMITS.answerBegunMs)
    this.#begun.set(id, until)
    return { kind: 'begun', until }
  }

  giveUp(id: string, until: Millis): void {
    if (this.#begun.get(id) === until) this.#begun.delete(id)
  }

  /** Removes and returns the expired answers. */
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
    this.#begun.delete(id)
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
