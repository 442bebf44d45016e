// For tests: stored answers in memory.
import type { Millis } from '../../../../schemas/ids.ts'
import type { BegunAnswer, FoundAnswer, KeptAnswer, KeptAnswers } from '../../../ports/answers.ts'
import { KeptList } from '../kept-list.ts'

export class MemoryAnswers implements KeptAnswers {
  readonly #answers = new Map<string, KeptAnswer>()
  readonly #list: KeptList

  constructor(bytesMax?: number) {
    this.#list = new KeptList(bytesMax)
  }

  async find(id: string, now: Millis): Promise<FoundAnswer> {
    return this.#find(id, now)
  }

  // There is no await between check and entry, so of two concurrent requests only one begins.
  async begin(id: string, now: Millis): Promise<BegunAnswer> {
    const found = this.#find(id, now)
    return found.kind === 'none' ? this.#list.begin(id, now) : found
  }

  async put(answer: KeptAnswer, now: Millis): Promise<void> {
    const over = this.#list.over(now)
    for (const id of over) this.#answers.delete(id)
    this.#list.remove(over)
    this.#answers.set(answer.id, answer)
    this.#list.add(answer, answer.sealed.length)
  }

  async giveUp(id: string, until: Millis): Promise<void> {
    this.#list.giveUp(id, until)
  }

  #find(id: string, now: Millis): FoundAnswer {
    const answer = this.#list.has(id, now) ? this.#answers.get(id) : undefined
    return answer === undefined ? this.#list.room(now) : { kind: 'kept', answer }
  }
}
