// The palette: one field over views, devices, commands and what can be done on the page.
import { signal } from '@preact/signals'
import { useEffect, useId, useState } from 'preact/hooks'
import { useAnswer } from '../data/answers.ts'
import { ALL_VIEWS } from '../data/saved-views.ts'
import { columns } from '../live/fleet-index.ts'
import { navigate } from '../navigation/navigation.ts'
import { useModal } from '../parts/modal.ts'
import { StatusMark } from '../parts/status-mark.tsx'
import { type Entry, entriesOf, noteUsed } from './palette-entries.ts'
import { t } from './palette-words.ts'

export const isPaletteOpen = signal(false)

export function Palette() {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const id = useId()
  const close = () => {
    isPaletteOpen.value = false
  }
  const modal = useModal(close)
  const saved = useAnswer('listViews', ALL_VIEWS)
  const types = useAnswer('listDeviceTypes', {})
  const entries = entriesOf(text, { saved: saved.data?.data ?? [], types: types.data?.data ?? [] })
  const at = Math.min(chosen, Math.max(0, entries.length - 1))
  useEffect(() => {
    document.querySelector(`#${CSS.escape(`${id}-${at}`)}`)?.scrollIntoView({ block: 'nearest' })
  }, [at])
  const go = (entry: Entry | undefined) => {
    if (entry === undefined) return
    noteUsed(entry)
    const { does } = entry
    if (does.kind === 'type') {
      setText(does.text)
      setChosen(0)
      document.querySelector<HTMLInputElement>('.palette-input')?.focus()
      return
    }
    close()
    if (does.kind === 'go') navigate(does.href)
    // It may open a dialog, and there is one at a time.
    else setTimeout(does.run)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setChosen(Math.min(entries.length - 1, at + 1))
    else if (event.key === 'ArrowUp') setChosen(Math.max(0, at - 1))
    else if (event.key === 'Enter') go(entries[at])
    else return
    event.preventDefault()
  }
  return (
    <dialog {...modal} class="dialog palette" aria-label={t('label')}>
      <input
        class="palette-input"
        type="text"
        role="combobox"
        aria-label={t('label')}
        aria-expanded={entries.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={entries.length > 0 ? `${id}-${at}` : undefined}
        aria-autocomplete="list"
        placeholder={t('placeholder')}
        value={text}
        spellcheck={false}
        autocomplete="off"
        maxLength={200}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div class="palette-list" id={`${id}-list`} role="listbox" aria-label={t('results')}>
        {entries.map((entry, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus and the keys.
          <div
            key={entry.key}
            id={`${id}-${i}`}
            class="palette-entry"
            role="option"
            tabIndex={-1}
            aria-selected={i === at}
            onClick={() => go(entry)}
          >
            <span class="palette-name">{entry.name}</span>
            {entry.row !== undefined && <StatusMark status={columns.statusAt(entry.row)} />}
            <span class="muted">{entry.note}</span>
          </div>
        ))}
      </div>
      {entries.length === 0 && <p class="empty">{t('none')}</p>}
    </dialog>
  )
}
