import type { CommandStatus } from '../../../../../schemas/vocabulary.ts'
import type { Share } from '../../parts/stacked-bar.tsx'
import { stateWord } from '../../parts/state-words.ts'

const TONES: Readonly<Record<CommandStatus, Share['tone']>> = {
  completed: 'good',
  acked: 'busy',
  delivered: 'busy',
  pending: 'rest',
  failed: 'bad',
  rejected: 'bad',
  expired: 'warn',
  cancelled: 'rest',
}

/** How many commands are in each state, as shares of a bar. */
export function sharesOf(counts: Readonly<Record<string, number>>): readonly Share[] {
  return (Object.keys(TONES) as CommandStatus[]).map((status) => ({
    name: stateWord(status),
    count: counts[status] ?? 0,
    tone: TONES[status],
  }))
}
