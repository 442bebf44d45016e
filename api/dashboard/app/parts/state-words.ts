import { STATE_WORDS } from '../words/shared-words.ts'
import { words } from '../words/words.ts'

const t = words({})

/** What something is in, or why. A word that a newer service has made up is shown as it is. */
export function stateWord(word: string): string {
  return Object.hasOwn(STATE_WORDS, word) ? t(word as keyof typeof STATE_WORDS) : word.replaceAll('_', ' ')
}
