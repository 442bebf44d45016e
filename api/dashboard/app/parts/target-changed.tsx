// Said above a preview that came back, because the target was another one by the time of sending (D6).
import type { TargetPreview } from '../../../../schemas/target-preview.ts'
import { words } from '../words/words.ts'
import { previewChanges } from './preview-changes.ts'
import { stateWord } from './state-words.ts'

const t = words({
  changed: [
    'The target has changed: it now has {got} devices instead of {expected}. Nothing was sent. The preview below is up to date.',
    'Das Ziel hat sich geändert: jetzt sind es {got} Geräte, vorher {expected}. Nichts wurde gesendet; unten steht, wen es jetzt erreicht.',
  ],
  skipped: ['skipped, {name}', 'ausgelassen, {name}'],
  count: ['{name}: {from} → {to}', '{name}: {from} → {to}'],
})

export interface TargetChangedProps {
  readonly before: TargetPreview
  readonly now: TargetPreview
}

export function TargetChanged({ before, now }: TargetChangedProps) {
  const { by_status, by_type, by_reason } = previewChanges(before, now)
  const lines = [
    ...by_status.map((change) => ({ ...change, name: stateWord(change.name) })),
    ...by_type,
    ...by_reason.map((change) => ({ ...change, name: t('skipped', { name: stateWord(change.name) }) })),
  ]
  return (
    <div class="problem" role="alert">
      <p>{t('changed', { got: now.total, expected: before.total })}</p>
      <ul>
        {lines.map(({ name, from, to }) => (
          <li key={name}>{t('count', { name, from, to })}</li>
        ))}
      </ul>
    </div>
  )
}
