// Stored answers in a table of the store's LMDB file. Their expiry is held in memory and updated after the commit.
// Requests in progress are held only in memory and end with the process.

import type { Millis } from '../../../schemas/ids.ts'
import { newPackr } from '../../domain/packing.ts'
import type {
  AnswerKey,
  AnswerLookup,
  BeginResult,
  IdempotencyStore,
  StoredAnswer,
} from '../../ports/idempotency.ts'
import type { LmdbEnv } from '../lmdb/lmdb-env.ts'
import { saveChanges } from '../lmdb/save-changes.ts'
import { type AnswerBounds, AnswerIndex } from './answer-index.ts'

const ANSWERS = 'answers'
export const ANSWER_TABLES: readonly string[] = [ANSWERS]

const packr = newPackr()

/** The environment must have the tables `ANSWER_TABLES`. The caller closes it. */
export function openLmdbAnswers(env: LmdbEnv, bounds?: AnswerBounds): IdempotencyStore {
  return new LmdbAnswers(env, bounds)
}

class LmdbAnswers implements IdempotencyStore {
  readonly #env: LmdbEnv
  readonly #index: AnswerIndex

  constructor(env: LmdbEnv, bounds?: AnswerBounds) {
    this.#env = env
    this.#index = new AnswerIndex(bounds)
    const stored: (AnswerKey & { readonly keptUntil: Millis; readonly bytes: number })[] = []
    for (const { value } of env.entries(ANSWERS)) {
      const { id, owner, keptUntil } = unpack(value)
      stored.push({ id, owner, keptUntil, bytes: value.length })
    }
    stored.sort((a, b) => a.keptUntil - b.keptUntil)
    for (const answer of stored) this.#index.add(answer, answer.bytes)
  }

  async find(key: AnswerKey, now: Millis): Promise<AnswerLookup> {
    return this.#find(key, now)
  }

  // There is no await between check and entry, so of two concurrent requests only one begins.
  async begin(key: AnswerKey, now: Millis): Promise<BeginResult> {
    const found = this.#find(key, now)
    return found.kind === 'none' ? this.#index.begin(key.id, now) : found
  }

  async put(answer: StoredAnswer, now: Millis): Promise<void> {
    const value = packr.pack(answer)
    const evicted = this.#index.evictedBy(answer, now)
    await saveChanges(this.#env, [
      ...evicted.map((key) => ({ table: ANSWERS, key })),
      { table: ANSWERS, key: answer.id, value },
    ])
    this.#index.remove(evicted)
    this.#index.add(answer, value.length)
  }

  async abandon(id: string, until: Millis): Promise<void> {
    this.#index.abandon(id, until)
  }

  #find({ id, owner }: AnswerKey, now: Millis): AnswerLookup {
    const bytes = this.#index.has(id, now) ? this.#env.read(ANSWERS, id) : undefined
    return bytes === undefined ? this.#index.hasRoomFor(owner, now) : { kind: 'kept', answer: unpack(bytes) }
  }
}

/** Only this file writes the table, and in this type. Version 0.1 kept no owners: such answers share one share. */
function unpack(bytes: Uint8Array): StoredAnswer {
  const answer = packr.unpack(bytes) as Omit<StoredAnswer, 'owner'> & Partial<AnswerKey>
  return { owner: '', ...answer }
}
