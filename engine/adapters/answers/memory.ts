// Kept answers without a disk, for tests.
import type { Millis } from '../../../schemas/ids.ts'
import type { KeptAnswer, KeptAnswers } from '../../ports/answers.ts'
import { KeptList } from './kept-list.ts'

export class MemoryAnswers implements KeptAnswers {
  readonly #answers = new Map<string, KeptAnswer>()
  readonly #list = new KeptList()

  get(id: string, now: Millis): KeptAnswer | undefined {
    return this.#list.has(id, now) ? this.#answers.get(id) : undefined
  }

  hasRoom(now: Millis): boolean {
    return this.#list.hasRoom(now)
  }

  async put(answer: KeptAnswer, now: Millis): Promise<void> {
    const over = this.#list.over(now)
    for (const id of over) this.#answers.delete(id)
    this.#list.remove(over)
    this.#answers.set(answer.id, answer)
    this.#list.add(answer, answer.sealed.length)
  }
}
