// The groups that somebody may see: written, or picked from those of the fleet.
import { splitList } from '../../address/split-list.ts'
import { groupCounts } from '../../fleet/group-counts.ts'
import { columns, fleetVersion } from '../../live/fleet-index.ts'
import { Field } from '../../parts/field.tsx'
import { plainText } from '../../parts/plain-text.ts'
import { number, words } from '../../words/words.ts'

const t = words({
  hint: [
    'Separate with commas; empty for the whole fleet.',
    'Durch Kommas getrennt; leer ist die ganze Flotte.',
  ],
  pick: ['Pick from the fleet', 'Aus der Flotte wählen'],
  one: ['{path}, {n} device | {path}, {n} devices', '{path}, {n} Gerät | {path}, {n} Geräte'],
  more: ['First {n} of {total}; type the others.', 'Die ersten {n} von {total}; schreiben Sie die anderen.'],
})

const SHOWN_MAX = 200

export interface GroupsFieldProps {
  readonly value: string
  readonly onValue: (value: string) => void
  readonly error?: unknown
}

export function GroupsField({ value, onValue, error }: GroupsFieldProps) {
  const chosen = splitList(value)
  const groups = fleetVersion.value === 0 ? [] : groupCounts(columns)
  const toggle = (path: string) =>
    onValue((chosen.includes(path) ? chosen.filter((other) => other !== path) : [...chosen, path]).join(', '))
  return (
    <>
      <Field
        label={t('groups')}
        hint={t('hint')}
        value={value}
        onValue={onValue}
        error={error}
        pointer="/groups"
      />
      {groups.length > 0 && (
        <details>
          <summary>{t('pick')}</summary>
          <ul class="chips">
            {groups.slice(0, SHOWN_MAX).map(({ path, count }) => (
              <li key={path}>
                <button
                  type="button"
                  class="chip chip-choice"
                  aria-pressed={chosen.includes(path)}
                  aria-label={t('one', { path: plainText(path), n: count })}
                  onClick={() => toggle(path)}
                >
                  {plainText(path)} <span class="muted">{number(count)}</span>
                </button>
              </li>
            ))}
          </ul>
          {groups.length > SHOWN_MAX && (
            <p class="hint">{t('more', { n: SHOWN_MAX, total: groups.length })}</p>
          )}
        </details>
      )}
    </>
  )
}
