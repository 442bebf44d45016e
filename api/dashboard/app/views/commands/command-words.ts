// Commands and broadcasts in words.
import type { CommandStatus } from '../../../../../schemas/vocabulary.ts'
import type { Share } from '../../parts/stacked-bar.tsx'
import { words } from '../../words/words.ts'

const statuses = words({
  pending: ['pending', 'wartet'],
  delivered: ['delivered', 'zugestellt'],
  acked: ['acked', 'bestätigt'],
  completed: ['completed', 'erledigt'],
  failed: ['failed', 'fehlgeschlagen'],
  rejected: ['rejected', 'abgelehnt'],
  expired: ['expired', 'abgelaufen'],
  cancelled: ['cancelled', 'abgebrochen'],
  in_progress: ['under way', 'läuft'],
  partial: ['partly completed', 'teils erledigt'],
})
const t = words({
  some: [
    { one: '{n} device', other: '{n} devices' },
    { one: '{n} Gerät', other: '{n} Geräte' },
  ],
  unset: ['not chosen', 'nichts gewählt'],
})

export const commandStatusWord = (status: CommandStatus | 'in_progress' | 'partial') => statuses(status)

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
    name: statuses(status),
    count: counts[status] ?? 0,
    tone: TONES[status],
  }))
}

export function targetText({ type, value }: { readonly type: string; readonly value: unknown }): string {
  if (Array.isArray(value)) return t('some', { n: value.length })
  if (value === undefined || value === '') return t('unset')
  return `${type}: ${typeof value === 'string' ? value : JSON.stringify(value)}`
}
