// Keeps messages that ClickHouse refuses as dead letters, and announces them.
import { type DeadLetter, NO_SAVE, type Records } from '../ports/store.ts'
import type { Performer } from './performer.ts'
import { onlyLetters } from './runner/poison.ts'

export function parking(
  store: Pick<Records, 'save'>,
  performer: Pick<Performer, 'perform'>,
): (letters: readonly DeadLetter[]) => Promise<void> {
  return async (deadLetters) => {
    await store.save({ ...NO_SAVE, deadLetters })
    // A letter's id is its message's place in the log, so a letter that another owner finds again is kept only once.
    performer.perform(onlyLetters(deadLetters), () => true)
  }
}
