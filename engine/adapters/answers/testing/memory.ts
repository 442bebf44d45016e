// For tests: stored answers in memory.
import type { Millis } from '../../../../schemas/ids.ts'
import type { AnswerKey, BegunAnswer, FoundAnswer, KeptAnswer, KeptAnswers } from '../../../ports/answers.ts'
import { type AnswersRoom, KeptList } from '../kept-list.ts'

export class MemoryAnswers implements KeptAnswers {
  readonly #answers = new Map<string, KeptAnswer>()
  readonly #list: KeptList

  constructor(room?: AnswersRoom) {
    this.#list = new KeptList(room)
  }

  async find(key: AnswerKey, now: Millis): Promise<FoundAnswer> {
    return this.#find(key, now)
  }

  // There is no await between check and entry, so of two concurrent requests only one begins.
  async begin(key: AnswerKey, now: Millis): Promise<BegunAnswer> {
    const found = this.#find(key, now)
    return found.kind === 'none' ? this.#list.begin(key.id, now) : found
  }

  async put(answer: KeptAnswer, now: Millis): Promise<void> {
    const leaving = this.#list.leaving(answer, now)
    for (const id of leaving) this.#answers.delete(id)
    this.#list.remove(leaving)
    this.#answers.set(answer.id, answer)
    this.#list.add(answer, answer.sealed.length)
  }

  async giveUp(id: string, until: Millis): Promise<void> {
    this.#list.giveUp(id, until)
  }

  #find({ id, owner }: AnswerKey, now: Millis): FoundAnswer {
    const answer = this.#list.has(id, now) ? this.#answers.get(id) : undefined
    return answer === undefined ? this.#list.room(owner, now) : { kind: 'kept', answer }
  }
}
