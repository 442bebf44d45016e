// Commands and broadcasts in words.
import type { CommandStatus } from '../../../../../schemas/vocabulary.ts'
import type { Share } from '../../parts/stacked-bar.tsx'
import { stateWord } from '../../parts/state-words.ts'
import { words } from '../../words/words.ts'

const t = words({
  some: [
    { one: '{n} device', other: '{n} devices' },
    { one: '{n} Gerät', other: '{n} Geräte' },
  ],
  unset: ['not chosen', 'nichts gewählt'],
})

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

export function sharesOf(counts: Readonly<Record<string, number>>): readonly Share[] {
  return (Object.keys(TONES) as CommandStatus[]).map((status) => ({
    name: stateWord(status),
    count: counts[status] ?? 0,
    tone: TONES[status],
  }))
}

export function targetText({ type, value }: { readonly type: string; readonly value: unknown }): string {
  if (Array.isArray(value)) return t('some', { n: value.length })
  if (value === undefined || value === '') return t('unset')
  return `${type}: ${typeof value === 'string' ? value : JSON.stringify(value)}`
}
