// What can be done with the selected devices.
import type { Signal } from '@preact/signals'
import { text } from '../../address/codecs.ts'
import { toCsv, toNdjson } from '../../fleet/export-rows.ts'
import { columns } from '../../live/fleet-index.ts'
import { queryValue } from '../../navigation/navigation.ts'
import { Button } from '../../parts/button.tsx'
import { copyText } from '../../parts/clipboard.ts'
import { saveFile } from '../../parts/save-file.ts'
import { toast } from '../../parts/toasts.tsx'
import { words } from '../../words/words.ts'
import { BulkActions } from './bulk-actions.tsx'

const t = words({
  n: ['{n} selected', '{n} ausgewählt'],
  all: ['Select all {n} that match', 'Alle {n} passenden auswählen'],
  none: ['Clear the selection', 'Auswahl aufheben'],
  ids: ['Copy ids', 'IDs kopieren'],
  copied: [
    '{n} id copied. | {n} ids copied.',
    '{n} ID ist in der Zwischenablage. | {n} IDs sind in der Zwischenablage.',
  ],
  notCopied: [
    'The browser refused access to the clipboard. Export the ids instead.',
    'Der Browser erlaubt es nicht. Exportieren Sie sie.',
  ],
})

export interface SelectionBarProps {
  readonly selected: Signal<ReadonlySet<string>>
  readonly rows: Uint32Array
  readonly onAll: () => void
}

export function SelectionBar({ selected, rows, onAll }: SelectionBarProps) {
  const ids = selected.value
  if (ids.size === 0) return null
  const save = (kind: 'csv' | 'ndjson') => {
    const chosen = inOrder(ids, rows)
    const text = kind === 'csv' ? toCsv(columns, chosen) : toNdjson(columns, chosen)
    saveFile(`devices.${kind}`, text, kind === 'csv' ? 'text/csv' : 'application/x-ndjson')
  }
  return (
    <section class="row selection-bar" aria-label={t('selectedDevices')}>
      <strong role="status">{t('n', { n: ids.size })}</strong>
      {ids.size < rows.length && (
        <Button kind="quiet" onClick={onAll}>
          {t('all', { n: rows.length })}
        </Button>
      )}
      <BulkActions ids={[...ids]} filter={filterFor(ids, rows)} />
      <Button icon="copy" onClick={() => void copyIds([...ids])}>
        {t('ids')}
      </Button>
      <Button icon="download" onClick={() => save('csv')}>
        CSV
      </Button>
      <Button icon="download" onClick={() => save('ndjson')}>
        NDJSON
      </Button>
      <Button
        kind="quiet"
        icon="x"
        label={t('none')}
        onClick={() => {
          selected.value = new Set()
        }}
      />
    </section>
  )
}

async function copyIds(ids: readonly string[]): Promise<void> {
  const isCopied = await copyText(ids.join('\n'))
  toast(isCopied ? { text: t('copied', { n: ids.length }) } : { text: t('notCopied'), isFailure: true })
}

/** The selected rows in the order of the list; those that it does not show come after them. */
function inOrder(ids: ReadonlySet<string>, rows: Uint32Array): readonly number[] {
  const shown = rows.filter((row) => ids.has(columns.ids[row] ?? ''))
  return [...new Set([...shown, ...[...ids].flatMap((id) => columns.rowOf(id) ?? [])])]
}

const filterValue = queryValue('q', text())

/** The filter of the list, where all that fit are selected, and no others. */
function filterFor(ids: ReadonlySet<string>, rows: Uint32Array): string | undefined {
  const isAll = ids.size === rows.length && rows.every((row) => ids.has(columns.ids[row] ?? ''))
  return isAll && filterValue.value !== '' ? filterValue.value : undefined
}
