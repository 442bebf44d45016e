// Keeps messages that ClickHouse refuses as dead letters, and tells of them.
import { type DeadLetter, NO_SAVE, type Records } from '../ports/store.ts'
import type { Performer } from './performer.ts'
import { onlyLetters } from './runner/poison.ts'

export function parking(
  store: Pick<Records, 'save'>,
  performer: Pick<Performer, 'perform'>,
): (letters: readonly DeadLetter[]) => Promise<void> {
  return async (deadLetters) => {
    await store.save({ ...NO_SAVE, deadLetters })
    // A letter is known by its message's place in the log. Another owner may find it too, and it is kept once.
    performer.perform(onlyLetters(deadLetters), () => true)
  }
}
