// For tests: stored answers in memory.
import type { Millis } from '../../../../schemas/ids.ts'
import type {
  AnswerKey,
  AnswerLookup,
  BeginResult,
  IdempotencyStore,
  StoredAnswer,
} from '../../../ports/idempotency.ts'
import { type AnswerBounds, AnswerIndex } from '../answer-index.ts'

export class MemoryAnswers implements IdempotencyStore {
  readonly #answers = new Map<string, StoredAnswer>()
  readonly #list: AnswerIndex

  constructor(room?: AnswerBounds) {
    this.#list = new AnswerIndex(room)
  }

  async find(key: AnswerKey, now: Millis): Promise<AnswerLookup> {
    return this.#find(key, now)
  }

  // There is no await between check and entry, so of two concurrent requests only one begins.
  async begin(key: AnswerKey, now: Millis): Promise<BeginResult> {
    const found = this.#find(key, now)
    return found.kind === 'none' ? this.#list.begin(key.id, now) : found
  }

  async put(answer: StoredAnswer, now: Millis): Promise<void> {
    const leaving = this.#list.evictedBy(answer, now)
    for (const id of leaving) this.#answers.delete(id)
    this.#list.remove(leaving)
    this.#answers.set(answer.id, answer)
    this.#list.add(answer, answer.sealed.length)
  }

  async abandon(id: string, until: Millis): Promise<void> {
    this.#list.abandon(id, until)
  }

  #find({ id, owner }: AnswerKey, now: Millis): AnswerLookup {
    const answer = this.#list.has(id, now) ? this.#answers.get(id) : undefined
    return answer === undefined ? this.#list.hasRoomFor(owner, now) : { kind: 'kept', answer }
  }
}
