// Stored answers in a table of the store's LMDB file. Their expiry is held in memory and updated after the commit.
// Requests in progress are held only in memory and end with the process.

import type { Millis } from '../../../schemas/ids.ts'
import { newPackr } from '../../domain/packing.ts'
import type { AnswerKey, BegunAnswer, FoundAnswer, KeptAnswer, KeptAnswers } from '../../ports/answers.ts'
import type { LmdbEnv } from '../lmdb/lmdb-env.ts'
import { saveChanges } from '../lmdb/save-changes.ts'
import { type AnswersRoom, KeptList } from './kept-list.ts'

const ANSWERS = 'answers'
export const ANSWER_TABLES: readonly string[] = [ANSWERS]

const packr = newPackr()

/** The environment must have the tables `ANSWER_TABLES`. The caller closes it. */
export function openLmdbAnswers(env: LmdbEnv, room?: AnswersRoom): KeptAnswers {
  return new LmdbAnswers(env, room)
}

class LmdbAnswers implements KeptAnswers {
  readonly #env: LmdbEnv
  readonly #list: KeptList

  constructor(env: LmdbEnv, room?: AnswersRoom) {
    this.#env = env
    this.#list = new KeptList(room)
    const found: (AnswerKey & { readonly keptUntil: Millis; readonly bytes: number })[] = []
    for (const { value } of env.entries(ANSWERS)) {
      const { id, owner, keptUntil } = unpack(value)
      found.push({ id, owner, keptUntil, bytes: value.length })
    }
    found.sort((a, b) => a.keptUntil - b.keptUntil)
    for (const answer of found) this.#list.add(answer, answer.bytes)
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
    const value = packr.pack(answer)
    const leaving = this.#list.leaving(answer, now)
    await saveChanges(this.#env, [
      ...leaving.map((key) => ({ table: ANSWERS, key })),
      { table: ANSWERS, key: answer.id, value },
    ])
    this.#list.remove(leaving)
    this.#list.add(answer, value.length)
  }

  async giveUp(id: string, until: Millis): Promise<void> {
    this.#list.giveUp(id, until)
  }

  #find({ id, owner }: AnswerKey, now: Millis): FoundAnswer {
    const bytes = this.#list.has(id, now) ? this.#env.read(ANSWERS, id) : undefined
    return bytes === undefined ? this.#list.room(owner, now) : { kind: 'kept', answer: unpack(bytes) }
  }
}

/** Only this file writes the table, and in this type. Version 0.1 kept no owners: such answers share one share. */
function unpack(bytes: Uint8Array): KeptAnswer {
  const answer = packr.unpack(bytes) as Omit<KeptAnswer, 'owner'> & Partial<AnswerKey>
  return { owner: '', ...answer }
}
